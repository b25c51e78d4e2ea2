"""Loose bodies in a MuJoCo world: blocks that lie on the ground and move when pushed."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from ssr.robots.spec import Shape
from ssr.rotation import matrix
from ssr.terrain.tile import LooseBox

LOOSE = "loose_"  #: how the names of these bodies and of their geoms begin
UNDER = "_under"  #: and how the name of the geom ends that meets the ground
ARENA_MEGABYTES = 0.4  #: of contacts, for each
ITERATIONS, LINE_SEARCH_ITERATIONS = 30, 20  #: of the solver, at least
COLOR = (0.72, 0.53, 0.32, 1.0)


def loose_name(index: int) -> str:
    return f"{LOOSE}{index}"


def add_loose(spec: mujoco.MjSpec, loose: Sequence[LooseBox]) -> None:
    """Add these bodies, last of all, where they lie at first.

    Each has two geoms of one shape, since it grips the ground otherwise than a sole grips it: one meets
    robots, the other ground and its like.
    """
    if loose:
        # The few iterations that suffice for a robot leave a hard landing's error to everybody else.
        spec.option.iterations = max(spec.option.iterations, ITERATIONS)
        spec.option.ls_iterations = max(spec.option.ls_iterations, LINE_SEARCH_ITERATIONS)
        spec.memory += int(ARENA_MEGABYTES * len(loose) * 2**20)
    for index, item in enumerate(loose):
        body = spec.worldbody.add_body(name=loose_name(index), pos=item.box.center, quat=item.box.quaternion)
        body.add_freejoint()
        shape = {"type": mujoco.mjtGeom.mjGEOM_BOX, "size": item.box.half, "condim": 3}
        top = body.add_geom(
            name=loose_name(index), contype=1, conaffinity=0, priority=1, mass=item.mass, rgba=COLOR, **shape
        )
        under = body.add_geom(
            name=loose_name(index) + UNDER, contype=0, conaffinity=1, priority=2, mass=0.0, group=4, **shape
        )
        under.friction[0] = item.sliding
        if item.box.friction is not None:
            top.friction[0] = item.box.friction


def loose_shapes(loose: Sequence[LooseBox]) -> tuple[Shape, ...]:
    """What cameras see of them, each on a link of its own."""
    return tuple(
        Shape(
            link=loose_name(index),
            kind="box",
            position=(0.0, 0.0, 0.0),
            quaternion=(1.0, 0.0, 0.0, 0.0),
            size=item.box.half,
        )
        for index, item in enumerate(loose)
    )


def poses_of(loose: Sequence[LooseBox]) -> np.ndarray:
    """(k, 7) position and quaternion of each at first."""
    return np.array([(*item.box.center, *item.box.quaternion) for item in loose]).reshape(-1, 7)


def tops(position: np.ndarray, quaternion: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Facets (n, k, 12), rows as `Tile.facets`, of the upper sides of k blocks in each of n worlds.

    position (n, k, 3), quaternion (n, k, 4) w x y z, half (k, 3) m. A block that leans along its own x axis
    has a sloping top; one that leans sideways counts as level across, as high as its middle.
    """
    forward, left, up = np.moveaxis(matrix(np.asarray(quaternion, dtype=np.float64)), -1, 0)
    middle = position + up * half[:, 2:]
    level = np.maximum(np.hypot(forward[..., 0], forward[..., 1]), 1e-6)
    c, s = forward[..., 0] / level, forward[..., 1] / level
    along, across = half[:, 0] * level, half[:, 1] * np.hypot(left[..., 0], left[..., 1])
    reach_x, reach_y = abs(c) * along + abs(s) * across, abs(s) * along + abs(c) * across
    x, y, z = np.moveaxis(middle, -1, 0)
    slope = forward[..., 2] / level
    bounds = (x - reach_x, x + reach_x, y - reach_y, y + reach_y)
    return np.stack([*bounds, z, slope, x, y, c, s, along, across], axis=-1).astype(np.float32)
