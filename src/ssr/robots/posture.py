"""What a built robot measures: standing in its default pose, or straight with every joint at 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from ssr.robots.spec import Joint, RobotSpec

SIDES = ("right", "left")


@dataclass(frozen=True, kw_only=True)
class Measures:
    """kg and metres; lengths are vertical distances with every joint at 0."""

    mass: float
    height: float  #: of the highest shape above the soles
    thigh: float  #: hip pitch to knee axis
    shank: float  #: knee to ankle axis
    foot_distance: float  #: between the soles' centres in the default pose
    balance: float  #: the centre of mass ahead of the soles' centres in the default pose


def pose(spec: mujoco.MjSpec, angles: Mapping[str, float]) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The compiled robot alone with its base frame at the origin; body and site positions are up to date."""
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:7] = (0, 0, 0, 1, 0, 0, 0)
    for name, angle in angles.items():
        data.joint(name).qpos[0] = angle
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    return model, data


def stand(spec: mujoco.MjSpec, joints: Sequence[Joint]) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """As `pose`, in the default pose."""
    return pose(spec, {joint.name: joint.default for joint in joints})


def sole_drop(spec: mujoco.MjSpec, joints: Sequence[Joint]) -> float:
    """How far the soles' centres lie below the base origin in the default pose, in metres."""
    _, data = stand(spec, joints)
    return -float(_soles(data)[:, 2].mean())


def measure(robot: RobotSpec) -> Measures:
    model, straight = pose(robot.build(), {})
    _, standing = stand(robot.build(), robot.joints)
    knee, ankle = (straight.body(link).xpos[2] for link in (robot.shank_links[0], robot.foot_links[0]))
    hip = straight.body(_leg_root(model, robot)).xpos[2]
    soles = _soles(standing)
    return Measures(
        mass=float(model.body_mass.sum()),
        height=_top(model, straight) - float(_soles(straight)[:, 2].mean()),
        thigh=float(hip - knee),
        shank=float(knee - ankle),
        foot_distance=float(soles[1, 1] - soles[0, 1]),
        balance=float(standing.subtree_com[0, 0] - soles[:, 0].mean()),
    )


def _soles(data: mujoco.MjData) -> np.ndarray:
    """(2, 3) centres of the right and the left sole."""
    return np.array([data.site(f"{side}_sole").xpos for side in SIDES])


def _leg_root(model: mujoco.MjModel, robot: RobotSpec) -> int:
    """The body between the base and the right foot that is nearest to the base."""
    body, base = model.body(robot.foot_links[0]).id, model.body(robot.base_link).id
    while model.body_parentid[body] != base:
        body = model.body_parentid[body]
    return int(body)


def _top(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Height of the highest point of any geom's bounding box."""
    frames = data.geom_xmat.reshape(-1, 3, 3)
    center = data.geom_xpos[:, 2] + np.einsum("gj,gj->g", frames[:, 2], model.geom_aabb[:, :3])
    reach = np.einsum("gj,gj->g", np.abs(frames[:, 2]), model.geom_aabb[:, 3:])
    return float((center + reach).max())
