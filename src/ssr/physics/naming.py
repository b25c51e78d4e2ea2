"""What a model's parts are called, resolved to indices once; nothing later relies on an order in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from ssr.physics.loose import loose_name, loose_shapes
from ssr.physics.world import terrain_name
from ssr.robots.spec import RobotSpec
from ssr.terrain.tile import LooseBox


class Names(NamedTuple):
    bodies: tuple[str, ...]  #: that move, base first
    body_mirror: tuple[int, ...]  #: body i's partner in the sagittal mirror
    links: tuple[str, ...]  #: that carry shapes
    link_bodies: tuple[int, ...]  #: their body ids
    terrain: np.ndarray  #: (pool,) geom ids of the boxes
    loose_tops: np.ndarray  #: geom ids of loose bodies that are gripped as the ground is


def names_of(model: mujoco.MjModel, robot: RobotSpec, pool: int, loose: Sequence[LooseBox] = ()) -> Names:
    """loose: bodies behind the robot's."""
    bodies = tuple(model.body(i).name for i in range(1, model.nbody - len(loose)))
    if bodies[0] != robot.base_link:
        raise ValueError(f"{robot.name}: the base link must be the first body, got {bodies[0]!r}")
    links = tuple(dict.fromkeys(s.link for s in (*robot.shapes, *loose_shapes(loose))))
    gripped = [i for i, item in enumerate(loose) if item.box.friction is None]
    return Names(
        bodies=bodies,
        body_mirror=_body_mirror(model, robot, len(bodies)),
        links=links,
        link_bodies=tuple(model.body(name).id for name in links),
        terrain=np.array([model.geom(terrain_name(i)).id for i in range(pool)], dtype=np.intp),
        loose_tops=np.array([model.geom(loose_name(i)).id for i in gripped], dtype=np.intp),
    )


def _body_mirror(model: mujoco.MjModel, robot: RobotSpec, bodies: int) -> tuple[int, ...]:
    """Body i's partner in the mirror, counted from the base: the body its joint's partner moves."""
    partner = list(range(bodies))
    for joint in robot.joints:
        body = int(model.joint(joint.name).bodyid[0])
        partner[body - 1] = int(model.joint(joint.mirror_name).bodyid[0]) - 1
    return tuple(partner)
