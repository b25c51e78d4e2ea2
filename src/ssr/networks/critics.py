"""One critic per reward stream: separate networks, computed side by side."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ssr.networks.config import NetworkConfig
from ssr.networks.mlp import ParallelMLP
from ssr.symmetry.layout import Layout
from ssr.symmetry.structure import MirrorMap


class Critics(nn.Module):
    """Privileged state s (n, S) → {stream: value (n,)}. Dropping a stream drops its critic.

    layout: of the state. With it, what the mirror image is worth counts as much.
    """

    def __init__(self, state: int, config: NetworkConfig, layout: Layout | None = None) -> None:
        super().__init__()
        self.mirror = None if layout is None else MirrorMap(layout)
        self.streams = config.streams
        self.networks = ParallelMLP(len(config.streams), state, config.critic_hidden, 1)

    def forward(self, state: Tensor) -> dict[str, Tensor]:
        if self.mirror is None:
            values = self.networks(state).squeeze(-1)
        else:
            both = self.networks(torch.cat((state, self.mirror(state)), -2)).squeeze(-1)
            values = both.float().unflatten(-1, (2, -1)).mean(-2)
        return dict(zip(self.streams, values.unbind(0), strict=True))
