"""A robot in one file, `robot.json`: all that was read of a user's own MJCF or URDF, exact to the last bit.

Meshes have become boxes by then, so that nothing else is needed to build the robot again elsewhere.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ssr.errors import UserError, one_line
from ssr.files import DAMAGED, write_json
from ssr.robots.anatomy import Anatomy
from ssr.robots.links import Hinge, Link
from ssr.robots.spec import CameraMount, Joint, Shape, Sole

KIND = "ssr robot 1"


def write(path: Path, anatomy: Anatomy) -> None:
    write_json(path, {"kind": KIND, **_plain(anatomy)}, indent=1)


def read(path: Path) -> Anatomy:
    try:
        values = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
        if not isinstance(values, dict) or values.pop("kind", None) != KIND:
            raise ValueError("it does not say that it is one")
        return _anatomy(values)
    except FileNotFoundError:
        raise UserError(f"No robot file at {path}. Runs of robots of your own hold one.") from None
    except DAMAGED as error:
        raise UserError(f"{path} is not a robot that a run was made with ({one_line(error)}).") from None


def _plain(value: Any) -> Any:
    """Dataclasses as dictionaries, arrays and tuples as lists."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _refuse(word: str) -> float:
    raise ValueError(f"{word} in it")


def _anatomy(values: dict[str, Any]) -> Anatomy:
    parts: dict[str, Any] = {
        "links": tuple(_link(link) for link in values["links"]),
        "joints": tuple(Joint(**joint) for joint in values["joints"]),
        "sole": Sole(**_tuples(values["sole"])),
        "camera": CameraMount(**_tuples(values["camera"])),
    }
    return Anatomy(**_tuples(values) | parts)


def _link(values: dict[str, Any]) -> Link:
    arrays = {name: np.array(values[name], float) for name in ("position", "quaternion", "com", "inertia")}
    shapes = tuple(Shape(**_tuples(shape)) for shape in values["shapes"])
    return Link(**values | arrays | {"hinges": tuple(map(_hinge, values["hinges"])), "shapes": shapes})


def _hinge(values: dict[str, Any]) -> Hinge:
    return Hinge(**values | {name: np.array(values[name], float) for name in ("axis", "anchor")})


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
