"""Every setting of deployment. Nothing here needs a package of the `deploy` extra."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from ssr.errors import UserError

MAX_DOMAIN = 232  #: the highest DDS domain whose ports exist
ON_A_ROBOT = ("onnxruntime", "cyclonedds", "mcap", "lz4", "pyrealsense2")
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


@dataclass(frozen=True, kw_only=True)
class DdsConfig:
    """The DDS network that robot, controller and operators share."""

    domain: int = 0  #: as ROS_DOMAIN_ID
    interface: str = "lo"  #: network interface, e.g. eth0; empty: whatever CYCLONEDDS_URI says
    lossiness: float = 0.0  #: share of packets thrown away on sending, for rehearsals

    def __post_init__(self) -> None:
        if not 0 <= self.domain <= MAX_DOMAIN:
            raise UserError(f"DDS domain {self.domain}: expected 0 to {MAX_DOMAIN}, as ROS_DOMAIN_ID.")
        if not 0.0 <= self.lossiness < 1.0:
            raise UserError(f"Lossiness {self.lossiness}: expected a share from 0 to below 1.")


@dataclass(frozen=True, kw_only=True)
class TopicNames:
    joint_states: str = "joint_states"  #: sensor_msgs/JointState, from the robot, 1 kHz
    imu: str = "imu"  #: sensor_msgs/Imu in the axes of the base link, from the robot, 1 kHz
    depth: str = "depth/image_rect_raw"  #: sensor_msgs/Image, 16UC1 in mm, from the robot
    joint_commands: str = "joint_commands"  #: ssr_msgs/JointCommand, to the robot, 1 kHz
    velocity: str = "cmd_vel"  #: geometry_msgs/Twist, from an operator
    request: str = "ssr/request"  #: std_msgs/String, from an operator: idle, stand, walk or damp
    status: str = "ssr/status"  #: std_msgs/String, JSON, to whoever watches


@dataclass(frozen=True, kw_only=True)
class SafetyConfig:
    """When the robot or its sensors can no longer be trusted, so that it damps."""

    joint_timeout: float = 0.02  #: s without a valid joint state: one control period
    imu_timeout: float = 0.02  #: s without a valid IMU message
    depth_timeout: float = 0.3  #: s without a new image while walking
    frozen_timeout: float = 0.05  #: s of joint states that repeat each other to the last bit
    max_tilt: float = 1.0  #: rad
    position_margin: float = 0.5  #: rad beyond a joint's limits
    velocity_factor: float = 3.0  #: of a joint's greatest velocity
    max_missed: int = 2  #: consecutive control steps without an action in time
    velocity_timeout: float = 0.5  #: s after which an operator's velocity no longer counts (the robot stops)


@dataclass(frozen=True, kw_only=True)
class StandConfig:
    seconds: float = 2.0  #: from wherever the joints are into the default pose
    stiffness: float = 8.0  #: × the policy's gains, which are too soft to stand without a policy


@dataclass(frozen=True, kw_only=True)
class ControllerConfig:
    safety: SafetyConfig = field(default_factory=SafetyConfig)
    stand: StandConfig = field(default_factory=StandConfig)
    damping: float = 1.0  #: × the policy's derivative gains, while damping


@dataclass(frozen=True, kw_only=True)
class DeployConfig:
    arm: bool = False  #: send commands; otherwise they are only computed and recorded
    camera: Literal["topic", "realsense"] = "topic"  #: images from a topic, or from a camera connected here
    reliable_depth: bool = True  #: ask for every packet of an image; off for a best-effort publisher
    keyboard: bool = True  #: listen to the terminal, if there is one
    record: Path | None = None  #: MCAP file; by default RUN/recordings/TIME.mcap
    recording: bool = True  #: record at all
    realtime: bool = True  #: ask the system for real-time priority
    wait: float = 30.0  #: s for the robot to be heard
    seconds: float | None = None  #: stop after so long
    network: DdsConfig = field(default_factory=DdsConfig)
    topics: TopicNames = field(default_factory=TopicNames)
    controller: ControllerConfig = field(default_factory=ControllerConfig)
