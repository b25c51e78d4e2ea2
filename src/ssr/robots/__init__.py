"""Robots: what they weigh, how they move, and how to build them in MuJoCo."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ssr.errors import unknown
from ssr.robots import carried, own, shipped
from ssr.robots.anatomy import Anatomy, robot_spec
from ssr.robots.shipped import names
from ssr.robots.spec import CameraMount, Joint, RobotSpec, Shape, Sole

__all__ = ["CameraMount", "Joint", "RobotSpec", "Shape", "Sole", "anatomy", "load", "names"]


def load(name_or_path: str | Path) -> RobotSpec:
    """A shipped robot by name (`names()`), a user's own by its TOML file, or a run's by its robot.json."""
    text = str(name_or_path)
    return _shipped(text) if text in names() else robot_spec(anatomy(text), Path(text).parent)


def anatomy(name_or_path: str | Path) -> Anatomy:
    """The mechanism of what `load` gives."""
    text = str(name_or_path)
    if text in names():
        return shipped.anatomy(text)
    if text.endswith(".toml"):
        return own.anatomy(Path(text))
    if text.endswith(".json"):
        return carried.read(Path(text))
    raise unknown("robot", text, (*names(), "or the path of your own robot.toml"))


@cache
def _shipped(name: str) -> RobotSpec:
    return robot_spec(shipped.anatomy(name))
