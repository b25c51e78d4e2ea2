"""Every setting of the simulated robot and of trials with it."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Literal

from ssr.deployment.config import DdsConfig, TopicNames
from ssr.ranges import Seed, Within, settings

Gantry = Literal["release", "hold", "none"]
FaultKind = Literal[
    "none", "silent-joints", "frozen-joints", "nan-joint", "jumping-joint", "racing-joint",
    "joints-backwards", "silent-imu", "frozen-imu", "nan-imu", "spinning-imu", "heavy-imu", "bent-imu",
    "jumping-imu", "imu-backwards", "silent-depth", "frozen-depth", "repeated-depth", "cycling-depth",
    "blind-depth", "malformed-depth", "depth-backwards", "malformed", "clock-jump", "loss",
]  # fmt: skip


@settings("gantry")
class GantryConfig:
    """A hoist that carries the robot until it stands by itself."""

    mode: Gantry = "release"  #: let it down once it is stiff; hold it for ever; or start on the ground
    lift: Annotated[float, Within(0.0, 1.0)] = 0.1  #: m above standing height
    stiff_seconds: Annotated[float, Within(0.0, 3600.0)] = 3.0
    """Of being commanded with stiffness before it is let down."""
    lowering: Annotated[float, Within(0.01, 1.0)] = 0.1  #: m/s


@settings("fault")
class FaultConfig:
    """A rehearsed fault: what a failing robot would send, or not send."""

    kind: FaultKind = "none"
    after: Annotated[float, Within(0.0, 1e6)] = 0.0  #: s from the start


@settings("")
class RobotProcessConfig:
    camera_hz: Annotated[float, Within(0.1, 1000.0)] = 30.0  #: depth images per second
    seed: Seed = 0
    seconds: Annotated[float | None, Within(0.0, 1e7)] = None  #: stop after so long
    realtime: bool = True  #: ask the system for real-time priority
    network: DdsConfig = field(default_factory=DdsConfig)
    topics: TopicNames = field(default_factory=TopicNames)
    gantry: GantryConfig = field(default_factory=GantryConfig)
    fault: FaultConfig = field(default_factory=FaultConfig)


@settings("")
class TrialConfig:
    seconds: Annotated[float, Within(0.02, 3600.0)] = 20.0
    speed: Annotated[float, Within(0.0, 3.0)] = 1.0  #: m/s along the strip
