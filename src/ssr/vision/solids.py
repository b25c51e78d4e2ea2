"""The robot's link shapes as flat arrays: what both renderers read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ssr.errors import UserError, unknown
from ssr.robots.spec import Shape
from ssr.rotation import matrix

SPHERE, CAPSULE, CYLINDER, BOX = range(4)
KIND_CODES = {"sphere": SPHERE, "capsule": CAPSULE, "cylinder": CYLINDER, "box": BOX}
SIZE_LENGTHS = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3}


class LinkSolids(NamedTuple):
    """S solids, each fixed to one of the links whose poses the renderer is given. Metres, link frames."""

    kind: np.ndarray  #: (S,) int32 code
    link: np.ndarray  #: (S,) int32 index into the links
    position: np.ndarray  #: (S, 3) float64
    rotation: np.ndarray  #: (S, 3, 3) float64, columns are the solid's axes in the link frame
    size: np.ndarray  #: (S, 3) float64 MuJoCo sizes, padded with zeros
    bound: np.ndarray  #: (S, 3) float64 half extents of the smallest box around the solid, in its own frame


def pack(shapes: Sequence[Shape], links: Sequence[str]) -> LinkSolids:
    """`links` names the links in the order in which their poses arrive."""
    for shape in shapes:
        if shape.kind not in KIND_CODES:
            raise unknown(f"shape kind on {shape.link}", shape.kind, KIND_CODES)
        if shape.link not in links:
            raise unknown("link of a shape to be rendered", shape.link, links)
        if len(shape.size) < SIZE_LENGTHS[shape.kind] or min(shape.size) <= 0:
            raise UserError(
                f"A {shape.kind} on {shape.link} has size {shape.size}: "
                f"{SIZE_LENGTHS[shape.kind]} positive lengths in metres are needed."
            )
    size = np.zeros((len(shapes), 3))
    for row, shape in zip(size, shapes, strict=True):
        row[: SIZE_LENGTHS[shape.kind]] = shape.size[: SIZE_LENGTHS[shape.kind]]
    return LinkSolids(
        kind=np.array([KIND_CODES[s.kind] for s in shapes], dtype=np.int32),
        link=np.array([links.index(s.link) for s in shapes], dtype=np.int32),
        position=np.array([s.position for s in shapes], dtype=np.float64).reshape(-1, 3),
        rotation=np.array([_axes(s) for s in shapes]).reshape(-1, 3, 3),
        size=size,
        bound=np.array([_half_extent(s) for s in shapes], dtype=np.float64).reshape(-1, 3),
    )


def _axes(shape: Shape) -> np.ndarray:
    """(3, 3); a user's own robot may have quaternions that are not quite of unit length."""
    return matrix(np.array(shape.quaternion) / np.linalg.norm(shape.quaternion))


def _half_extent(shape: Shape) -> tuple[float, float, float]:
    radius = shape.size[0]
    if shape.kind == "sphere":
        return radius, radius, radius
    if shape.kind == "capsule":
        return radius, radius, radius + shape.size[1]
    if shape.kind == "cylinder":
        return radius, radius, shape.size[1]
    return shape.size[0], shape.size[1], shape.size[2]
