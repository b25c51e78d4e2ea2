"""Height maps around the base (H^b) and under the feet (H^f): where they sample, how heights are written."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from numba import njit
from torch import Tensor

from ssr.robots.spec import Sole
from ssr.symmetry.vectors import BASE_MAP, FOOT_MAP
from ssr.terrain.field import TerrainField
from ssr.terrain.heights import heights_under

BASE_X = (-0.5, 1.2)  #: m, rows of H^b
BASE_Y = (-0.45, 0.45)  #: m, columns of H^b
CLIP = 1.0  #: m


@cache
def _base_offsets() -> np.ndarray:
    x = torch.linspace(*BASE_X, BASE_MAP[0])
    y = torch.linspace(*BASE_Y, BASE_MAP[1])
    return torch.stack(torch.meshgrid(x, y, indexing="ij"), dim=-1).view(-1, 2).numpy()


@cache
def _foot_offsets(sole: Sole) -> np.ndarray:
    return np.array(sole.offsets(*FOOT_MAP), dtype=np.float32).reshape(-1, 2)


def base_map_points(base_position: Tensor, yaw: Tensor) -> Tensor:
    """(n, 180, 2) sample points of H^b in the tile frame."""
    return _points(_base_offsets(), base_position, yaw)


def foot_map_points(sole_position: Tensor, yaw: Tensor, sole: Sole) -> Tensor:
    """(n, 2, 50, 2) sample points of H^f in the tile frame, on the sole centres, along the feet."""
    points = _points(_foot_offsets(sole), sole_position.flatten(0, 1), yaw.flatten())
    return points.view(*yaw.shape, -1, 2)


def height_maps(
    field: TerrainField,
    env_ids: Tensor,
    base: tuple[np.ndarray, np.ndarray, float],
    soles: tuple[np.ndarray, np.ndarray, Sole],
) -> tuple[np.ndarray, np.ndarray]:
    """H^b (m, 180) and both H^f (m, 100) of these (m,) worlds, as depths below their references, m.

    base: position (m, 3), yaw (m,) and how far below the base the reference of H^b lies. soles: positions
    (m, 2, 3), the references of H^f, yaws (m, 2) and the shape of a sole. CPU only.
    """
    position, yaw, drop = base
    sole_position, sole_yaw, sole = soles
    offsets, foot_offsets = _base_offsets(), _foot_offsets(sole)
    out = np.empty((len(yaw), len(offsets) + 2 * len(foot_offsets)), np.float32)
    _height_maps(
        field.facets.numpy(), field.facet_count.numpy(), env_ids.numpy(),
        position, yaw, drop, offsets, sole_position, sole_yaw, foot_offsets, out,
    )  # fmt: skip
    return out[:, : len(offsets)], out[:, len(offsets) :]


def _points(offsets: np.ndarray, center: Tensor, yaw: Tensor) -> Tensor:
    """Offsets (p, 2) turned by each yaw (n,) and moved to each center (n, ≥2): (n, p, 2)."""
    out = torch.empty(len(yaw), len(offsets), 2)
    for k in range(len(yaw)):
        _turn(offsets, center[k].numpy(), float(yaw[k]), out[k].numpy())
    return out


@njit(cache=True, nogil=True)
def _turn(offsets, center, yaw, out):
    """Offsets (p, 2) turned by yaw and moved to the center."""
    c, s = np.float32(np.cos(yaw)), np.float32(np.sin(yaw))
    for j in range(len(offsets)):
        x, y = offsets[j, 0], offsets[j, 1]
        out[j, 0] = center[0] + c * x - s * y
        out[j, 1] = center[1] + s * x + c * y


@njit(cache=True, nogil=True)
def depth_below(reference: float, height: float) -> float:
    """clip(z_ref - h, -1, 1) in metres; the layout's scale brings it to the network."""
    return min(max(reference - height, -CLIP), CLIP)


@njit(cache=True, nogil=True, error_model="numpy")
def _height_maps(facets, count, worlds, base, yaw, drop, offsets, sole, sole_yaw, foot_offsets, out):
    """One row of `out` per world: the map around its base, then those under its right and left sole."""
    split, size = len(offsets), len(foot_offsets)
    points = np.empty((split + 2 * size, 2), dtype=np.float32)
    heights = np.empty(split + 2 * size, dtype=np.float32)
    for k in range(len(worlds)):
        _turn(offsets, base[k], yaw[k], points[:split])
        for s in range(2):
            _turn(foot_offsets, sole[k, s], sole_yaw[k, s], points[split + s * size :])
        heights_under(facets[worlds[k]], count[worlds[k]], points, heights)
        for j in range(split):
            out[k, j] = depth_below(base[k, 2] - drop, heights[j])
        for j in range(2 * size):
            out[k, split + j] = depth_below(sole[k, j // size, 2], heights[split + j])
