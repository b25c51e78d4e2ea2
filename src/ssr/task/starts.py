"""Where and how episodes begin: in the default pose with noise, or in a pose of the reference motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from ssr.per_world import per_world, single
from ssr.physics.simulator import ResetPose
from ssr.task.imitation import ReferenceTrack
from ssr.task.rewards import Limits
from ssr.terrain.field import PIT, FieldArrays, TerrainField
from ssr.terrain.ground import APRON
from ssr.terrain.heights import height_over
from ssr.terrain.tile import ABYSS

JOINT_NOISE = 0.05  #: rad, uniform about the default pose
YAW_NOISE = 0.2  #: rad, uniform about straight ahead
LATERAL = 0.5  #: m either side of the middle, uniform
FOOTING = 0.3  #: m before and behind who begins between pits that must be ground
CLEARANCE = 0.01  #: m between the soles and the highest ground under them
FARTHEST, PROBES = 0.2, 5  #: m either way along the tile, and at how many points, the ground is looked at
REACH = tuple(FARTHEST * (2 * k / (PROBES - 1) - 1) for k in range(PROBES))  #: these points, m


class References(Protocol):
    """Reference motion for the task: poses to begin in, and how they go on."""

    @property
    def track(self) -> ReferenceTrack:
        """All of the motion."""

    def __call__(self, terrain_type: Tensor, generator: torch.Generator) -> tuple[ResetPose, Tensor]:
        """Poses above flat ground at the origin, heading along +x, for worlds of the given terrain types
        (m,), and where they are going (m, 3): m/s ahead and to the left, rad/s to the left."""

    def beside(self, terrain_type: Tensor, chance: Tensor) -> Tensor:
        """(m, c) frames near edges for worlds of these terrain types, from draws (m, c); -1: none."""

    def at(self, frame: Tensor) -> tuple[ResetPose, Tensor]:
        """The poses in these frames (m,), likewise."""


Noise = Callable[
    ..., np.ndarray
]  #: noise(*shape): (m, *shape) float32 uniform in ±1 for the worlds that begin


def default_pose(height: float, limits: Limits, count: int, noise: Noise) -> ResetPose:
    """The default pose, `height` m above flat ground at the origin, with noise on joints and heading."""
    joints = limits.default_position + JOINT_NOISE * noise(limits.default_position.size)
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


def noisy_pose(height: float, limits: Limits, noise: Callable[..., Tensor]) -> ResetPose:
    """`default_pose` where the noise is, whose tensors are (n, *shape)."""
    default, lower, upper = map(torch.as_tensor, limits[:3])
    joints = default + JOINT_NOISE * noise(len(default))
    half = YAW_NOISE * noise() / 2
    nothing = torch.zeros_like(half)
    zero = nothing.unsqueeze(-1).expand(-1, 3)
    return ResetPose(
        base_position=torch.stack((nothing, nothing, nothing + height), -1),
        base_quaternion=torch.stack((half.cos(), nothing, nothing, half.sin()), -1),
        base_velocity=zero,
        base_angular_velocity=zero,
        joint_position=torch.minimum(torch.maximum(joints, lower), upper),
        joint_velocity=torch.zeros_like(joints),
    )


def choose(taken: Tensor, first: ResetPose, second: ResetPose) -> ResetPose:
    """`first` where `taken` (m,), else `second`."""
    pairs = {name: (getattr(first, name), value) for name, value in vars(second).items()}
    return ResetPose(**{name: torch.where(taken[:, None], a, b) for name, (a, b) in pairs.items()})


def set_down(
    pose: ResetPose,
    env_ids: Tensor,
    field: TerrainField,
    backwards: np.ndarray,
    roaming: np.ndarray,
    onward: np.ndarray,
    lateral: np.ndarray,
) -> ResetPose:
    """Move poses given above flat ground at the origin to their tiles' start, or far end if `backwards`, or
    to the middle of the apron if `roaming`; `onward` as in `put_down`."""
    position = pose.base_position.numpy().copy()
    put_down(env_ids.numpy(), backwards, roaming, onward, lateral, field.arrays, position)
    return replace(pose, base_position=torch.from_numpy(position))


def midway(share: float, chance: Any, place: Any) -> Any:
    """`onward` of `put_down` (m,): for a share of the episodes anywhere, for the others at the start, from
    two draws (m,) uniform in 0..1."""
    return place * (chance < share)


@per_world(None, None, None, None, FieldArrays)
def put_down(backwards, roaming, onward, lateral, tile, position, i, k):
    """Move a pose in position (m, 3) from above the origin to where it begins, `lateral` (m,) m aside and
    `onward` (m,) of the way from the tile's start to the middle of its obstacles, but not above a pit."""
    x = tile.length[i] - tile.start[i] if backwards[k] else tile.start[i]
    y = lateral[k]
    if onward[k] > 0.0 and not backwards[k]:
        ahead = single(x + onward[k] * (0.5 * (tile.first_edge[i] + tile.last_edge[i]) - x))
        lowest = float(-ABYSS)
        for j in range(PROBES):
            probe = single(ahead + FOOTING * (2.0 * float(j) / float(PROBES - 1) - 1.0))
            lowest = min(lowest, height_over(tile.facets, tile.facet_count[i], i, probe, y))
        if int(tile.has_pits[i]) == 0 or lowest > -PIT:
            x = ahead
    if roaming[k]:
        x = tile.length[i] + single(APRON / 2.0)
    highest = float(ABYSS)
    for j in range(PROBES):
        ahead = single(x + FARTHEST * (2.0 * float(j) / float(PROBES - 1) - 1.0))
        highest = max(highest, height_over(tile.facets, tile.facet_count[i], i, ahead, y))
    position[k, 0] = x
    position[k, 1] = y
    position[k, 2] = position[k, 2] + (highest + CLEARANCE)
