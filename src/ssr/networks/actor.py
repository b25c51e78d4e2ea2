"""The mixture-of-experts actor: a Gaussian whose mean is a gated sum of experts; one std per joint."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ssr.networks.config import NetworkConfig
from ssr.networks.mlp import ParallelMLP, mlp


class MoEActor(nn.Module):
    """Actor observation o^a (n, O) → mean action (n, A). The std does not depend on the state."""

    def __init__(self, observation: int, actions: int, config: NetworkConfig) -> None:
        super().__init__()
        self.std_range = (config.min_std, config.max_std)
        self.experts = ParallelMLP(config.experts, observation, config.expert_hidden, actions)
        self.gate = mlp(observation, config.gate_hidden, config.experts)
        self.std = nn.Parameter(torch.full((actions,), config.initial_std))

    def forward(self, observation: Tensor) -> Tensor:
        share = self.weights(observation).t().unsqueeze(-1)
        return (share * self.experts(observation)).sum(0)

    def weights(self, observation: Tensor) -> Tensor:
        """How much each expert counts, (n, experts), adding up to one."""
        return torch.softmax(self.gate(observation), -1)

    @torch.no_grad()
    def clamp_std_(self) -> None:
        """Keep exploration alive: to be called after every optimizer step (Table 9, minimum policy std)."""
        self.std.clamp_(*self.std_range)
