"""Rigid links, how a welded link becomes part of its parent, and the mirror image of a link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from ssr import rotation
from ssr.ranges import Within, settings
from ssr.robots.spec import Quaternion, Shape, Vector
from ssr.rotation import MIRROR

Array = np.ndarray

Loss = Annotated[float, Within(0.0, 1000.0)]


@settings("hinge")
class Hinge:
    """A joint as the mechanism has it; axis and anchor in the frame of the link it moves."""

    name: str
    axis: Array
    lower: Annotated[float, Within(-1e6, 1e6)]
    upper: Annotated[float, Within(-1e6, 1e6)]
    max_torque: Annotated[float, Within(0.0, 1e6)]
    max_velocity: Annotated[float, Within(0.0, 1e6)]
    anchor: Array
    role: str = ""
    armature: Loss = 0.0
    frictionloss: Loss = 0.0
    damping: Loss = 0.0


@settings("link")
class Link:
    """A rigid body; position and quaternion in the parent's frame with every joint at 0.

    com in the link's frame; inertia (3, 3) about the com, axes parallel to the link's frame.
    """

    name: str
    parent: str  #: empty for the base
    position: Array
    quaternion: Array
    mass: Annotated[float, Within(0.0, 1000.0)]
    com: Array
    inertia: Array
    hinges: tuple[Hinge, ...]  #: none: welded to the parent
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where an original link's frame lies in the merged link that now carries it."""

    link: str
    position: Array
    quaternion: Array

    def point(self, point: Sequence[float] | Array) -> Array:
        return self.position + rotation.matrix(self.quaternion) @ np.asarray(point, dtype=float)


def merge_welded(links: Sequence[Link]) -> tuple[list[Link], dict[str, Placement]]:
    """Fuse every link without a hinge into the nearest moving ancestor, which keeps its own name.

    `links` come parents first. Also says where each original link's frame went.
    """
    merged: dict[str, Link] = {}
    placed: dict[str, Placement] = {}
    for link in links:
        if link.parent:
            parent = placed[link.parent]
            position = parent.point(link.position)
            quaternion = rotation.multiply(parent.quaternion, link.quaternion)
        if link.parent and not link.hinges:
            placed[link.name] = Placement(link=parent.link, position=position, quaternion=quaternion)
            merged[parent.link] = _fuse(merged[parent.link], link, placed[link.name])
        else:
            placed[link.name] = Placement(
                link=link.name, position=np.zeros(3), quaternion=np.array([1.0, 0.0, 0.0, 0.0])
            )
            if link.parent:
                link = replace(link, parent=parent.link, position=position, quaternion=quaternion)
            merged[link.name] = link
    return list(merged.values()), placed


def _fuse(body: Link, welded: Link, at: Placement) -> Link:
    """`body` with `welded` attached at `at` (Steiner's theorem about the common centre of mass)."""
    turn = rotation.matrix(at.quaternion)
    mass = body.mass + welded.mass
    welded_com = at.point(welded.com)
    com = (body.mass * body.com + welded.mass * welded_com) / mass if mass > 0 else body.com
    inertia = (
        body.inertia
        + _point_inertia(body.mass, body.com - com)
        + turn @ welded.inertia @ turn.T
        + _point_inertia(welded.mass, welded_com - com)
    )
    shapes = tuple(_moved(shape, at) for shape in welded.shapes)
    return replace(body, mass=mass, com=com, inertia=inertia, shapes=body.shapes + shapes)


def _point_inertia(mass: float, offset: Array) -> Array:
    return mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))


def _moved(shape: Shape, at: Placement) -> Shape:
    return replace(
        shape,
        link=at.link,
        position=as_vector(at.point(shape.position)),
        quaternion=as_quaternion(rotation.multiply(at.quaternion, np.array(shape.quaternion))),
    )


def as_vector(values: Sequence[float] | Array) -> Vector:
    x, y, z = (float(v) for v in values)
    return x, y, z


def as_quaternion(values: Sequence[float] | Array) -> Quaternion:
    w, x, y, z = (float(v) for v in values)
    return w, x, y, z


def other_side(name: str) -> str:
    """`right_x` <-> `left_x`; names on the midline stay."""
    for side, other in (("right", "left"), ("left", "right")):
        if name.startswith(side):
            return other + name[len(side) :]
    return name


def mirror_sign(axis: Array, partner_axis: Array) -> float:
    """How a joint angle reads in the mirror: the axis's mirror image against the partner's own axis."""
    return float(np.dot(rotation.axial_mirror(axis), partner_axis))


def mirrored(link: Link) -> Link:
    """The link on the other side. Its hinges keep the axis, so their angles take the mirror sign."""
    return Link(
        name=other_side(link.name),
        parent=other_side(link.parent),
        position=link.position * MIRROR,
        quaternion=rotation.mirror(link.quaternion),
        mass=link.mass,
        com=link.com * MIRROR,
        inertia=link.inertia * np.outer(MIRROR, MIRROR),
        hinges=tuple(_mirrored_hinge(hinge) for hinge in link.hinges),
        shapes=tuple(_mirrored_shape(shape) for shape in link.shapes),
    )


def _mirrored_hinge(hinge: Hinge) -> Hinge:
    angles = (hinge.lower, hinge.upper)
    if mirror_sign(hinge.axis, hinge.axis) < 0:
        angles = (-hinge.upper, -hinge.lower)
    return replace(
        hinge,
        name=other_side(hinge.name),
        lower=angles[0],
        upper=angles[1],
        anchor=hinge.anchor * MIRROR,
    )


def _mirrored_shape(shape: Shape) -> Shape:
    """Every primitive is symmetric in its own frame, so mirroring the frame mirrors the shape."""
    return replace(
        shape,
        link=other_side(shape.link),
        name=other_side(shape.name),
        position=as_vector(np.array(shape.position) * MIRROR),
        quaternion=as_quaternion(rotation.mirror(np.array(shape.quaternion))),
    )
