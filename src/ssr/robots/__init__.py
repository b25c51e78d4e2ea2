"""Robots: what they weigh, how they move, and how to build them in MuJoCo."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ssr.errors import unknown
from ssr.robots import own, shipped
from ssr.robots.shipped import names
from ssr.robots.spec import CameraMount, Joint, RobotSpec, Shape, Sole

__all__ = ["CameraMount", "Joint", "RobotSpec", "Shape", "Sole", "load", "names"]


def load(name_or_path: str | Path) -> RobotSpec:
    """A shipped robot by name (`names()`), or a user's own by the path of its TOML file."""
    text = str(name_or_path)
    if text in names():
        return _shipped(text)
    if text.endswith(".toml"):
        return own.robot(Path(text))
    raise unknown("robot", text, (*names(), "or the path of your own robot.toml"))


@cache
def _shipped(name: str) -> RobotSpec:
    return shipped.robot(name)
