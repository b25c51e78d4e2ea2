"""Generalised advantage estimation, one reward stream at a time."""

from __future__ import annotations

import torch
from torch import Tensor


def advantages(
    rewards: Tensor,
    values: Tensor,
    last_value: Tensor,
    ended: Tensor,
    *,
    discount: float,
    trace: float,
) -> Tensor:
    """GAE(γ, λ) of one stream: (T, n).

    rewards, values, ended: (T, n); last_value: (n,) of the state after the last step.
    Where an episode was cut by time, `rewards` already holds the discounted value of the state reached.
    """
    alive = 1.0 - ended.to(rewards.dtype)
    next_values = torch.cat((values[1:], last_value.unsqueeze(0)))
    errors = rewards + discount * alive * next_values - values
    out = torch.empty_like(rewards)
    running = torch.zeros_like(last_value)
    for t in range(len(rewards) - 1, -1, -1):
        running = errors[t] + discount * trace * alive[t] * running
        out[t] = running
    return out
