"""Quaternions of many worlds as tensors; each function as its namesake in `ssr.rotation`."""

from __future__ import annotations

import torch
from torch import Tensor


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """a ∘ b, (m, 4) each."""
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


def rotate(q: Tensor, v: Tensor) -> Tensor:
    """v (m, 3) turned by q (m, 4)."""
    axis = q[:, 1:]
    cross = torch.linalg.cross(axis, v)
    return v + 2.0 * (q[:, :1] * cross + torch.linalg.cross(axis, cross))
