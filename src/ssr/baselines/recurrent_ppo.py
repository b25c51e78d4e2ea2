"""PPO for an actor with a memory: minibatches are whole worlds, gone through from their first step."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from ssr.baselines.hpl_networks import Oracle
from ssr.learning.config import OptimizerConfig, PPOConfig
from ssr.learning.ppo import PPO, Batch
from ssr.learning.ranks import Ranks
from ssr.learning.rollout import Rollout
from ssr.networks.critics import Critics


def minibatches_of_worlds(rollout: Rollout, parts: int) -> Iterator[Tensor]:
    """One epoch: the worlds (m,) of each of so many parts, as equal as can be."""
    device = rollout.valid.device
    return iter(torch.randperm(rollout.num_envs, device=device).tensor_split(parts))


class RecurrentPPO(PPO):
    """`memory` gives what the actor remembered (n, H) before the rollout's first step."""

    actor: Oracle

    def __init__(
        self,
        actor: Oracle,
        critics: Critics,
        rollout: Rollout,
        memory: Callable[[], Tensor],
        *,
        streams: tuple[str, ...],
        config: PPOConfig,
        optimizer: OptimizerConfig,
        ranks: Ranks,
    ) -> None:
        super().__init__(actor, critics, streams=streams, config=config, optimizer=optimizer, ranks=ranks)
        self.rollout, self.memory = rollout, memory

    def _minibatches(self, batch: Batch) -> Iterator[Tensor]:
        first = torch.arange(self.rollout.steps, device=batch.weight.device) * self.rollout.num_envs
        for worlds in minibatches_of_worlds(self.rollout, self.config.minibatches):
            yield (first.unsqueeze(1) + worlds).flatten()

    def _means(self, batch: Batch, index: Tensor) -> Tensor:
        """index: all steps of some worlds, a step's worlds together."""
        steps = self.rollout.steps
        worlds = index.view(steps, -1)[0]
        seen = self.actor.look(batch.observation[0, index].view(steps, len(worlds), -1))
        means = self.actor.sequence(seen, self.memory()[worlds], self.rollout.restarted[:, worlds])
        return means.flatten(0, 1)
