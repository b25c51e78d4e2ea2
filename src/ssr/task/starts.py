"""Where and how episodes begin: in the default pose with noise, or in a pose of the reference motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ssr.physics.simulator import ResetPose
from ssr.task.config import TaskConfig
from ssr.task.frames import yaw_quaternion
from ssr.task.rewards import Limits
from ssr.terrain.field import TerrainField

CLEARANCE = 0.01  #: m between the soles and the highest ground under them
REACH = (-0.2, -0.1, 0.0, 0.1, 0.2)  #: m along the tile, where the ground is looked at

ReferenceSampler = Callable[[Tensor, torch.Generator], ResetPose]
"""Poses above flat ground at the origin, heading along +x, for worlds of the given terrain types."""
Noise = Callable[..., Tensor]  #: noise(*shape): (m, *shape) uniform in ±1 for the worlds that begin


def default_pose(height: float, limits: Limits, count: int, config: TaskConfig, noise: Noise) -> ResetPose:
    """The default pose, `height` m above flat ground at the origin, with noise on joints and heading."""
    joints = limits.default + config.start_joint_noise * noise(len(limits.default))
    zero = torch.zeros(count, 3)
    return ResetPose(
        base_position=torch.tensor([0.0, 0.0, height]).repeat(count, 1),
        base_quaternion=yaw_quaternion(config.start_yaw_noise * noise()),
        base_velocity=zero,
        base_angular_velocity=zero,
        joint_position=joints.clamp(limits.lower, limits.upper),
        joint_velocity=torch.zeros_like(joints),
    )


def choose(taken: Tensor, first: ResetPose, second: ResetPose) -> ResetPose:
    """`first` where `taken` (m,), else `second`."""
    pairs = {name: (getattr(first, name), value) for name, value in vars(second).items()}
    return ResetPose(**{name: torch.where(taken[:, None], a, b) for name, (a, b) in pairs.items()})


def set_down(
    pose: ResetPose, env_ids: Tensor, field: TerrainField, backwards: Tensor, lateral: Tensor
) -> ResetPose:
    """Move poses given above flat ground at the origin to their tiles' start, or far end if `backwards`."""
    length, start = field.length[env_ids], field.start[env_ids]
    x = torch.where(backwards, length - start, start)
    points = torch.zeros(field.num_envs, len(REACH), 2)
    points[env_ids, :, 0] = x[:, None] + torch.tensor(REACH)
    points[env_ids, :, 1] = lateral[:, None]
    ground = field.heights(points)[env_ids].amax(-1)
    return replace(
        pose, base_position=torch.stack([x, lateral, ground + pose.base_position[:, 2] + CLEARANCE], -1)
    )
