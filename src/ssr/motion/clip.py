"""A clip: one motion of one robot at 50 Hz, joints by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ssr import rotation
from ssr.motion.kinematics import Kinematics
from ssr.motion.quality import Quality
from ssr.motion.targets import FLIP, FPS, mirror_box
from ssr.robots.spec import RobotSpec
from ssr.terrain.tile import Box

Column = Literal["forward", "backward", "turn", "slope", "stairs", "step", "gap", "platform", "stand"]
COLUMNS: tuple[Column, ...] = (
    "forward", "backward", "turn", "slope", "stairs", "step", "gap", "platform", "stand",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Clip:
    """T frames at 50 Hz in the world frame: z up, ground at z = 0 wherever no box lies."""

    name: str
    column: Column  #: which column of Table 11 it fills
    synthetic: bool  #: planned, not recorded
    base_position: np.ndarray  #: (T, 3) m
    base_quaternion: np.ndarray  #: (T, 4)
    joint_position: np.ndarray  #: (T, J) rad, order of `joint_names`
    hand_position: np.ndarray  #: (T, 2, 3) m, base frame, right before left
    foot_position: np.ndarray  #: (T, 2, 3) m, sole centres, base frame
    joint_names: tuple[str, ...]
    quality: Quality
    boxes: tuple[Box, ...] = ()

    @property
    def frames(self) -> int:
        return len(self.base_position)

    @property
    def seconds(self) -> float:
        return self.frames / FPS

    def mirrored(self, robot: RobotSpec) -> Clip:
        """The same motion in the sagittal mirror."""
        rule = robot.joint_mirror
        return replace(
            self,
            name=f"{self.name}_mirrored",
            base_position=self.base_position * FLIP,
            base_quaternion=rotation.mirror(self.base_quaternion),
            joint_position=self.joint_position[:, list(rule.source)] * np.array(rule.sign),
            hand_position=self.hand_position[:, ::-1] * FLIP,
            foot_position=self.foot_position[:, ::-1] * FLIP,
            boxes=tuple(mirror_box(b) for b in self.boxes),
        )

    def base_velocity(self) -> np.ndarray:
        """(T, 3) m/s of the base origin, base axes."""
        return rotation.unrotate(self.base_quaternion, derivative(self.base_position))

    def angular_velocity(self) -> np.ndarray:
        """(T, 3) rad/s of the base, base axes."""
        q = self.base_quaternion
        before, after = np.concatenate((q[:1], q[:-1])), np.concatenate((q[1:], q[-1:]))
        spans = np.full(len(q), 2.0 / FPS)
        spans[[0, -1]] = 1.0 / FPS
        return rotation.to_vector(rotation.multiply(rotation.conjugate(before), after)) / spans[:, None]

    def joint_velocity(self) -> np.ndarray:
        """(T, J) rad/s."""
        return derivative(self.joint_position)

    def gravity(self) -> np.ndarray:
        """(T, 3) unit vector of gravity in base axes."""
        return rotation.unrotate(self.base_quaternion, np.broadcast_to([0.0, 0.0, -1.0], (self.frames, 3)))


def make_clip(
    kinematics: Kinematics,
    configurations: np.ndarray,
    *,
    name: str,
    column: Column,
    synthetic: bool,
    quality: Quality,
    boxes: tuple[Box, ...],
) -> Clip:
    """A clip of (T, nq) `configurations` of the robot's model."""
    position, quaternion = configurations[:, :3], configurations[:, 3:7]
    motion = kinematics.trajectories(configurations)
    local = lambda points: rotation.unrotate(quaternion[:, None], points - position[:, None])
    return Clip(
        name=name,
        column=column,
        synthetic=synthetic,
        base_position=position,
        base_quaternion=quaternion,
        joint_position=configurations[:, kinematics.addresses],
        hand_position=local(motion.hand_position),
        foot_position=local(motion.sole_position),
        joint_names=kinematics.robot.joint_names,
        quality=quality,
        boxes=boxes,
    )


def derivative(x: np.ndarray) -> np.ndarray:
    """Central differences over two control steps, one-sided at the ends."""
    return np.gradient(x, 1.0 / FPS, axis=0)
