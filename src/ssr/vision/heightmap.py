"""Height maps around the base (H^b) and under the feet (H^f): where they sample, how heights are written."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from ssr.robots.spec import Sole
from ssr.symmetry.vectors import BASE_MAP, FOOT_MAP

BASE_X = (-0.5, 1.2)  #: m, rows of H^b
BASE_Y = (-0.45, 0.45)  #: m, columns of H^b
CLIP = 1.0  #: m


@cache
def _base_offsets() -> Tensor:
    x = torch.linspace(*BASE_X, BASE_MAP[0])
    y = torch.linspace(*BASE_Y, BASE_MAP[1])
    return torch.stack(torch.meshgrid(x, y, indexing="ij"), dim=-1).view(-1, 2)


@cache
def _foot_offsets(sole: Sole) -> Tensor:
    return torch.tensor(sole.offsets(*FOOT_MAP), dtype=torch.float32).view(-1, 2)


def turned(offsets: Tensor, center: Tensor, yaw: Tensor) -> Tensor:
    """Offsets (p, 2) turned by yaw (...,) and moved to center (..., 2): (..., p, 2)."""
    c, s = torch.cos(yaw)[..., None], torch.sin(yaw)[..., None]
    x, y = offsets.unbind(-1)
    return torch.stack([center[..., 0, None] + c * x - s * y, center[..., 1, None] + s * x + c * y], dim=-1)


def base_map_points(base_position: Tensor, yaw: Tensor) -> Tensor:
    """(n, 180, 2) sample points of H^b in the tile frame."""
    return turned(_base_offsets(), base_position[:, :2], yaw)


def foot_map_points(sole_position: Tensor, yaw: Tensor, sole: Sole) -> Tensor:
    """(n, 2, 50, 2) sample points of H^f in the tile frame, on the sole centres, along the feet."""
    return turned(_foot_offsets(sole), sole_position[..., :2], yaw)


def depth_below(reference: Tensor, heights: Tensor) -> Tensor:
    """clip(z_ref - h, -1, 1) in metres; the layout's scale brings it to the network."""
    return (reference - heights).clamp(-CLIP, CLIP)
