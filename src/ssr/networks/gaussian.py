"""Diagonal Gaussians over actions, as plain functions of mean (..., A) and std (A,) or (..., A)."""

from __future__ import annotations

from math import log, pi

import torch
from torch import Tensor


def log_probability(action: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """log N(action; mean, diag(std²)), (...,)."""
    z = (action - mean) / std
    return (-0.5 * z.square() - torch.log(std) - 0.5 * log(2.0 * pi)).sum(-1)


def entropy(std: Tensor) -> Tensor:
    """Of N(·, diag(std²)) in nats."""
    return (torch.log(std) + 0.5 + 0.5 * log(2.0 * pi)).sum(-1)


def divergence(old_mean: Tensor, old_std: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """KL(old ‖ new), (...,)."""
    spread = (old_std.square() + (old_mean - mean).square()) / (2.0 * std.square())
    return (torch.log(std / old_std) + spread - 0.5).sum(-1)
