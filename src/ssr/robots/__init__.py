"""Robots: what they weigh, how they move, and how to build them in MuJoCo."""

from __future__ import annotations

from functools import cache

from ssr.errors import unknown
from ssr.robots import shipped
from ssr.robots.shipped import names
from ssr.robots.spec import CameraMount, Joint, RobotSpec, Shape, Sole

__all__ = ["CameraMount", "Joint", "RobotSpec", "Shape", "Sole", "load", "names"]


@cache
def load(name_or_path: str) -> RobotSpec:
    """A shipped robot by name (`names()`)."""
    if name_or_path not in names():
        raise unknown("robot", name_or_path, names())
    return shipped.robot(name_or_path)
