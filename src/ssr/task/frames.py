"""Rotations the task needs, on batched tensors. Quaternions are w x y z."""

from __future__ import annotations

import torch
from torch import Tensor


def yaw_of(quaternion: Tensor) -> Tensor:
    w, x, y, z = quaternion.unbind(-1)
    return torch.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def to_yaw(yaw: Tensor, vector: Tensor) -> Tensor:
    """World vectors (n, ..., ≥2) with their x and y in the frame turned by `yaw` (n,) about z."""
    shape = (yaw.shape[0],) + (1,) * (vector.ndim - 2)
    c, s = torch.cos(yaw).view(shape), torch.sin(yaw).view(shape)
    x, y = vector[..., 0], vector[..., 1]
    turned = torch.stack([c * x + s * y, c * y - s * x], dim=-1)
    return torch.cat([turned, vector[..., 2:]], dim=-1)


def wrap(angle: Tensor) -> Tensor:
    """Into (-π, π]."""
    return torch.atan2(torch.sin(angle), torch.cos(angle))


def yaw_quaternion(yaw: Tensor) -> Tensor:
    zero = torch.zeros_like(yaw)
    return torch.stack([torch.cos(yaw / 2), zero, zero, torch.sin(yaw / 2)], dim=-1)
