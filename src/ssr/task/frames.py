"""Turns about the vertical, and angles."""

from __future__ import annotations

from math import atan2, cos, sin

import torch
from torch import Tensor

from ssr.per_world import compiled


def to_yaw(yaw: Tensor, vector: Tensor) -> Tensor:
    """World vectors (*shape, ..., ≥2) with their x and y in the frames turned by `yaw` (*shape) about z."""
    shape = yaw.shape + (1,) * (vector.ndim - 1 - yaw.ndim)
    c, s = torch.cos(yaw).view(shape), torch.sin(yaw).view(shape)
    x, y = vector[..., 0], vector[..., 1]
    turned = torch.stack((c * x + s * y, c * y - s * x), dim=-1)
    return torch.cat([turned, vector[..., 2:]], dim=-1)


@compiled
def into_yaw(yaw, x, y):
    """`to_yaw` of one vector, for rules."""
    c, s = cos(yaw), sin(yaw)
    return c * x + s * y, c * y - s * x


@compiled
def wrap(angle):
    """Into (-π, π], for rules."""
    return atan2(sin(angle), cos(angle))
