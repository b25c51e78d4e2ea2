"""Height maps around the base (H^b) and under the feet (H^f): where they sample, how heights are written."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ssr.kept import kept
from ssr.robots.spec import Sole
from ssr.symmetry.vectors import BASE_MAP, FOOT_MAP
from ssr.terrain.field import TerrainField
from ssr.terrain.heights import heights_under

BASE_X = (-0.5, 1.2)  #: m, rows of H^b
BASE_Y = (-0.45, 0.45)  #: m, columns of H^b
CLIP = 1.0  #: m


@cache
def base_offsets() -> np.ndarray:
    """(180, 2) m, sample points of H^b from the base, along it."""
    x = torch.linspace(*BASE_X, BASE_MAP[0])
    y = torch.linspace(*BASE_Y, BASE_MAP[1])
    return torch.stack(torch.meshgrid(x, y, indexing="ij"), dim=-1).view(-1, 2).numpy()


@cache
def foot_offsets(sole: Sole) -> np.ndarray:
    """(50, 2) m, sample points of one H^f from the sole's centre, along the foot."""
    return np.array(sole.offsets(*FOOT_MAP), dtype=np.float32).reshape(-1, 2)


class Samples(NamedTuple):
    """Where and against what one world's maps are taken."""

    base: np.ndarray  #: (180, 2) `base_offsets`
    foot: np.ndarray  #: (50, 2) `foot_offsets`
    drop: float  #: m from the base down to the reference of H^b
    points: np.ndarray  #: (280, 2) room for the sample points


def samples_of(sole: Sole, drop: float) -> Samples:
    base, foot = base_offsets(), foot_offsets(sole)
    points = np.empty((len(base) + 2 * len(foot), 2), dtype=np.float32)
    return Samples(base=base, foot=foot, drop=drop, points=points)


def among_obstacles(base_position: Tensor, field: TerrainField) -> Tensor:
    """(n,) bool: H^b of a robot at base_position (n, 3) lies between its tile's first and last edge."""
    ahead = base_position[:, 0]
    return (ahead + BASE_X[0] > field.first_edge) & (ahead + BASE_X[1] < field.last_edge)


def base_map_points(base_position: Tensor, yaw: Tensor) -> Tensor:
    """(n, 180, 2) sample points of H^b in the tile frame."""
    return _points(base_offsets(), base_position, yaw)


def foot_map_points(sole_position: Tensor, yaw: Tensor, sole: Sole) -> Tensor:
    """(n, 2, 50, 2) sample points of H^f in the tile frame, on the sole centres, along the feet."""
    points = _points(foot_offsets(sole), sole_position.flatten(0, 1), yaw.flatten())
    return points.view(*yaw.shape, -1, 2)


def _points(offsets: np.ndarray, center: Tensor, yaw: Tensor) -> Tensor:
    """Offsets (p, 2) turned by each yaw (n,) and moved to each center (n, ≥2): (n, p, 2)."""
    out = torch.empty(len(yaw), len(offsets), 2)
    for k in range(len(yaw)):
        _turn(offsets, center[k].numpy(), float(yaw[k]), out[k].numpy())
    return out


@kept()
def _turn(offsets, center, yaw, out):
    """Offsets (p, 2) turned by yaw and moved to the center."""
    c, s = np.float32(np.cos(yaw)), np.float32(np.sin(yaw))
    for j in range(len(offsets)):
        x, y = offsets[j, 0], offsets[j, 1]
        out[j, 0] = center[0] + c * x - s * y
        out[j, 1] = center[1] + s * x + c * y


@kept()
def depth_below(reference: float, height: float) -> float:
    """clip(z_ref - h, -1, 1) in metres; the layout's scale brings it to the network."""
    return min(max(reference - height, -CLIP), CLIP)


@kept(error_model="numpy")
def maps_of(facets, count, base, yaw, sole, sole_yaw, samples, out):
    """H^b and both H^f of one world into out (280,), as depths below their references, m; for kernels.

    base (3,), yaw: of the base. sole (2, 3): the references of H^f; sole_yaw (2,). samples: a `Samples`, as a
    plain tuple.
    """
    at = Samples(*samples)
    split, size = len(at.base), len(at.foot)
    _turn(at.base, base, yaw, at.points[:split])
    for s in range(2):
        _turn(at.foot, sole[s], sole_yaw[s], at.points[split + s * size :])
    heights_under(facets, count, at.points, out)
    for j in range(split):
        out[j] = depth_below(base[2] - at.drop, out[j])
    for j in range(2 * size):
        out[split + j] = depth_below(sole[j // size, 2], out[split + j])
