"""Somebody at the controls, over the topics: asks for states, steers, and reads what comes back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from ssr.deployment.config import DdsConfig, TopicNames
from ssr.deployment.messages import String, Twist, Vector3
from ssr.deployment.topics import EVERY, Network

TRUTH = "ssr_sim/truth"  #: std_msgs/String, JSON: what only a simulator knows, 50 Hz
PAUSE = 0.02  #: s between looks
REPEAT = 0.5  #: s after which a request that was not granted is made again


class Operator:
    def __init__(self, network: DdsConfig, topics: TopicNames | None = None) -> None:
        names, joined = topics or TopicNames(), Network(network)
        self._requests = joined.writer(names.request, String, depth=EVERY)
        self._velocity = joined.writer(names.velocity, Twist)
        self._status = joined.reader(names.status, String)
        self._truth = joined.reader(TRUTH, String)
        self.status: dict[str, Any] = {}  #: the controller's newest
        self.truth: dict[str, Any] = {}  #: the simulator's newest

    def look(self) -> None:
        for message in self._status.take():
            self.status = json.loads(message.data)
        for message in self._truth.take():
            self.truth = json.loads(message.data)

    def ask(self, wish: str) -> None:
        self._requests.write(String(wish))

    def drive(self, forward: float, left: float, turn: float) -> None:
        """m/s, m/s, rad/s in base axes."""
        self._velocity.write(Twist(Vector3(forward, left, 0.0), Vector3(0.0, 0.0, turn)))

    def until(self, done: Callable[[], bool], seconds: float, wish: str | None = None) -> bool:
        """Look until `done`, making a wish again and again if one is given; False if it never comes true."""
        end, asked = time.monotonic() + seconds, 0.0
        while time.monotonic() < end:
            self.look()
            if done():
                return True
            if wish is not None and time.monotonic() - asked > REPEAT:
                self.ask(wish)
                asked = time.monotonic()
            time.sleep(PAUSE)
        return False

    def bring_to(self, phase: str, seconds: float) -> bool:
        return self.until(lambda: self.status.get("phase") == phase, seconds, wish=phase)
