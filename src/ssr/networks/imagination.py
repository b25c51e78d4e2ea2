"""The foothold imagination model (§3.2): where each foot will touch down next, and how surely."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ssr.networks.config import NetworkConfig
from ssr.networks.mlp import mlp


class ImaginedFootholds(NamedTuple):
    """A round Gaussian per foot, [right, left], in the yaw-aligned base frame, metres."""

    mean: Tensor  #: μ̂, (n, 2, 2)
    std: Tensor  #: σ̂, (n, 2)


STD_RANGE = (0.01, 0.25)  #: m, open interval


class FootholdImagination(nn.Module):
    """Privileged state s (n, S) and action (n, A) → imagined footholds."""

    def __init__(self, state: int, actions: int, config: NetworkConfig) -> None:
        super().__init__()
        self.std_range = STD_RANGE
        self.layers = mlp(state + actions, config.imagination_hidden, 6)

    def forward(self, state: Tensor, action: Tensor) -> ImaginedFootholds:
        feet = self.layers(torch.cat((state, action), -1)).unflatten(-1, (2, 3))
        low, high = self.std_range
        return ImaginedFootholds(feet[..., :2], low + (high - low) * torch.sigmoid(feet[..., 2]))
