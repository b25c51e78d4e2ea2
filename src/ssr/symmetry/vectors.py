"""The project's vectors, declared once per robot: each entry, its scale and its mirror rule (Table 12).

Frames: base frame unless a name says otherwise. Where two sides stand together the order is right, left.
A segment's `scale` is what the raw SI quantity is multiplied by before it enters the vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ssr.errors import UserError
from ssr.symmetry.layout import AXIAL, COMMAND, POLAR, Layout, Mirror, Segment, channel_swap, concatenate

BASE_MAP = (18, 10)  #: rows forward (x from -0.5 to 1.2 m), columns leftward (y from -0.45 to 0.45 m)
FOOT_MAP = (10, 5)  #: rows forward, columns leftward, per foot
LATENT_HEADS = ("latent_foot", "latent_base", "latent_proprioception")  #: z^f, z^b, z^p

ONE = Mirror.signs(1)
PAIR = Mirror.swap(ONE)  #: one number per side
POLAR_PAIR = Mirror.swap(POLAR)  #: one vector per side


class MirroredJoint(Protocol):
    """What a joint must say of itself; `ssr.robots.spec.Joint` does."""

    @property
    def name(self) -> str: ...
    @property
    def mirror_name(self) -> str: ...
    @property
    def mirror_sign(self) -> float: ...
    @property
    def default(self) -> float: ...
    @property
    def action_scale(self) -> float: ...


class Jointed(Protocol):
    """What layouts need of a robot; `ssr.robots.spec.RobotSpec` has it."""

    @property
    def name(self) -> str: ...
    @property
    def joints(self) -> Sequence[MirroredJoint]: ...
    @property
    def joint_names(self) -> tuple[str, ...]: ...
    @property
    def joint_mirror(self) -> Mirror: ...
    def joint_index(self, name: str) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Layouts:
    """Every vector of one robot."""

    proprioception: Layout  #: o^p, what the robot measures
    action: Layout  #: a, one number per policy joint
    privileged: Layout  #: s, what the critics see
    actor: Layout  #: o^a, what the actor sees
    amp: Layout  #: one frame of the motion prior


def layouts(robot: Jointed, latent: int = 16) -> Layouts:
    """The vectors of `robot`; `latent` is the size of each of the encoder's three heads."""
    _require_mirror_symmetry(robot)
    proprioception = _proprioception(robot)
    return Layouts(
        proprioception=proprioception,
        action=Layout.of("action", _joints("action", robot)),
        privileged=concatenate("privileged", (proprioception, _privileged_only())),
        actor=concatenate("actor", (proprioception, _estimates(latent))),
        amp=_amp(robot),
    )


def _joints(name: str, robot: Jointed, scale: float | tuple[float, ...] = 1.0) -> Segment:
    return Segment(name, len(robot.joints), robot.joint_mirror, scale)


def _proprioception(robot: Jointed) -> Layout:
    """Joint positions are (q - q_0) / action_scale, so that an action equals the position it asks for.

    All three commands have the scale 2: with 0.2 for the yaw rate a policy learned to walk and never to turn.
    """
    return Layout.of(
        "proprioception",
        Segment("angular_velocity", 3, AXIAL, 0.2),
        Segment("gravity", 3, POLAR),
        Segment("command", 3, COMMAND, 2.0),
        _joints("joint_position", robot, tuple(float(1.0 / j.action_scale) for j in robot.joints)),
        _joints("joint_velocity", robot, 0.1),
        _joints("previous_action", robot),
    )


def _privileged_only() -> Layout:
    """What the critics see beyond proprioception. Heights are clip(z_ref - h, -1, 1) m, times 5."""
    return Layout.of(
        "privileged_only",
        Segment("base_velocity", 3, POLAR, 2.0),
        Segment("foot_velocity", 6, POLAR_PAIR, 0.5),
        Segment("foot_contact", 2, PAIR),
        Segment("hand_position", 6, POLAR_PAIR),
        Segment("foot_position", 6, POLAR_PAIR),
        Segment("base_height_map", BASE_MAP[0] * BASE_MAP[1], Mirror.grid(*BASE_MAP), 5.0),
        Segment("foot_height_maps", 2 * FOOT_MAP[0] * FOOT_MAP[1], Mirror.swap(Mirror.grid(*FOOT_MAP)), 5.0),
    )


def _estimates(latent: int) -> Layout:
    """What the estimator and the encoder add: M_c swaps inside each head, never across heads."""
    return Layout.of(
        "estimates",
        Segment("velocity", 3, POLAR, 2.0),
        *(Segment(head, latent, channel_swap(latent)) for head in LATENT_HEADS),
    )


def _amp(robot: Jointed) -> Layout:
    """Raw SI values, joint positions absolute: the discriminators' running normaliser does the scaling."""
    return Layout.of(
        "amp",
        Segment("gravity", 3, POLAR),
        Segment("base_velocity", 3, POLAR),
        Segment("angular_velocity", 3, AXIAL),
        _joints("joint_position", robot),
        _joints("joint_velocity", robot),
        Segment("hand_position", 6, POLAR_PAIR),
        Segment("foot_position", 6, POLAR_PAIR),
    )


def _require_mirror_symmetry(robot: Jointed) -> None:
    """Mirroring twice must give the robot back, and its default pose must be its own mirror image."""
    for joint in robot.joints:
        partner = robot.joints[robot.joint_index(joint.mirror_name)]
        if partner.mirror_name != joint.name or joint.mirror_sign * partner.mirror_sign != 1.0:
            raise UserError(
                f"Robot {robot.name!r}: {joint.name} and {partner.name} do not mirror each other. "
                "Both need each other's name and the same sign, +1 or -1."
            )
        if not np.isclose(partner.default * joint.mirror_sign, joint.default, atol=1e-6):
            raise UserError(
                f"Robot {robot.name!r}: the default of {joint.name} ({joint.default}) does not mirror "
                f"that of {partner.name} ({partner.default}). Give the robot a symmetric default pose."
            )
        if not np.isclose(partner.action_scale, joint.action_scale):
            raise UserError(
                f"Robot {robot.name!r}: {joint.name} and {partner.name} need the same action scale, "
                f"got {joint.action_scale} and {partner.action_scale}."
            )
