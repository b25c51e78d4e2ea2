"""Whether two pieces of state are the same, bit for bit."""

from __future__ import annotations

from typing import Any

import torch


def alike(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in other)
    if isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(other, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and _bits(one) == _bits(other)
    return bool(one == other)


def _bits(tensor: torch.Tensor) -> bytes:
    """What is not a number is like itself."""
    return tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes()
