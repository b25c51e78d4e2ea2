"""Rotations the task needs, on batched tensors. Quaternions are w x y z."""

from __future__ import annotations

import torch
from torch import Tensor


def to_base(quaternion: Tensor, vector: Tensor) -> Tensor:
    """World vectors (n, ..., 3) in the frames of `quaternion` (n, 4)."""
    shape = (quaternion.shape[0],) + (1,) * (vector.ndim - 2)
    w = quaternion[:, 0].view(*shape, 1)
    u = -quaternion[:, 1:].view(*shape, 3)
    cross = torch.linalg.cross(u.expand_as(vector), vector)
    return vector + 2.0 * (w * cross + torch.linalg.cross(u.expand_as(vector), cross))


def projected_gravity(quaternion: Tensor) -> Tensor:
    """The unit gravity vector in the base frame, (n, 3)."""
    w, x, y, z = quaternion.unbind(-1)
    return torch.stack([2 * (w * y - x * z), -2 * (w * x + y * z), 2 * (x * x + y * y) - 1], dim=-1)


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


def from_yaw(yaw: Tensor, vector: Tensor) -> Tensor:
    return to_yaw(-yaw, vector)


def wrap(angle: Tensor) -> Tensor:
    """Into (-π, π]."""
    return torch.atan2(torch.sin(angle), torch.cos(angle))


def yaw_quaternion(yaw: Tensor) -> Tensor:
    zero = torch.zeros_like(yaw)
    return torch.stack([torch.cos(yaw / 2), zero, zero, torch.sin(yaw / 2)], dim=-1)


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """Hamilton product of quaternions (n, 4)."""
    aw, ax, ay, az = a.unbind(-1)
    bw, bx, by, bz = b.unbind(-1)
    return torch.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        dim=-1,
    )
