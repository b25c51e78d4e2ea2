"""The ROS 2 messages that are spoken, under ROS 2's own names on the wire.

Each class is what a `.msg` file of the same name describes; `definition` gives that text, which recordings
carry with them. Only `ssr_msgs/JointCommand` is ours.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias, get_type_hints

import numpy as np
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, float32, float64, int32, sequence, uint8, uint32

from ssr.deployment.cdr import LITTLE, NUMBERS, Input, Malformed, codec

if TYPE_CHECKING:  # what the fields hold; what the wire holds is below
    Texts: TypeAlias = Sequence[str]
    Bytes: TypeAlias = np.ndarray
    Floats: TypeAlias = np.ndarray
    Doubles: TypeAlias = np.ndarray
    Covariance: TypeAlias = np.ndarray
else:
    Texts, Bytes, Floats, Doubles = sequence[str], sequence[uint8], sequence[float32], sequence[float64]
    Covariance = array[float64, 9]


class Message(IdlStruct):
    """Bytes in, bytes out. `raw` keeps what was received, so that it is recorded as it came."""

    raw = b""  # no annotation: it is not a field

    def serialize(self, *_: Any, **__: Any) -> bytes:
        out = bytearray(LITTLE)
        codec(type(self))[0](out, self)
        return bytes(out)

    @classmethod
    def deserialize(cls, data: bytes, *_: Any, **__: Any) -> Self:
        """cyclonedds calls this for every sample; a bad one becomes a `Broken` rather than an exception."""
        try:
            message = codec(cls)[1](Input(data))
        except Malformed as error:
            return Broken(str(error))  # type: ignore[return-value]
        message.raw = data
        return message


class Broken:
    """Stands for a sample that could not be read."""

    def __init__(self, why: str) -> None:
        self.why = why


@dataclass
class Time(Message, typename="builtin_interfaces::msg::dds_::Time_"):
    sec: int32 = 0
    nanosec: uint32 = 0


@dataclass
class Header(Message, typename="std_msgs::msg::dds_::Header_"):
    stamp: Time
    frame_id: str = ""


@dataclass
class Vector3(Message, typename="geometry_msgs::msg::dds_::Vector3_"):
    x: float64 = 0.0
    y: float64 = 0.0
    z: float64 = 0.0


@dataclass
class Quaternion(Message, typename="geometry_msgs::msg::dds_::Quaternion_"):
    x: float64 = 0.0
    y: float64 = 0.0
    z: float64 = 0.0
    w: float64 = 1.0


@dataclass
class Twist(Message, typename="geometry_msgs::msg::dds_::Twist_"):
    linear: Vector3
    angular: Vector3


@dataclass
class JointState(Message, typename="sensor_msgs::msg::dds_::JointState_"):
    header: Header
    name: Texts
    position: Doubles
    velocity: Doubles
    effort: Doubles


@dataclass
class Imu(Message, typename="sensor_msgs::msg::dds_::Imu_"):
    header: Header
    orientation: Quaternion
    orientation_covariance: Covariance
    angular_velocity: Vector3
    angular_velocity_covariance: Covariance
    linear_acceleration: Vector3
    linear_acceleration_covariance: Covariance


@dataclass
class Image(Message, typename="sensor_msgs::msg::dds_::Image_"):
    header: Header
    height: uint32
    width: uint32
    encoding: str
    is_bigendian: uint8
    step: uint32
    data: Bytes


@dataclass
class String(Message, typename="std_msgs::msg::dds_::String_"):
    data: str = ""


@dataclass
class MultiArrayDimension(Message, typename="std_msgs::msg::dds_::MultiArrayDimension_"):
    label: str = ""
    size: uint32 = 0
    stride: uint32 = 0


if TYPE_CHECKING:
    Dimensions = Sequence[MultiArrayDimension]
else:
    Dimensions = sequence[MultiArrayDimension]


@dataclass
class MultiArrayLayout(Message, typename="std_msgs::msg::dds_::MultiArrayLayout_"):
    dim: Dimensions
    data_offset: uint32 = 0


@dataclass
class Float32MultiArray(Message, typename="std_msgs::msg::dds_::Float32MultiArray_"):
    layout: MultiArrayLayout
    data: Floats


@dataclass
class JointCommand(Message, typename="ssr_msgs::msg::dds_::JointCommand_"):
    """torque = stiffness · (position - q) + damping · (velocity - q̇) + effort, clamped by the robot."""

    header: Header
    name: Texts
    position: Doubles
    velocity: Doubles
    effort: Doubles
    stiffness: Doubles
    damping: Doubles


def stamp(nanoseconds: int | None = None) -> Time:
    """A ROS time; now, by the wall clock, if none is given."""
    now = time.time_ns() if nanoseconds is None else nanoseconds
    return Time(now // 1_000_000_000, now % 1_000_000_000)


def nanoseconds(moment: Time) -> int:
    return moment.sec * 1_000_000_000 + moment.nanosec


def ros_name(kind: type[Message]) -> str:
    """`sensor_msgs/msg/JointState`"""
    package, _, _, name = kind.__idl_typename__.replace(".", "::").split("::")
    return f"{package}/msg/{name.removesuffix('_')}"


TEXT = {
    uint8: "uint8",
    int32: "int32",
    uint32: "uint32",
    float32: "float32",
    float64: "float64",
    str: "string",
}


def definition(kind: type[Message]) -> str:
    """The `.msg` text of a message, followed by those of the messages it is made of (ros2msg)."""
    own, parts = _lines(kind)
    texts = ["\n".join(own)]
    seen: list[type[Message]] = []
    while parts:
        part = parts.pop(0)
        if part in seen:
            continue
        seen.append(part)
        lines, more = _lines(part)
        package, _, name = ros_name(part).split("/")
        texts.append("\n".join((f"MSG: {package}/{name}", *lines)))
        parts += more
    return f"\n{'=' * 80}\n".join(texts) + "\n"


def _lines(kind: type[Message]) -> tuple[list[str], list[type[Message]]]:
    hints = get_type_hints(kind, include_extras=True)
    lines, parts = [], []
    for field in fields(kind):  # type: ignore[arg-type]
        hint, suffix = hints[field.name], ""
        if not (hint in NUMBERS or hint is str or is_dataclass(hint)):
            wrapper = hint.__metadata__[0]
            suffix = f"[{wrapper.length}]" if isinstance(wrapper, array) else "[]"
            hint = wrapper.subtype
        if is_dataclass(hint):
            parts.append(hint)
            package, _, name = ros_name(hint).split("/")  # type: ignore[arg-type]
            text = f"{package}/{name}"
        else:
            text = TEXT[hint]
        lines.append(f"{text}{suffix} {field.name}")
    return lines, parts  # type: ignore[return-value]
