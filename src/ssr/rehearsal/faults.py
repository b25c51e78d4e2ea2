"""Rehearsed faults: what a failing robot would send, or not send. For `ssr robot-sim` and for tests."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from ssr.deployment.messages import (
    Header,
    Image,
    Imu,
    JointState,
    Message,
    Quaternion,
    Vector3,
    nanoseconds,
    stamp,
)
from ssr.rehearsal.config import FaultConfig, FaultKind

CLOCK_JUMP = -3_600_000_000_000  #: ns by which the robot's clock jumps
CLOCK_START = 1_000_000_000_000_000  #: ns, so that a clock that runs backwards stays positive
BUFFERS = 3  #: images that a camera's driver holds
LOSS = 0.2  #: share of messages lost


M = TypeVar("M", bound=Message)


class Fault:
    """Stands between the robot and its topics: each message in, the message that is sent (or None) out."""

    def __init__(self, config: FaultConfig | None = None, seed: int = 0) -> None:
        self.config = config or FaultConfig()
        self._rng = np.random.default_rng(seed)
        self._last: dict[type[Message], Message] = {}
        self._images: deque[Image] = deque(maxlen=BUFFERS)
        self._turns = 0

    def joints(self, now: float, message: JointState) -> JointState | None:
        if self._acts(now, "silent-joints"):
            return None
        if self._acts(now, "frozen-joints"):
            # The driver goes on sending, with new stamps, what it last read.
            return replace(self._held(message), header=message.header)
        self._last[JointState] = message
        if self._acts(now, "nan-joint"):
            return replace(message, position=_with_first(message.position, np.nan))
        if self._acts(now, "jumping-joint"):  # to and fro, within its range
            self._turns += 1
            return replace(message, position=_with_first(message.position, 0.4 * (-1) ** self._turns))
        if self._acts(now, "racing-joint"):
            return replace(message, velocity=_with_first(message.velocity, 1e3))
        if self._acts(now, "malformed"):
            return replace(message, position=np.asarray(message.position)[:-1])
        return self._sent(now, message, "joints-backwards")

    def imu(self, now: float, message: Imu) -> Imu | None:
        if self._acts(now, "silent-imu"):
            return None
        if self._acts(now, "frozen-imu"):
            return replace(self._held(message), header=message.header)
        self._last[Imu] = message
        if self._acts(now, "nan-imu"):
            return replace(message, angular_velocity=Vector3(0.0, np.nan, 0.0))
        if self._acts(now, "spinning-imu"):
            return replace(message, angular_velocity=Vector3(0.0, 0.0, 1e3))
        if self._acts(now, "heavy-imu"):
            return replace(message, linear_acceleration=Vector3(0.0, 0.0, 1e4))
        if self._acts(now, "bent-imu"):
            return replace(message, orientation=Quaternion(0.0, 0.0, 0.0, 2.0))
        if self._acts(now, "jumping-imu"):  # upside down at once would be a fall; this is half a radian
            return replace(message, orientation=Quaternion(np.sin(0.25), 0.0, 0.0, np.cos(0.25)))
        return self._sent(now, message, "imu-backwards")

    def depth(self, now: float, message: Image) -> Image | None:
        if self._acts(now, "silent-depth"):
            return None
        if self._acts(now, "frozen-depth"):
            return self._held(message)
        if self._acts(now, "repeated-depth"):
            return replace(self._held(message), header=message.header)
        if self._acts(now, "cycling-depth"):  # a ring of buffers that is sent and no longer filled
            self._images.rotate(1)
            return replace(self._images[0] if self._images else message, header=message.header)
        self._last[Image] = message
        self._images.append(message)
        if self._acts(now, "blind-depth"):  # something covers the lens; a few pixels flicker
            dark = self._rng.random(len(message.data)) < 0.01
            return replace(message, data=np.where(dark, message.data, 0).astype(np.uint8))
        if self._acts(now, "malformed-depth"):
            return replace(message, encoding="32FC1")
        return self._sent(now, message, "depth-backwards")

    def _acts(self, now: float, kind: FaultKind) -> bool:
        return self.config.kind == kind and now >= self.config.after

    def _held(self, message: M) -> M:
        return self._last.setdefault(type(message), message)  # type: ignore[return-value]

    def _sent(self, now: float, message: M, backwards: FaultKind) -> M | None:
        """backwards: the fault that lets this sensor's clock run the wrong way."""
        if self._acts(now, "loss") and self._rng.random() < LOSS:
            return None
        header: Header = message.header  # type: ignore[attr-defined]
        if self._acts(now, "clock-jump"):
            at = nanoseconds(header.stamp) + CLOCK_JUMP
        elif self._acts(now, backwards):
            at = round(2e9 * self.config.after) - nanoseconds(header.stamp) + CLOCK_START
        else:
            return message
        return replace(message, header=Header(stamp(at), header.frame_id))  # type: ignore[type-var]


def _with_first(values: Sequence[float] | np.ndarray, first: float) -> np.ndarray:
    changed: np.ndarray = np.array(values)
    changed[0] = first
    return changed
