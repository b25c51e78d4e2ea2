"""Actors: Gaussians with one std per joint, whose mean is a gated sum of experts, or one MLP's."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ssr.networks.config import NetworkConfig
from ssr.networks.mlp import ParallelMLP, mlp
from ssr.symmetry.layout import Layout
from ssr.symmetry.structure import MirrorMap


class MoEActor(nn.Module):
    """Actor observation o^a (n, O) → mean action (n, A). The std does not depend on the state.

    layouts: of observation and action. With them, what the mirrored robot would do counts as much, and a
    joint's std is its partner's: mirrored observations get mirrored actions.
    """

    def __init__(
        self,
        observation: int,
        actions: int,
        config: NetworkConfig,
        layouts: tuple[Layout, Layout] | None = None,
    ) -> None:
        super().__init__()
        self.observation_mirror = None if layouts is None else MirrorMap(layouts[0])
        self.action_mirror = None if layouts is None else MirrorMap(layouts[1])
        self.experts = ParallelMLP(config.experts, observation, config.expert_hidden, actions)
        self.gate = mlp(observation, config.gate_hidden, config.experts)
        self.std = nn.Parameter(torch.full((actions,), config.initial_std))

    def forward(self, observation: Tensor) -> Tensor:
        if self.observation_mirror is None or self.action_mirror is None:
            return self._mean(observation)
        both = self._mean(torch.cat((observation, self.observation_mirror(observation)), -2))
        mean, mirrored = both.float().chunk(2, -2)
        return 0.5 * (mean + self.action_mirror(mirrored))

    def _mean(self, observation: Tensor) -> Tensor:
        share = self.weights(observation).t().unsqueeze(-1)
        return (share * self.experts(observation)).sum(0)

    def weights(self, observation: Tensor) -> Tensor:
        """How much each expert counts, (n, experts), adding up to one."""
        return torch.softmax(self.gate(observation), -1)

    @torch.no_grad()
    def clamp_std_(self, low: float, high: float) -> None:
        """Keep exploration alive and within bounds: to be called after every optimizer step (Table 9)."""
        self.std.clamp_(low, high)
        if self.action_mirror is not None:
            self.std.copy_(0.5 * (self.std + self.std[self.action_mirror.source]))


class PlainActor(nn.Module):
    """Observation (n, O) → mean action (n, A) by one MLP. The std does not depend on the state."""

    def __init__(self, observation: int, hidden: Sequence[int], actions: int, initial_std: float) -> None:
        super().__init__()
        self.layers = mlp(observation, hidden, actions)
        self.std = nn.Parameter(torch.full((actions,), initial_std))

    def forward(self, observation: Tensor) -> Tensor:
        return self.layers(observation)

    @torch.no_grad()
    def clamp_std_(self, low: float, high: float) -> None:
        """As `MoEActor.clamp_std_`."""
        self.std.clamp_(low, high)
