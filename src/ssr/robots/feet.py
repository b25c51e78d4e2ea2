"""Soles: a foot of any shape becomes one box with a flat bottom, so that contact is exact and symmetric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ssr import rotation
from ssr.robots.links import Link, as_vector
from ssr.robots.spec import Shape, Sole

LEAST_HEIGHT = 0.02  #: m


def extent(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest corner of a shape's bounding box in its link's frame."""
    frame = rotation.matrix(np.array(shape.quaternion))
    if shape.kind == "box":
        half = np.abs(frame) @ np.array(shape.size)
    elif shape.kind == "sphere":
        half = np.full(3, shape.size[0])
    else:
        radius, length = shape.size
        axis = np.abs(frame[:, 2])
        around = np.ones(3) if shape.kind == "capsule" else np.sqrt(np.clip(1 - axis**2, 0, 1))
        half = length * axis + radius * around
    return np.array(shape.position) - half, np.array(shape.position) + half


def bounds(link: Link) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest corner of all of the link's shapes."""
    corners = [extent(shape) for shape in link.shapes]
    return np.min([low for low, _ in corners], axis=0), np.max([high for _, high in corners], axis=0)


def sole_under(foot: Link) -> Sole | None:
    """The bottom of the right foot's bounding box; None for a foot without shapes."""
    if not foot.shapes:
        return None
    low, high = bounds(foot)
    length, width = float(high[0] - low[0]), float(high[1] - low[1])
    center = ((low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2])
    return Sole(center=as_vector(center), length=length, width=width, patch=(length, width))


def with_flat_foot(foot: Link, sole: Sole, side: str) -> Link:
    """The foot's shapes replaced by one box that stands on the sole and is as high as they were."""
    top = bounds(foot)[1][2] if foot.shapes else sole.center[2]
    height = max(float(top) - sole.center[2], LEAST_HEIGHT)
    center = np.array(sole.center) * (1.0 if side == "right" else rotation.MIRROR)
    box = Shape(
        link=foot.name,
        kind="box",
        position=as_vector(center + np.array([0.0, 0.0, height / 2])),
        quaternion=(1.0, 0.0, 0.0, 0.0),
        size=(sole.length / 2, sole.width / 2, height / 2),
        name=f"{side}_foot",
        part="foot",
    )
    return replace(foot, shapes=(box,))
