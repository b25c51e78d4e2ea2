"""An operator at the keyboard of the terminal the controller runs in."""

from __future__ import annotations

import select
import sys
import termios
import threading
import time
import tty
from collections import deque
from types import TracebackType

import numpy as np

from ssr.deployment.messages import Twist, Vector3

HELP = "1 stand · 2 walk · space damp · 0 idle · w/s faster/slower · a/d left/right · q/e turn · x stop"
REQUESTS = {"0": "idle", "1": "stand", "2": "walk", " ": "damp"}
STEPS = {
    "w": (0.1, 0.0, 0.0),
    "s": (-0.1, 0.0, 0.0),
    "a": (0.0, 0.1, 0.0),
    "d": (0.0, -0.1, 0.0),
    "q": (0.0, 0.0, 0.2),
    "e": (0.0, 0.0, -0.2),
}


class Keyboard:
    """Collects requests and a velocity; used as a context, it leaves the terminal as it found it."""

    def __init__(self, limits: tuple[float, ...]) -> None:
        self.requests: deque[str] = deque()
        self.used = False  #: a velocity key was pressed: the keyboard steers from now on
        self._limits, self._velocity = np.array(limits), np.zeros(3)
        self._stop = False

    def velocity(self) -> Twist:
        forward, left, turn = self._velocity
        return Twist(Vector3(forward, left, 0.0), Vector3(0.0, 0.0, turn))

    def press(self, key: str) -> None:
        if key in REQUESTS:
            self.requests.append(REQUESTS[key])
        if key in STEPS:
            self._velocity = np.clip(self._velocity + STEPS[key], -self._limits, self._limits)
        if key in STEPS or key == "x":
            self.used = True
        if key in ("x", " "):
            self._velocity = np.zeros(3)

    def __enter__(self) -> Keyboard:
        self._before = termios.tcgetattr(sys.stdin)
        tty.setcbreak(sys.stdin)
        self._thread = threading.Thread(target=self._listen, name="keyboard", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._stop = True
        self._thread.join(timeout=1.0)
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    def _listen(self) -> None:
        while not self._stop:
            if select.select([sys.stdin], [], [], 0.1)[0]:
                key = sys.stdin.read(1)
                if not key:
                    time.sleep(0.1)
                self.press(key)
