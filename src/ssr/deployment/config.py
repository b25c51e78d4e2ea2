"""Every setting of deployment. Nothing here needs a package of the `deploy` extra."""

from __future__ import annotations

import sys
from dataclasses import field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from ssr.errors import UserError
from ssr.ranges import Within, settings

LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"
MAX_DOMAIN = 232  #: the highest DDS domain whose ports exist
ON_A_ROBOT = ("onnxruntime", "cyclonedds", "mcap", "lz4", "pyrealsense2")
STIFFENING = 8.0  #: × the policy's gains, that a robot standing up may gain in a second
TO_EXPORT = ("onnx", "onnxscript", "onnxruntime")


def require_packages(names: tuple[str, ...] = ON_A_ROBOT) -> None:
    """Deployment's own packages are an extra; say so in one line if they are not there."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise UserError(f"Deployment needs {', '.join(missing)}: pip install 'ssr[deploy]'.")
    if "pyrealsense2" in names:
        try:
            import_module("pyrealsense2")
        except ImportError as error:
            raise UserError(
                f"pyrealsense2 cannot be loaded ({error}): install Debian's libusb-1.0-0."
            ) from None


@settings("network")
class DdsConfig:
    """The DDS network that robot, controller and operators share."""

    domain: Annotated[int, Within(0, MAX_DOMAIN)] = 0  #: as ROS_DOMAIN_ID
    interface: str = LOOPBACK  #: network interface, e.g. eth0; empty: whatever CYCLONEDDS_URI says
    lossiness: Annotated[float, Within(0.0, 0.999)] = 0.0
    """Share of packets thrown away on sending, for rehearsals."""


@settings("topics")
class TopicNames:
    joint_states: str = "joint_states"  #: sensor_msgs/JointState, from the robot, 1 kHz
    imu: str = "imu"  #: sensor_msgs/Imu in the axes of the base link, from the robot, 1 kHz
    depth: str = "depth/image_rect_raw"  #: sensor_msgs/Image, 16UC1 in mm, from the robot
    joint_commands: str = "joint_commands"  #: ssr_msgs/JointCommand, to the robot, 1 kHz
    velocity: str = "cmd_vel"  #: geometry_msgs/Twist, from an operator
    request: str = "ssr/request"  #: std_msgs/String, from an operator: idle, stand, walk or damp
    status: str = "ssr/status"  #: std_msgs/String, JSON, to whoever watches


@settings("controller.safety")
class SafetyConfig:
    """When the robot or its sensors can no longer be trusted, so that it damps."""

    joint_timeout: Annotated[float, Within(0.002, 1.0)] = 0.02
    """Seconds without a valid joint state: one control period."""
    imu_timeout: Annotated[float, Within(0.002, 1.0)] = 0.02  #: s without a valid IMU message
    depth_timeout: Annotated[float, Within(0.02, 5.0)] = 0.3  #: s without a new image while walking
    frozen_timeout: Annotated[float, Within(0.005, 0.5)] = 0.05
    """Seconds of joint states or IMU messages that repeat each other to the last bit."""
    max_rotation: Annotated[float, Within(1.0, 35.0)] = 20.0
    """Of the base, rad/s: a fall stays below 10, and few gyros can report more than 35."""
    max_acceleration: Annotated[float, Within(20.0, 400.0)] = 200.0
    """Of the base, m/s², where the IMU reports it: few can report more."""
    max_tilt: Annotated[float, Within(0.1, 1.6)] = 1.0  #: rad
    position_margin: Annotated[float, Within(0.0, 1.0)] = 0.5  #: rad beyond a joint's limits
    velocity_factor: Annotated[float, Within(1.0, 5.0)] = 3.0  #: of a joint's greatest velocity
    max_missed: Annotated[int, Within(0, 50)] = 2  #: consecutive control steps without an action in time
    velocity_timeout: Annotated[float, Within(0.05, 5.0)] = 0.5
    """Seconds after which an operator's velocity no longer counts (the robot stops)."""


@settings("controller.stand")
class StandConfig:
    seconds: Annotated[float, Within(0.05, 30.0)] = 2.0  #: from wherever the joints are into the default pose
    stiffness: Annotated[float, Within(0.1, 20.0)] = 8.0
    """× the policy's gains, which are too soft to stand without a policy."""

    def __post_init__(self) -> None:
        if self.seconds < self.stiffness / STIFFENING:
            raise UserError(
                f"controller.stand.seconds {self.seconds:g} is too sudden for stiffness {self.stiffness:g}: "
                f"expected at least {self.stiffness / STIFFENING:g}."
            )


@settings("controller")
class ControllerConfig:
    safety: SafetyConfig = field(default_factory=SafetyConfig)
    stand: StandConfig = field(default_factory=StandConfig)
    damping: Annotated[float, Within(0.1, 10.0)] = 1.0  #: × the policy's derivative gains, while damping


@settings("")
class DeployConfig:
    arm: bool = False  #: send commands; otherwise they are only computed and recorded
    camera: Literal["topic", "realsense"] = "topic"  #: images from a topic, or from a camera connected here
    reliable_depth: bool = True  #: ask for every packet of an image; off for a best-effort publisher
    keyboard: bool = True  #: listen to the terminal, if there is one
    record: Path | None = None  #: MCAP file; by default RUN/recordings/TIME.mcap
    recording: bool = True  #: record at all
    realtime: bool = True  #: ask the system for real-time priority
    wait: Annotated[float, Within(0.0, 3600.0)] = 30.0  #: s for the robot to be heard
    seconds: Annotated[float | None, Within(0.0, 1e7)] = None  #: stop after so long
    network: DdsConfig = field(default_factory=DdsConfig)
    topics: TopicNames = field(default_factory=TopicNames)
    controller: ControllerConfig = field(default_factory=ControllerConfig)
