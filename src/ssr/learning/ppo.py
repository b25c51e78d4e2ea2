"""PPO with one critic per reward stream and mirror augmentation (Sec. 3.1, 3.3, Table 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import inf, isfinite

import torch
from torch import Tensor

from ssr.learning.config import OptimizerConfig, PPOConfig
from ssr.learning.gae import advantages
from ssr.learning.moments import mean_and_std
from ssr.learning.optimizer import FlatAdam
from ssr.learning.precision import autocast
from ssr.learning.ranks import ALONE, Ranks
from ssr.learning.rollout import Rollout
from ssr.learning.schedule import Schedule
from ssr.networks.actor import MoEActor, PlainActor
from ssr.networks.critics import Critics
from ssr.networks.gaussian import divergence, entropy, log_probability
from ssr.terrain.settings import TERRAIN_TYPES

VALUE_COEFFICIENT = 1.0  #: Table 9
MEASURED = ("kl", "surrogate_loss", "value_loss", "clipped_share", "entropy")  #: of every minibatch

MirrorLoss = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Mean actions (2, b, A) of samples and of their mirror images, values (2, b) likewise, the samples' weights
(b,) → what is added to the loss."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Flat samples of one iteration and their mirror images. k streams in the order of `streams`."""

    observation: Tensor  #: (2, b, O) o^a, then its mirror image; (1, b, O) without augmentation
    privileged: Tensor  #: (2, b, S)
    action: Tensor  #: (2, b, A)
    mean: Tensor  #: (b, A) of the policy that acted
    log_prob: Tensor  #: (b,)
    values: Tensor  #: (k, b)
    returns: Tensor  #: (k, b)
    advantage: Tensor  #: (b,) of all streams together, see `prepare`
    weight: Tensor  #: (b,) 0 masks a sample
    guide: Tensor  #: (b, A) actions towards reference motion; not a number where nothing is shown
    gain: Tensor  #: (k, b) advantage of each stream as it goes into `advantage`, without its weight

    @property
    def size(self) -> int:
        return len(self.advantage)


@torch.no_grad()
def stream_values(
    critics: Critics, states: Tensor, streams: tuple[str, ...], bfloat16: bool = False
) -> Tensor:
    """(k, ...) values of states (..., S)."""
    with autocast(bfloat16, states.device):
        values = critics(states.flatten(0, -2))
    return torch.stack([values[name].float().view(states.shape[:-1]) for name in streams])


def prepare(
    rollout: Rollout,
    last_privileged: Tensor,
    critics: Critics,
    *,
    weights: Mapping[str, float],
    config: PPOConfig,
    mirror: Callable[[Rollout], tuple[Tensor, Tensor, Tensor]] | None,
    ranks: Ranks = ALONE,
) -> Batch:
    """Values, returns and advantages per stream; A = Σ w·A_stream, each as `normalize` gives it.

    With `config.same_spread` A then gets the same spread on every terrain type.
    last_privileged: (n, S) of the observation after the last step.
    mirror: gives (T, n, ...) mirrored actor observation, privileged state and action.
    """
    streams = tuple(weights)
    states = torch.cat((rollout.privileged, last_privileged.unsqueeze(0)))
    values = stream_values(critics, states, streams, config.bfloat16)
    rewards = torch.stack([rollout.rewards[name] for name in streams])
    # A sample that went non-finite earns its own value, so that nothing flows back through the cut.
    rewards = torch.where(rollout.valid, rewards, values[:, :-1])
    cut = rollout.cut_states()
    if cut is not None:
        step, world, reached = cut
        rewards[:, step, world] += config.discount * stream_values(critics, reached, streams, config.bfloat16)
    gain = torch.stack(
        [
            advantages(r, v[:-1], v[-1], rollout.ended, discount=config.discount, trace=config.trace)
            for r, v in zip(rewards, values, strict=True)
        ]
    ).flatten(1)
    old_values = values[:, :-1].flatten(1)
    weight = rollout.valid.flatten().float()
    normalized = normalize(gain, weight, config.max_advantage, ranks)
    advantage = _constant(tuple(weights.values()), gain.device) @ normalized
    if config.same_spread:
        terrain = rollout.terrain_type.flatten()
        advantage = same_spread(advantage, weight, terrain, config.max_advantage, ranks)
    originals = (rollout.actor, rollout.privileged, rollout.action)
    sides = (originals, mirror(rollout)) if mirror is not None else (originals,)
    observation, privileged, action = (
        torch.stack([x.flatten(0, 1) for x in parts]) for parts in zip(*sides, strict=True)
    )
    return Batch(
        observation=observation,
        privileged=privileged,
        action=action,
        mean=rollout.mean.flatten(0, 1),
        log_prob=rollout.log_prob.flatten(),
        values=old_values,
        returns=gain + old_values,
        advantage=advantage,
        weight=weight,
        guide=rollout.guide.flatten(0, 1),
        gain=normalized,
    )


@cache
def _constant(numbers: tuple[float, ...], device: torch.device) -> Tensor:
    """(k,) on the device, taken there once."""
    return torch.tensor(numbers, device=device)


def normalize(gain: Tensor, weight: Tensor, limit: float = inf, ranks: Ranks = ALONE) -> Tensor:
    """Advantages (k, b) of every stream with mean 0 over all ranks' samples, and std 1 before they are cut.

    limit: cut those further from the mean. They are not scaled up again, so that cutting a few changes
    nothing for the others.
    """
    mean, std = mean_and_std(gain, weight, ranks)
    normalized = (gain - mean.unsqueeze(1)) / (std.unsqueeze(1) + 1e-8)
    if not isfinite(limit):
        return normalized
    cut = normalized.clamp(-limit, limit)
    return cut - mean_and_std(cut, weight, ranks)[0].unsqueeze(1)


def same_spread(
    advantage: Tensor, weight: Tensor, terrain: Tensor, limit: float = inf, ranks: Ranks = ALONE
) -> Tensor:
    """Advantages (b,) with mean 0 and the same std, that of all, on every terrain type; terrain (b,).

    Otherwise falls from obstacles set the scale, and how fast flat ground is walked hardly counts. limit: as
    in `normalize`, within each type.
    """
    rows = advantage.unsqueeze(0)
    _, spread = mean_and_std(rows, weight, ranks)
    out = torch.zeros_like(rows)
    for index in range(len(TERRAIN_TYPES)):
        own = weight * (terrain == index)
        out += torch.where(own > 0, normalize(rows, own, limit, ranks), 0.0)
    return (out * spread).squeeze(0)


class PPO:
    """The clipped surrogate, the clipped value losses and the adaptive learning rate."""

    def __init__(
        self,
        actor: MoEActor | PlainActor,
        critics: Critics,
        *,
        streams: tuple[str, ...],
        config: PPOConfig,
        optimizer: OptimizerConfig | None = None,
        ranks: Ranks = ALONE,
        mirror_loss: MirrorLoss | None = None,
    ) -> None:
        """mirror_loss: how mirror images count, instead of as samples of their own."""
        optimizer = optimizer or OptimizerConfig()
        self.mirror_loss = mirror_loss
        self.actor, self.critics, self.streams, self.config, self.ranks = (
            actor,
            critics,
            streams,
            config,
            ranks,
        )
        self.optimizer = FlatAdam(
            {"actor": actor, "critics": critics},
            learning_rate=optimizer.learning_rate,
            max_gradient_norm=optimizer.max_gradient_norm,
            ranks=ranks,
        )

    def update(self, batch: Batch, std: Tensor, schedule: Schedule) -> dict[str, float]:
        """Several epochs over shuffled minibatches. std: (A,) of the policy that acted."""
        old_std = std.clone()
        sums = torch.zeros(len(MEASURED), dtype=torch.float64, device=old_std.device)
        for _ in range(self.config.epochs):
            for index in self._minibatches(batch):
                sums += self._step(batch, index, old_std, schedule)
                if "actor" not in self.optimizer.frozen:
                    self.actor.clamp_std_(*schedule.std_range)
        means = sums / (self.config.epochs * self.config.minibatches)
        *values, rate = self.optimizer.settle(torch.cat((means, self.optimizer.rate.view(1))))
        return dict(zip(MEASURED, values, strict=True)) | {"learning_rate": rate}

    def _minibatches(self, batch: Batch) -> Iterator[Tensor]:
        """One epoch: which samples (m,) each minibatch learns from."""
        size = batch.size // self.config.minibatches
        order = torch.randperm(batch.size, device=batch.advantage.device)
        for k in range(self.config.minibatches):
            yield order[k * size : (k + 1) * size]

    def _means(self, batch: Batch, index: Tensor) -> Tensor:
        """Mean actions (sides · m, A) of a minibatch's samples and of their mirror images."""
        return self.actor(batch.observation[:, index].flatten(0, 1))

    def _step(self, batch: Batch, index: Tensor, old_std: Tensor, schedule: Schedule) -> Tensor:
        """One minibatch (m,); what is `MEASURED` of it, over all ranks."""
        config, b = self.config, len(index)
        sides = len(batch.observation)
        weight = batch.weight[index]
        weight = weight / weight.sum().clamp_min(1.0)
        with autocast(config.bfloat16, index.device):
            mean = self._means(batch, index).float()
            values = self.critics(batch.privileged[:, index].flatten(0, 1))
        std = self.actor.std
        beside = torch.zeros((), device=mean.device)
        if self.mirror_loss is not None:
            said = values[self.streams[0]].float().view(sides, b)
            beside = self.mirror_loss(mean.view(sides, b, -1), said, weight)
            mean, values, sides = mean[:b], {name: value[:b] for name, value in values.items()}, 1
        log_prob = log_probability(batch.action[:sides, index].flatten(0, 1), mean, std).view(sides, b)

        # Mirrored samples keep the old log-probability, value, return and advantage of their originals.
        ratio = (log_prob - batch.log_prob[index]).exp()
        gain = batch.advantage[index]
        clipped = ratio.clamp(1.0 - config.clip, 1.0 + config.clip)
        surrogate = (torch.maximum(-gain * ratio, -gain * clipped) * weight).sum() / sides

        value_loss = torch.zeros((), device=mean.device)
        for k, name in enumerate(self.streams):
            value = values[name].float().view(sides, b)
            old, target = batch.values[k, index], batch.returns[k, index]
            near = old + (value - old).clamp(-config.clip, config.clip)
            error = torch.maximum((value - target).square(), (near - target).square())
            value_loss = value_loss + (error * weight).sum() / sides

        spread = entropy(self.actor.std)
        loss = surrogate + VALUE_COEFFICIENT * value_loss - schedule.entropy_coefficient * spread
        if self.mirror_loss is not None:
            loss = loss + beside
        if (pull := config.guidance * schedule.bootstrap) > 0.0:
            shown = batch.guide[index]
            apart = torch.where(shown.isnan(), 0.0, mean[:b] - shown).square().mean(-1)
            loss = loss + pull * (apart * weight).sum()
        with torch.no_grad():
            kl = (divergence(batch.mean[index], old_std, mean[:b], std) * weight).sum()
            outside = (((ratio[0] - 1.0).abs() > config.clip).float() * weight).sum()
            self.optimizer.extras[:4] = torch.stack((kl, surrogate.detach(), value_loss.detach(), outside))
        self.optimizer.backward(loss)
        measured = torch.cat((self.optimizer.extras[:4], spread.detach().view(1))).double()
        if "actor" not in self.optimizer.frozen:  # of a policy that stays, rounding would be taken for a step
            self._adapt(measured[0], schedule.desired_kl)
        self.optimizer.step()
        return measured

    def _adapt(self, kl: Tensor, desired: float) -> None:
        """The learning rate falls where the policy moved too far and rises where it hardly moved. kl: ()
        float64, of which the host is not told."""
        (least, most), rate = self.config.learning_rates, self.optimizer.rate
        rising = torch.where((kl > 0.0) & (kl < 0.5 * desired), rate * 1.5, rate)
        self.optimizer.rate = torch.where(kl > 2.0 * desired, rate / 1.5, rising).clamp(least, most)
