"""Bytes on the wire are ROS 2's, by the word of an independent implementation (rosbags)."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from ssr.deployment.messages import (
    Broken,
    Float32MultiArray,
    Header,
    Image,
    Imu,
    JointCommand,
    JointState,
    Message,
    MultiArrayDimension,
    MultiArrayLayout,
    Quaternion,
    String,
    Time,
    Twist,
    Vector3,
    definition,
    nanoseconds,
    ros_name,
    stamp,
)

KINDS = (JointState, Imu, Image, Twist, String, Float32MultiArray, JointCommand)
STORE = get_typestore(Stores.ROS2_HUMBLE)
STORE.register(get_types_from_msg(definition(JointCommand).split("=" * 80)[0], ros_name(JointCommand)))

number = st.floats(allow_nan=False, width=64)
single = st.floats(allow_nan=False, width=32)
text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)
numbers = st.lists(number, max_size=5).map(np.array)
nine = st.lists(number, min_size=9, max_size=9).map(np.array)
time = st.builds(Time, st.integers(-(2**31), 2**31 - 1), st.integers(0, 10**9 - 1))
header = st.builds(Header, time, text)
vector = st.builds(Vector3, number, number, number)
word = st.integers(0, 2**32 - 1)
dimension = st.builds(MultiArrayDimension, text, word, word)
MESSAGES: dict[type[Message], st.SearchStrategy[Any]] = {
    JointState: st.builds(JointState, header, st.lists(text, max_size=4), numbers, numbers, numbers),
    Imu: st.builds(
        Imu, header, st.builds(Quaternion, number, number, number, number), nine, vector, nine, vector, nine
    ),
    Image: st.builds(
        Image, header, word, word, text, st.integers(0, 255), word,
        st.binary(max_size=9).map(lambda b: np.frombuffer(b, np.uint8)),
    ),
    Twist: st.builds(Twist, vector, vector),
    String: st.builds(String, text),
    Float32MultiArray: st.builds(
        Float32MultiArray,
        st.builds(MultiArrayLayout, st.lists(dimension, max_size=3), word),
        st.lists(single, max_size=5).map(lambda v: np.array(v, np.float32)),
    ),
    JointCommand: st.builds(
        JointCommand, header, st.lists(text, max_size=4), numbers, numbers, numbers, numbers, numbers
    ),
}  # fmt: skip


def as_theirs(message: Any) -> Any:
    """The same message in rosbags' classes."""
    theirs = STORE.types[ros_name(type(message))]
    values = {}
    for field in fields(message):
        value = getattr(message, field.name)
        if is_dataclass(value):
            value = as_theirs(value)
        elif isinstance(value, (list, tuple)) and value and is_dataclass(value[0]):
            value = [as_theirs(v) for v in value]
        elif isinstance(value, tuple):
            value = list(value)
        elif isinstance(value, np.ndarray) and value.size == 0:
            value = value.astype(np.float64 if value.dtype == object else value.dtype)
        values[field.name] = value
    return theirs(**values)


def same(a: Any, b: Any) -> bool:
    if is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(np.array_equal(a, b))


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_bytes_equal_those_of_rosbags(kind: type[Message], data: st.DataObject) -> None:
    message = data.draw(MESSAGES[kind])
    raw = message.serialize()
    assert raw == bytes(STORE.serialize_cdr(as_theirs(message), ros_name(kind)))
    assert same(kind.deserialize(raw), message)
    turned = bytes(STORE.serialize_cdr(as_theirs(message), ros_name(kind), little_endian=False))
    assert same(kind.deserialize(turned), message)


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_fields_are_those_of_ros(kind: type[Message]) -> None:
    name = ros_name(kind)
    package, _, short = name.split("/")
    assert kind.__idl__.idl_transformed_typename == f"{package}::msg::dds_::{short}_"
    if kind is not JointCommand:
        mine = get_types_from_msg(definition(kind).split("=" * 80)[0], name)[name]
        assert mine[1] == STORE.fielddefs[name][1]


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=60)
@given(raw=st.binary(max_size=200), start=st.sampled_from([b"", b"\0\1\0\0", b"\0\0\0\0"]))
def test_garbage_is_broken_or_a_message_but_never_an_error(
    kind: type[Message], raw: bytes, start: bytes
) -> None:
    assert isinstance(kind.deserialize(start + raw), (Broken, kind))


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_a_cut_off_message_is_broken(kind: type[Message], data: st.DataObject) -> None:
    raw = data.draw(MESSAGES[kind]).serialize()
    cut = data.draw(st.integers(0, len(raw) - 1))
    assert isinstance(kind.deserialize(raw[:cut]), Broken)


def test_times_go_there_and_back() -> None:
    for moment in (0, 1, 10**9 - 1, 1_800_000_000_123_456_789, -5):
        assert nanoseconds(stamp(moment)) == moment
