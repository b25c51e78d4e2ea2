"""Where and how episodes begin: in the default pose with noise, or in a pose of the reference motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
import torch
from numba import njit
from torch import Tensor

from ssr.physics.simulator import ResetPose
from ssr.task.imitation import ReferenceTrack
from ssr.task.rewards import Limits
from ssr.terrain.field import FieldArrays, TerrainField
from ssr.terrain.heights import heights_under

JOINT_NOISE = 0.05  #: rad, uniform about the default pose
YAW_NOISE = 0.2  #: rad, uniform about straight ahead
LATERAL = 0.5  #: m either side of the middle, uniform
CLEARANCE = 0.01  #: m between the soles and the highest ground under them
REACH = (-0.2, -0.1, 0.0, 0.1, 0.2)  #: m along the tile, where the ground is looked at


class References(Protocol):
    """Reference motion for the task: poses to begin in, and how they go on."""

    @property
    def track(self) -> ReferenceTrack:
        """All of the motion."""

    def __call__(self, terrain_type: Tensor, generator: torch.Generator) -> tuple[ResetPose, Tensor]:
        """Poses above flat ground at the origin, heading along +x, for worlds of the given terrain types
        (m,), and the frames (m,) of the track that they are."""


Noise = Callable[
    ..., np.ndarray
]  #: noise(*shape): (m, *shape) float32 uniform in ±1 for the worlds that begin


def default_pose(height: float, limits: Limits, count: int, noise: Noise) -> ResetPose:
    """The default pose, `height` m above flat ground at the origin, with noise on joints and heading."""
    joints = limits.default + JOINT_NOISE * noise(limits.default.size)
    half = YAW_NOISE * noise() / 2
    position, quaternion = np.zeros((count, 3), np.float32), np.zeros((count, 4), np.float32)
    position[:, 2] = height
    quaternion[:, 0], quaternion[:, 3] = np.cos(half), np.sin(half)
    zero = torch.from_numpy(np.zeros((count, 3), np.float32))
    return ResetPose(
        base_position=torch.from_numpy(position),
        base_quaternion=torch.from_numpy(quaternion),
        base_velocity=zero,
        base_angular_velocity=zero,
        joint_position=torch.from_numpy(np.minimum(np.maximum(joints, limits.lower), limits.upper)),
        joint_velocity=torch.from_numpy(np.zeros_like(joints)),
    )


def choose(taken: Tensor, first: ResetPose, second: ResetPose) -> ResetPose:
    """`first` where `taken` (m,), else `second`."""
    pairs = {name: (getattr(first, name), value) for name, value in vars(second).items()}
    return ResetPose(**{name: torch.where(taken[:, None], a, b) for name, (a, b) in pairs.items()})


def set_down(
    pose: ResetPose, env_ids: Tensor, field: TerrainField, backwards: np.ndarray, lateral: np.ndarray
) -> ResetPose:
    """Move poses given above flat ground at the origin to their tiles' start, or far end if `backwards`."""
    position = pose.base_position.numpy().copy()
    _set_down(env_ids.numpy(), backwards, lateral, tuple(field.arrays), position)
    return replace(pose, base_position=torch.from_numpy(position))


@njit(cache=True, nogil=True)
def _set_down(worlds, backwards, lateral, ground, position):
    tile = FieldArrays(*ground)
    points, heights = np.empty((len(REACH), 2), np.float32), np.empty(len(REACH), np.float32)
    for k in range(len(worlds)):
        i = worlds[k]
        x = tile.length[i] - tile.start[i] if backwards[k] else tile.start[i]
        for j in range(len(REACH)):
            points[j, 0] = x + REACH[j]
        points[:, 1] = lateral[k]
        heights_under(tile.facets[i], tile.facet_count[i], points, heights)
        position[k, 0] = x
        position[k, 1] = lateral[k]
        position[k, 2] += heights.max() + CLEARANCE
