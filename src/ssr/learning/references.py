"""Reference motion for a run: windows for the discriminators, poses to begin episodes in."""

from __future__ import annotations

import torch
from torch import Tensor

from ssr.motion.dataset import MotionDataset
from ssr.physics.simulator import ResetPose
from ssr.terrain.settings import TERRAIN_TYPES


class ReferenceStarts:
    """Draws start poses above flat ground at the origin, heading along +x, by terrain type."""

    def __init__(self, motion: MotionDataset) -> None:
        self.motion = motion

    def __call__(self, terrain_type: Tensor, generator: torch.Generator) -> ResetPose:
        """terrain_type (m,), index into TERRAIN_TYPES."""
        order = torch.argsort(terrain_type, stable=True)
        counts = torch.bincount(terrain_type, minlength=len(TERRAIN_TYPES)).tolist()
        drawn = [
            self.motion.reset_states(name, count, generator)
            for name, count in zip(TERRAIN_TYPES, counts, strict=True)
            if count
        ]
        back = torch.argsort(order)

        def gather(field: str) -> Tensor:
            return torch.cat([getattr(states, field) for states in drawn])[back]

        position = torch.zeros(len(terrain_type), 3)
        position[:, 2] = gather("base_height")
        return ResetPose(
            base_position=position,
            base_quaternion=gather("base_quaternion"),
            base_velocity=gather("base_velocity"),
            base_angular_velocity=gather("base_angular_velocity"),
            joint_position=gather("joint_position"),
            joint_velocity=gather("joint_velocity"),
        )
