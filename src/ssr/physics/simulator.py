"""What a physics engine gives and takes. Nothing outside this folder touches MuJoCo while stepping.

Each world has its own tile; all positions are in that world's tile frame. Right comes before left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import torch
from torch import Tensor

from ssr.physics.readout import Reading, Readout
from ssr.robots.spec import RobotSpec
from ssr.symmetry.layout import AXIAL, POLAR, Mirror, apply
from ssr.terrain.tile import Tile


@dataclass(frozen=True, kw_only=True)
class PhysicsState:
    """Worlds after a step. n worlds, J policy joints."""

    base_position: Tensor  #: (n, 3)
    base_quaternion: Tensor  #: (n, 4) w x y z
    base_velocity: Tensor  #: (n, 3) of the base origin, world axes
    base_angular_velocity: Tensor  #: (n, 3) base axes
    joint_position: Tensor  #: (n, J)
    joint_velocity: Tensor  #: (n, J)
    applied_torque: Tensor  #: (n, J) after clamping, last substep
    sole_position: Tensor  #: (n, 2, 3) centre of each sole
    sole_yaw: Tensor  #: (n, 2) heading of each foot
    sole_drop: Tensor  #: (n, 2) from the centre of each sole down to its lowest corner
    foot_velocity: Tensor  #: (n, 2, 3) of the sole centre, world axes
    foot_force: Tensor  #: (n, 2, 3) net contact force on the sole, world axes
    hand_position: Tensor  #: (n, 2, 3)
    body_force: Tensor  #: (n,) largest contact force on base or torso, N
    yaw: Tensor  #: (n,) heading of the base
    gravity: Tensor  #: (n, 3) unit gravity, base frame
    local_velocity: Tensor  #: (n, 3) base velocity, base frame
    local_foot_velocity: Tensor  #: (n, 2, 3) base frame
    local_hand_position: Tensor  #: (n, 2, 3) from the base origin, base frame
    local_sole_position: Tensor  #: (n, 2, 3)
    finite: Tensor  #: (n,) bool, false where the world has blown up


@dataclass(frozen=True, kw_only=True)
class Dynamics:
    """The dynamics part of Table 10 for m worlds; B moving bodies of the engine, base first."""

    base_added_mass: Tensor  #: (m,) kg
    base_com_offset: Tensor  #: (m, 3) m
    link_mass_scale: Tensor  #: (m, B)
    link_com_offset: Tensor  #: (m, B, 3) m
    motor_strength: Tensor  #: (m, J)
    kp_scale: Tensor  #: (m, J)
    kd_scale: Tensor  #: (m, J)
    friction: Tensor  #: (m,) effective sliding friction of the ground

    def mirrored(self, robot: RobotSpec, body_mirror: tuple[int, ...]) -> Dynamics:
        """The same dynamics in the sagittal mirror; `body_mirror[i]` is body i's partner."""
        partner = torch.tensor(body_mirror)
        joint = torch.tensor(robot.joint_mirror.source)
        return Dynamics(
            base_added_mass=self.base_added_mass,
            base_com_offset=apply(POLAR, self.base_com_offset),
            link_mass_scale=self.link_mass_scale[:, partner],
            link_com_offset=apply(POLAR, self.link_com_offset[:, partner]),
            motor_strength=self.motor_strength[:, joint],
            kp_scale=self.kp_scale[:, joint],
            kd_scale=self.kd_scale[:, joint],
            friction=self.friction,
        )

    def select(self, index: Tensor) -> Dynamics:
        return Dynamics(**{f.name: getattr(self, f.name)[index] for f in fields(self)})


@dataclass(frozen=True, kw_only=True)
class ResetPose:
    """Where m worlds begin."""

    base_position: Tensor  #: (m, 3)
    base_quaternion: Tensor  #: (m, 4)
    base_velocity: Tensor  #: (m, 3) world axes
    base_angular_velocity: Tensor  #: (m, 3) base axes
    joint_position: Tensor  #: (m, J)
    joint_velocity: Tensor  #: (m, J)

    def mirrored(self, robot: RobotSpec) -> ResetPose:
        return ResetPose(
            base_position=apply(POLAR, self.base_position),
            base_quaternion=apply(QUATERNION, self.base_quaternion),
            base_velocity=apply(POLAR, self.base_velocity),
            base_angular_velocity=apply(AXIAL, self.base_angular_velocity),
            joint_position=apply(robot.joint_mirror, self.joint_position),
            joint_velocity=apply(robot.joint_mirror, self.joint_velocity),
        )


QUATERNION = Mirror.signs(1, -1, 1, -1)  #: w x y z of a rotation seen in the y-mirror


class Simulator(Protocol):
    num_envs: int
    robot: RobotSpec
    body_names: tuple[str, ...]  #: the B moving bodies of `Dynamics`, base first
    readout: Readout  #: of which `read` renews the reading

    def step(self, targets: Tensor, substeps: int) -> None:
        """Hold joint targets (n, J) in radians for `substeps` physics steps."""

    def state(self) -> PhysicsState:
        """Of all worlds. One that has blown up reads as zeros, upright."""

    def read(self, env_ids: Tensor | None = None) -> Reading:
        """The same as arrays, the same ones every time, renewed for these (m,) worlds, by default all."""

    def link_poses(self) -> tuple[Tensor, Tensor]:
        """Positions (n, L, 3) and quaternions (n, L, 4) of the links that carry shapes."""

    def reset(self, env_ids: Tensor, pose: ResetPose) -> None:
        """Put these worlds into a pose. Until they step, their forces and torques are those of before."""

    def place(self, env_ids: Tensor, tiles: Sequence[Tile]) -> None: ...

    def randomize(self, env_ids: Tensor, dynamics: Dynamics) -> None: ...

    def push(self, env_ids: Tensor, velocity: Tensor) -> None:
        """Add (m, 3) m/s, world axes, to the base velocity."""
