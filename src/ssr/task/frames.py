"""Turns about the vertical, and angles."""

from __future__ import annotations

import math

import torch
from numba import njit
from torch import Tensor


def to_yaw(yaw: Tensor, vector: Tensor) -> Tensor:
    """World vectors (*shape, ..., ≥2) with their x and y in the frames turned by `yaw` (*shape) about z."""
    shape = yaw.shape + (1,) * (vector.ndim - 1 - yaw.ndim)
    c, s = torch.cos(yaw).view(shape), torch.sin(yaw).view(shape)
    turned = torch.stack(_into(c, s, vector[..., 0], vector[..., 1]), dim=-1)
    return torch.cat([turned, vector[..., 2:]], dim=-1)


def _into(c, s, x, y):
    """x and y in a frame turned by an angle with cosine c and sine s; of numbers or tensors."""
    return c * x + s * y, c * y - s * x


_into_one = njit(cache=True, nogil=True, inline="always")(_into)


@njit(cache=True, nogil=True)
def into_yaw(yaw: float, x: float, y: float) -> tuple[float, float]:
    """`to_yaw` of one vector, for kernels."""
    return _into_one(math.cos(yaw), math.sin(yaw), x, y)


@njit(cache=True, nogil=True)
def wrap(angle: float) -> float:
    """Into (-π, π], for kernels."""
    return math.atan2(math.sin(angle), math.cos(angle))
