"""One critic per reward stream: separate networks, computed side by side."""

from __future__ import annotations

from torch import Tensor, nn

from ssr.networks.config import NetworkConfig
from ssr.networks.mlp import ParallelMLP


class Critics(nn.Module):
    """Privileged state s (n, S) → {stream: value (n,)}. Dropping a stream drops its critic."""

    def __init__(self, state: int, config: NetworkConfig) -> None:
        super().__init__()
        self.streams = config.streams
        self.networks = ParallelMLP(len(config.streams), state, config.critic_hidden, 1)

    def forward(self, state: Tensor) -> dict[str, Tensor]:
        return dict(zip(self.streams, self.networks(state).squeeze(-1).unbind(0), strict=True))
