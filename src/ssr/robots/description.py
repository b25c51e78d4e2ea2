"""The short TOML file that tells what a user's own MJCF or URDF means.

```toml
model = "biped.xml"                      # MJCF or URDF, beside this file
base = "pelvis"
torso = "torso"
feet = ["right_foot", "left_foot"]       # pairs are right, left
shanks = ["right_shank", "left_shank"]
hands = ["right_forearm", "left_forearm"]
hand_offset = [0.0, 0.0, -0.2]           # optional, as are all below but the joints
min_foot_distance = 0.2
base_height_target = 0.7

[defaults]                               # for every joint that does not say otherwise
kp = 100.0
kd = 3.0
max_velocity = 12.0

[[joint]]                                # policy order; a joint not listed is locked at 0
right = "right_hip_pitch"
left = "left_hip_pitch"
default = -0.2                           # as the right side has it

[[joint]]
center = "waist_yaw"
action_scale = 0.2

[sole]                                   # else the bottom of the foot's shapes
center = [0.04, 0.0, -0.07]
length = 0.22
width = 0.12

[camera]
position = [0.1, 0.0, 0.05]
pitch = 50.0
```

Points are in frames that are parallel to the base's frame when every joint is at 0.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import field
from math import inf
from pathlib import Path
from typing import Annotated, Any

from ssr.errors import UserError
from ssr.joint_ranges import Angle
from ssr.ranges import Within, settings
from ssr.robots.spec import CameraMount, Sole, Vector

REQUIRED = ("model", "base", "torso", "feet", "shanks", "hands", "joint")
OPTIONAL = ("name", "title", "hand_offset", "min_foot_distance", "base_height_target")
TABLES = ("defaults", "sole", "camera")
GAINS = ("kp", "kd", "action_scale")
LIMITS = ("max_torque", "max_velocity")
NUMBERS = (*GAINS, *LIMITS, "armature", "frictionloss", "damping")
JOINT_KEYS = ("right", "left", "center", "role", "default", *NUMBERS)
ACTION_SCALE = 0.25  #: Table 14, legs
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")  #: runs and motion files are called by it


@settings("joint")
class JointEntry:
    """One `[[joint]]`: a pair, or a joint on the midline (then both names are the same)."""

    right: str
    left: str
    role: str
    default: Angle
    numbers: Annotated[dict[str, float], Within(0.0, 1e5)] = field(default_factory=dict)

    @property
    def paired(self) -> bool:
        return self.right != self.left


@settings("robot")
class Description:
    file: Path
    model: Path
    name: str
    title: str
    base: str
    torso: str
    feet: tuple[str, str]
    shanks: tuple[str, str]
    hands: tuple[str, str]
    hand_offset: Vector
    min_foot_distance: Annotated[float | None, Within(0.0, 2.0)]
    base_height_target: Annotated[float | None, Within(0.05, 5.0)]
    joints: tuple[JointEntry, ...]
    sole: Sole | None
    camera: CameraMount


def read(file: Path) -> Description:
    if not file.is_file():
        raise UserError(f"No robot file at {file}. Give a shipped robot's name or an existing .toml file.")
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{file} is not valid TOML: {error}.") from None
    reader = _Reader(file)
    reader.known(table, (*REQUIRED, *OPTIONAL, *TABLES), "the file")
    defaults = table.get("defaults", {})
    reader.known(defaults, NUMBERS, "[defaults]")
    entries = table.get("joint")
    if not isinstance(entries, list) or not entries:
        raise reader.error("it needs at least one [[joint]] with right and left, or center")
    model = file.parent / reader.text(table, "model")
    if not model.is_file():
        raise UserError(f"{file}: its model {model} does not exist.")
    name = reader.text(table, "name", file.stem)
    if not NAME.fullmatch(name):
        raise reader.error(f"name {name!r}: files are called by it; use letters, digits, '_', '-' and '.'")
    return Description(
        file=file,
        model=model,
        name=name,
        title=reader.text(table, "title", name),
        base=reader.text(table, "base"),
        torso=reader.text(table, "torso"),
        feet=reader.pair(table, "feet"),
        shanks=reader.pair(table, "shanks"),
        hands=reader.pair(table, "hands"),
        hand_offset=reader.vector(table, "hand_offset", (0.0, 0.0, 0.0)),
        min_foot_distance=reader.optional_number(table, "min_foot_distance"),
        base_height_target=reader.optional_number(table, "base_height_target"),
        joints=tuple(_joint(reader, entry, defaults) for entry in entries),
        sole=_sole(reader, table["sole"]) if "sole" in table else None,
        camera=_camera(reader, table.get("camera", {})),
    )


def _joint(reader: _Reader, entry: dict[str, Any], defaults: dict[str, Any]) -> JointEntry:
    reader.known(entry, JOINT_KEYS, "[[joint]]")
    if "center" in entry:
        if "right" in entry or "left" in entry:
            raise reader.error(f"joint {entry['center']!r} is given as center and as a side; choose one")
        right = left = reader.text(entry, "center")
    elif "right" in entry and "left" in entry:
        right, left = reader.text(entry, "right"), reader.text(entry, "left")
        if right == left:
            raise reader.error(f"joint {right!r} is given as its own mirror partner; make it center")
    else:
        side = entry.get("right", entry.get("left"))
        if side is None:
            raise reader.error("a [[joint]] names neither right and left nor center")
        missing = "left" if "right" in entry else "right"
        raise reader.error(f"joint {side!r} has no mirror partner; add {missing} = ..., or make it center")
    numbers = {"action_scale": ACTION_SCALE}
    for key in NUMBERS:
        value = reader.optional_number(entry, key, reader.optional_number(defaults, key))
        if value is not None:
            if not 0.0 <= value < inf:
                raise reader.error(f"joint {right!r}: {key} {value:g} must be finite and not below 0")
            numbers[key] = value
    for key in ("kp", "kd"):
        if key not in numbers:
            raise reader.error(f"joint {right!r} has no {key}; give it there or in [defaults]")
    return JointEntry(
        right=right,
        left=left,
        role=reader.text(entry, "role", ""),
        default=reader.optional_number(entry, "default") or 0.0,
        numbers=numbers,
    )


def _sole(reader: _Reader, table: dict[str, Any]) -> Sole:
    reader.known(table, ("center", "length", "width"), "[sole]")
    length, width = (reader.optional_number(table, key) for key in ("length", "width"))
    if not length or not width or length <= 0 or width <= 0:
        raise reader.error("[sole] needs center, length and width, in metres")
    return Sole(center=reader.vector(table, "center"), length=length, width=width, patch=(length, width))


def _camera(reader: _Reader, table: dict[str, Any]) -> CameraMount:
    reader.known(table, ("position", "pitch"), "[camera]")
    usual = CameraMount()
    pitch = reader.optional_number(table, "pitch", usual.pitch)
    return CameraMount(
        position=reader.vector(table, "position", usual.position),
        pitch=usual.pitch if pitch is None else pitch,
    )


class _Reader:
    """Typed access to the file's tables; every complaint names the file and the key."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def error(self, text: str) -> UserError:
        return UserError(f"{self.file}: {text}.")

    def known(self, table: object, keys: Any, where: str) -> None:
        if not isinstance(table, dict):
            raise self.error(f"{where} must be a table")
        for key in table:
            if key not in keys:
                raise self.error(f"unknown key {key!r} in {where}; known: {', '.join(keys)}")

    def text(self, table: dict[str, Any], key: str, otherwise: str | None = None) -> str:
        value = table.get(key, otherwise)
        if not isinstance(value, str):
            raise self.error(
                f"{key!r} must be given, as a string" if value is None else f"{key!r} is no string"
            )
        return value

    def optional_number(
        self, table: dict[str, Any], key: str, otherwise: float | None = None
    ) -> float | None:
        value = table.get(key, otherwise)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(f"{key!r} must be a number, got {value!r}")
        return float(value)

    def pair(self, table: dict[str, Any], key: str) -> tuple[str, str]:
        value = table.get(key)
        if not isinstance(value, list) or len(value) != 2 or not all(isinstance(x, str) for x in value):
            raise self.error(f"{key!r} must be two link names, right and left, got {value!r}")
        return value[0], value[1]

    def vector(self, table: dict[str, Any], key: str, otherwise: Vector | None = None) -> Vector:
        value = table.get(key, otherwise)
        numbers = isinstance(value, list | tuple) and all(
            isinstance(x, int | float) and not isinstance(x, bool) for x in value
        )
        if not numbers or len(value) != 3:  # type: ignore[arg-type]
            raise self.error(f"{key!r} must be three numbers in metres, got {value!r}")
        x, y, z = value  # type: ignore[misc]
        return float(x), float(y), float(z)
