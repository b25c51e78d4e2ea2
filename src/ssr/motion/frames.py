"""The AMP frame: one definition for reference motion and for the policy's own motion."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ssr.motion import ground, rotation
from ssr.motion.clip import Clip
from ssr.symmetry.layout import Layout

WINDOW = 5  #: frames of ψ
STRIDE = 2  #: control steps between them, 0.04 s


def amp_frame(layout: Layout, **quantities: Tensor) -> Tensor:
    """(..., 63) from one tensor (..., size) per segment of `layout`, times the segment's scale.

    SI units, base frame: gravity (unit vector), base_velocity, angular_velocity, joint_position (absolute),
    joint_velocity, hand_position and foot_position (right, left; relative to the base origin).
    """
    parts = []
    for segment in layout:
        value = quantities.pop(segment.name)
        scale = segment.scale
        parts.append(value if scale == 1.0 else value * value.new_tensor(scale))
    if quantities:
        raise ValueError(f"not in the AMP frame: {sorted(quantities)}")
    return torch.cat(parts, dim=-1)


def support_height(clip: Clip) -> np.ndarray:
    """(T,) height of the base above the ground plane or, among boxes, the higher ground of its soles."""
    if not clip.boxes:
        return clip.base_position[:, 2]
    soles = clip.base_position[:, None] + rotation.rotate(clip.base_quaternion[:, None], clip.foot_position)
    under = ground.height(clip.boxes, soles[..., :2])
    return clip.base_position[:, 2] - under.max(1)
