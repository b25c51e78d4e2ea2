"""What a physics engine gives and takes. Nothing outside this folder knows which engine it is.

Each world has its own tile; all positions are in that world's tile frame. Right comes before left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from ssr.physics.readout import PhysicsState, Reading, Readout
from ssr.robots.spec import RobotSpec
from ssr.rotation import MIRROR_QUATERNION
from ssr.symmetry.layout import AXIAL, POLAR, Mirror, apply
from ssr.terrain.tile import Tile


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


QUATERNION = Mirror.signs(*MIRROR_QUATERNION.tolist())  #: w x y z of a rotation seen in the y-mirror


@runtime_checkable
class Simulator(Protocol):
    """n worlds of one robot. `env_ids` (m,) names worlds by number; where it may be None, that means all."""

    engine: str  #: its name, as in `ssr.physics.engines`
    num_envs: int
    robot: RobotSpec
    body_names: tuple[str, ...]  #: the B moving bodies of `Dynamics`, base first
    body_mirror: tuple[int, ...]  #: body i's partner in the sagittal mirror
    link_names: tuple[str, ...]  #: the L links that carry shapes

    @property
    def overflows(self) -> int:
        """How often so far the contacts or constraints of a world did not fit into the room for them."""

    @property
    def readout(self) -> Readout:
        """What `read` renews."""

    # ---- moving -----------------------------------------------------------------------------------------

    def step(self, targets: Tensor, substeps: int) -> None:
        """Hold joint targets (n, J) in radians for `substeps` physics steps."""

    def hold(self, targets: Tensor) -> None:
        """Take up joint targets (n, J) in radians, without moving."""

    def targets(self) -> Tensor:
        """The joint targets (n, J) that are held."""

    def advance(self, substeps: int) -> None:
        """Physics alone, towards the targets that are held; the last `step` settled which ground is near."""

    def push(self, env_ids: Tensor, velocity: Tensor) -> None:
        """Add (m, 3) m/s, world axes, to the base velocity."""

    def rest(self, env_ids: Tensor) -> None:
        """From now on these worlds stand still, and all others move."""

    # ---- reading ----------------------------------------------------------------------------------------

    def state(self) -> PhysicsState:
        """Of all worlds. One that has blown up reads as zeros, upright."""

    def read(self, env_ids: Tensor | None = None) -> Reading:
        """The same as arrays, the same ones every time, renewed for these worlds."""

    def link_poses(self) -> tuple[Tensor, Tensor]:
        """Positions (n, L, 3) and quaternions (n, L, 4) of `link_names`."""

    def configurations(self, env_ids: Tensor) -> Tensor:
        """(m, nq) float64 on the CPU: the `qpos` with which a model from `build_world` shows these worlds."""

    # ---- setting up -------------------------------------------------------------------------------------

    def reset(self, env_ids: Tensor, pose: ResetPose) -> None:
        """Put these worlds into a pose. Until they step, their forces and torques are those of before."""

    def place(self, env_ids: Tensor, tiles: Sequence[Tile]) -> None:
        """Lay one tile under each of these worlds. Friction of its own takes hold with `randomize`, which
        follows."""

    def randomize(self, env_ids: Tensor, dynamics: Dynamics) -> None:
        """Give these worlds other masses, drives and friction than the robot was built with."""

    # ---- saving -----------------------------------------------------------------------------------------

    def snapshot(self, env_ids: Tensor | None = None) -> Tensor:
        """Where these worlds are and what drives them, (m, S) in the engine's own terms; not their ground and
        dynamics."""

    def restore(self, snapshot: Tensor, env_ids: Tensor | None = None) -> None:
        """Put these worlds back to where they were; what is read of them is right after their next step."""

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that decides the next step: states, ground and dynamics."""

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on as the worlds would have whose `state_dict` this is."""
