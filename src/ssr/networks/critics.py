"""One critic per reward stream: separate networks, computed side by side."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ssr.networks.config import NetworkConfig
from ssr.networks.mirrored import MirrorMap
from ssr.networks.mlp import ParallelMLP
from ssr.symmetry.layout import Layout


class Critics(nn.Module):
    """Privileged state s (n, S) → {stream: value (n,)}. Dropping a stream drops its critic.

    mirrored: layout of the state; what its mirror image is worth then counts as much.
    """

    def __init__(self, state: int, config: NetworkConfig, mirrored: Layout | None = None) -> None:
        super().__init__()
        self.mirror = None if mirrored is None else MirrorMap(mirrored)
        self.streams = config.streams
        self.networks = ParallelMLP(len(config.streams), state, config.critic_hidden, 1)

    def forward(self, state: Tensor) -> dict[str, Tensor]:
        if self.mirror is None:
            values = self.networks(state).squeeze(-1)
        else:
            values = self.networks(torch.cat((state, self.mirror(state)))).squeeze(-1)
            values = 0.5 * torch.stack(values.chunk(2, -1)).sum(0)
        return dict(zip(self.streams, values.unbind(0), strict=True))
