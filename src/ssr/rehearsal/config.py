"""Every setting of the simulated robot and of trials with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ssr.deployment.config import DdsConfig, TopicNames

Gantry = Literal["release", "hold", "none"]
FaultKind = Literal[
    "none", "silent-joints", "frozen-joints", "nan-joint", "silent-imu", "silent-depth", "frozen-depth",
    "malformed", "clock-jump", "loss",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class GantryConfig:
    """A hoist that carries the robot until it stands by itself."""

    mode: Gantry = "release"  #: let it down once it is stiff; hold it for ever; or start on the ground
    lift: float = 0.1  #: m above standing height
    stiff_seconds: float = 3.0  #: of being commanded with stiffness before it is let down
    lowering: float = 0.1  #: m/s


@dataclass(frozen=True, kw_only=True)
class FaultConfig:
    """A rehearsed fault: what a failing robot would send, or not send."""

    kind: FaultKind = "none"
    after: float = 0.0  #: s from the start


@dataclass(frozen=True, kw_only=True)
class RobotProcessConfig:
    camera_hz: float = 30.0  #: depth images per second
    seed: int = 0
    seconds: float | None = None  #: stop after so long
    realtime: bool = True  #: ask the system for real-time priority
    network: DdsConfig = field(default_factory=DdsConfig)
    topics: TopicNames = field(default_factory=TopicNames)
    gantry: GantryConfig = field(default_factory=GantryConfig)
    fault: FaultConfig = field(default_factory=FaultConfig)


@dataclass(frozen=True, kw_only=True)
class TrialConfig:
    seconds: float = 20.0
    speed: float = 1.0  #: m/s along the strip
