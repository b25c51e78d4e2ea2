"""The AMP frames of reference motion."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ssr import rotation
from ssr.motion import ground
from ssr.motion.clip import Clip
from ssr.robots.spec import RobotSpec
from ssr.symmetry.filling import vectors_of
from ssr.symmetry.vectors import layouts

WINDOW = 5  #: frames of ψ
STRIDE = 2  #: control steps between them, 0.04 s


def amp_frames(robot: RobotSpec, clip: Clip) -> Tensor:
    """(T, 63) the frames of a clip: filled as those of a simulated robot, from the same quantities.

    A clip has no velocities of its own; they are central differences over two control steps.
    """
    facts = {
        "gravity": clip.gravity(),
        "local_velocity": clip.base_velocity(),
        "base_angular_velocity": clip.angular_velocity(),
        "joint_position": clip.joint_position,
        "joint_velocity": clip.joint_velocity(),
        "local_hand_position": clip.hand_position,
        "local_sole_position": clip.foot_position,
    }
    return torch.from_numpy(vectors_of(layouts(robot).amp, facts))


def support_height(clip: Clip) -> np.ndarray:
    """(T,) height of the base above the ground plane or, among boxes, the higher ground of its soles."""
    if not clip.boxes:
        return clip.base_position[:, 2]
    soles = clip.base_position[:, None] + rotation.rotate(clip.base_quaternion[:, None], clip.foot_position)
    under = ground.height(clip.boxes, soles[..., :2])
    return clip.base_position[:, 2] - under.max(1)
