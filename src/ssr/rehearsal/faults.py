"""Rehearsed faults: what a failing robot would send, or not send. For `ssr robot-sim` and for tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from ssr.deployment.messages import Header, Image, Imu, JointState, Message, nanoseconds, stamp
from ssr.rehearsal.config import FaultConfig, FaultKind

CLOCK_JUMP = -3_600_000_000_000  #: ns by which the robot's clock jumps
LOSS = 0.2  #: share of messages lost


M = TypeVar("M", bound=Message)


class Fault:
    """Stands between the robot and its topics: each message in, the message that is sent (or None) out."""

    def __init__(self, config: FaultConfig | None = None, seed: int = 0) -> None:
        self.config = config or FaultConfig()
        self._rng = np.random.default_rng(seed)
        self._last: dict[type[Message], Message] = {}

    def joints(self, now: float, message: JointState) -> JointState | None:
        if self._acts(now, "silent-joints"):
            return None
        if self._acts(now, "frozen-joints"):
            # The driver goes on sending, with new stamps, what it last read.
            return replace(self._held(message), header=message.header)
        self._last[JointState] = message
        if self._acts(now, "nan-joint"):
            position: np.ndarray = np.array(message.position)
            position[0] = np.nan
            return replace(message, position=position)
        if self._acts(now, "malformed"):
            return replace(message, position=np.asarray(message.position)[:-1])
        return self._sent(now, message)

    def imu(self, now: float, message: Imu) -> Imu | None:
        return None if self._acts(now, "silent-imu") else self._sent(now, message)

    def depth(self, now: float, message: Image) -> Image | None:
        if self._acts(now, "silent-depth"):
            return None
        if self._acts(now, "frozen-depth"):
            return self._held(message)
        self._last[Image] = message
        return self._sent(now, message)

    def _acts(self, now: float, kind: FaultKind) -> bool:
        return self.config.kind == kind and now >= self.config.after

    def _held(self, message: M) -> M:
        return self._last.setdefault(type(message), message)  # type: ignore[return-value]

    def _sent(self, now: float, message: M) -> M | None:
        if self._acts(now, "loss") and self._rng.random() < LOSS:
            return None
        if self._acts(now, "clock-jump"):
            header: Header = message.header  # type: ignore[attr-defined]
            jumped = stamp(nanoseconds(header.stamp) + CLOCK_JUMP)
            return replace(message, header=Header(jumped, header.frame_id))  # type: ignore[type-var]
        return message
