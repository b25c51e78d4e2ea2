"""The mixture-of-experts actor: a Gaussian whose mean is a gated sum of experts; one std per joint."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ssr.networks.config import NetworkConfig
from ssr.networks.mirrored import MirrorMap
from ssr.networks.mlp import ParallelMLP, mlp
from ssr.symmetry.layout import Layout


class MoEActor(nn.Module):
    """Actor observation o^a (n, O) → mean action (n, A). The std does not depend on the state.

    mirrored: layouts of observation and action; what the mirrored robot would do then counts as much.
    """

    def __init__(
        self,
        observation: int,
        actions: int,
        config: NetworkConfig,
        mirrored: tuple[Layout, Layout] | None = None,
    ) -> None:
        super().__init__()
        self.mirrors = nn.ModuleList(MirrorMap(layout) for layout in mirrored or ())
        self.std_range = (config.min_std, config.max_std)
        self.experts = ParallelMLP(config.experts, observation, config.expert_hidden, actions)
        self.gate = mlp(observation, config.gate_hidden, config.experts)
        self.std = nn.Parameter(torch.full((actions,), config.initial_std))

    def forward(self, observation: Tensor) -> Tensor:
        if not self.mirrors:
            return self._mean(observation)
        of_observation, of_action = self.mirrors
        mean, mirrored = self._mean(torch.cat((observation, of_observation(observation)))).chunk(2)
        return 0.5 * (mean + of_action(mirrored))

    def _mean(self, observation: Tensor) -> Tensor:
        share = self.weights(observation).t().unsqueeze(-1)
        return (share * self.experts(observation)).sum(0)

    def weights(self, observation: Tensor) -> Tensor:
        """How much each expert counts, (n, experts), adding up to one."""
        return torch.softmax(self.gate(observation), -1)

    @torch.no_grad()
    def clamp_std_(self) -> None:
        """Keep exploration alive: to be called after every optimizer step (Table 9, minimum policy std)."""
        self.std.clamp_(*self.std_range)
