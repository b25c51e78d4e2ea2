"""Motion priors: one discriminator per terrain type tells reference from policy motion (Sec. 3.4)."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from ssr import chance
from ssr.learning.config import OptimizerConfig, StyleConfig
from ssr.learning.devices import fetched
from ssr.learning.moments import RunningNormalizer
from ssr.learning.optimizer import FlatAdam
from ssr.learning.ranks import ALONE, Ranks
from ssr.learning.rollout import FrameHistory
from ssr.motion.frames import WINDOW, RecentMean
from ssr.networks.discriminators import Discriminators
from ssr.task.transition import Transition
from ssr.terrain.settings import SLOPE, TERRAIN_TYPES

NORMALIZER_CLIP = 10.0  #: standard deviations
WEIGHT_DECAY = 1e-4  #: of the discriminators (Table 9)
GRADIENT_PENALTY = 20.0  #: w^gp (Table 9), halved in the loss as in AMP


class ReferenceMotion(Protocol):
    """Where reference windows come from; `ssr.motion.dataset.MotionDataset` is one."""

    def amp_windows(self, terrain_type: str, count: int, generator: torch.Generator) -> Tensor:
        """(count, frames, F) raw AMP frames, drawn where the generator is."""

    def on(self, device: torch.device) -> ReferenceMotion:
        """The same for generators of this device."""


def style_reward(score: Tensor) -> Tensor:
    """r^s of a discriminator's score (Table 6c)."""
    return (1.0 - 0.25 * (score - 1.0).square()).clamp_min(0.0)


def discriminator_loss(
    discriminators: Discriminators,
    reference: Tensor,
    policy: Tensor,
    gradient_penalty: float = GRADIENT_PENALTY,
) -> tuple[Tensor, Tensor, Tensor]:
    """LSGAN loss (k,) per discriminator, and the mean scores (k,) of reference and policy windows.

    reference, policy: (k, b, frames · F), normalised. The penalty is on reference windows alone, halved as
    in AMP.
    """
    reference = reference.detach().requires_grad_(True)
    scores = discriminators(torch.cat((reference, policy), 1))
    of_reference, of_policy = scores.split((reference.shape[1], policy.shape[1]), 1)
    (slope,) = torch.autograd.grad(of_reference.sum(), reference, create_graph=True)
    penalty = slope.square().sum(-1).mean(-1)
    fit = 0.5 * ((of_reference - 1.0).square().mean(-1) + (of_policy + 1.0).square().mean(-1))
    return fit + 0.5 * gradient_penalty * penalty, of_reference.mean(-1), of_policy.mean(-1)


class WindowReplay:
    """The newest policy windows of each discriminator, first in, first out."""

    def __init__(self, groups: int, capacity: int, size: int, device: str = "cpu") -> None:
        self.windows = torch.zeros(groups, capacity, size, device=device)
        self.seen = torch.zeros(groups, dtype=torch.long, device=device)

    @property
    def fill(self) -> Tensor:
        return self.seen.clamp_max(self.windows.shape[1])

    def put(self, group: int, windows: Tensor) -> None:
        capacity = self.windows.shape[1]
        slots = (self.seen[group] + torch.arange(len(windows), device=self.seen.device)) % capacity
        self.seen[group] += len(windows)
        self.windows[group, slots[-capacity:]] = windows[-capacity:]

    def sample(self, count: int) -> Tensor:
        """(k, count, size); zeros where a discriminator has none yet."""
        draw = torch.rand(len(self.seen), count, device=self.seen.device)
        index = (draw * self.fill.unsqueeze(1)).long().clamp_max(self.windows.shape[1] - 1)
        return self.windows[torch.arange(len(self.seen), device=index.device).unsqueeze(1), index]

    def state_dict(self) -> dict[str, Tensor]:
        used = int(self.fill.max())
        return {"windows": self.windows[:, :used].clone(), "seen": self.seen.clone()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.windows[:, : state["windows"].shape[1]] = state["windows"]
        self.seen.copy_(state["seen"])


class Style:
    """Windows of the policy's motion, the discriminators' training and the style reward."""

    def __init__(
        self,
        discriminators: Discriminators,
        reference: ReferenceMotion,
        *,
        frame_size: int,
        steps: int,
        num_envs: int,
        seed: int,
        config: StyleConfig,
        optimizer: OptimizerConfig | None = None,
        ranks: Ranks = ALONE,
        device: str = "cpu",
    ) -> None:
        optimizer = optimizer or OptimizerConfig()
        self.discriminators, self.config, self.ranks = discriminators, config, ranks
        self.reference = reference.on(torch.device(device))
        self.groups, self.device = discriminators.count, device
        self.names = TERRAIN_TYPES if self.groups > 1 else ("all",)
        self.normalizer = RunningNormalizer(frame_size, NORMALIZER_CLIP).to(device)
        self.mean = RecentMean(num_envs, frame_size, config.stride, device)
        self.frames = FrameHistory(
            steps=steps,
            num_envs=num_envs,
            size=frame_size,
            length=WINDOW,
            stride=config.stride,
            device=device,
        )
        self.group = torch.zeros(steps, num_envs, dtype=torch.long, device=device)
        capacity = max(1, config.replay // ranks.size)
        self.replay = WindowReplay(self.groups, capacity, frame_size * WINDOW, device)
        self.generator = torch.Generator(device).manual_seed(seed + 7919 * ranks.rank)
        self.optimizer = FlatAdam(
            {"discriminators": discriminators},
            learning_rate=optimizer.learning_rate,
            max_gradient_norm=optimizer.max_gradient_norm,
            ranks=ranks,
        )

    def observe(self, t: int, transition: Transition, restarted: Tensor) -> None:
        """`restarted` (n,): this was the first step of an episode, whose frame fills the window."""
        frame = torch.where(transition.valid.unsqueeze(-1), transition.amp_frame, 0.0)
        self.frames.put(t, self.mean(frame, restarted), restarted)
        if self.groups > 1:
            # The apron behind the hardest tile asks for all directions: only `slope` knows backward walking.
            self.group[t] = torch.where(transition.omnidirectional, SLOPE, transition.terrain_type)

    @torch.no_grad()
    def rewards(self, valid: Tensor) -> Tensor:
        """(T, n) r^s of the rollout; its windows go into the replay where `valid` (T, n)."""
        worlds = torch.arange(self.group.shape[1], device=self.device)
        windows = self.frames.windows(worlds).flatten(0, 1)
        group = self.group.flatten()
        own = group == torch.arange(self.groups, device=self.device).unsqueeze(1)
        counts, kept = fetched(torch.stack((own.sum(1), (own & valid.flatten()).sum(1)))).tolist()
        scores = self.discriminators.score(self._normalized(windows), group, counts)
        order, begin = torch.argsort(torch.where(valid.flatten(), group, self.groups), stable=True), 0
        for k, count in enumerate(kept):
            self.replay.put(k, windows[order[begin : begin + count]].flatten(1))
            begin += count
        self.frames.carry()
        return style_reward(scores).view_as(self.group)

    def _normalized(self, windows: Tensor) -> Tensor:
        """(..., frames, F) → (..., frames · F)."""
        return self.normalizer(windows).flatten(-2)

    def update(self) -> dict[str, float]:
        frames, size = WINDOW, self.config.batch_size
        totals = torch.zeros(3, self.groups, device=self.device)
        for update in range(self.config.updates):
            policy = self.replay.sample(size).unflatten(-1, (frames, -1))
            reference = torch.stack([self._reference(k, size) for k in range(self.groups)])
            # A terrain type that no world stands on has no windows, and its zeros must not be learned from.
            active = self.replay.fill > 0
            if update == 0:
                both = torch.cat((policy, reference))
                counted = active.repeat(2).repeat_interleave(size * frames)
                self.normalizer.update(both.flatten(0, 2), self.ranks, counted)
            loss, of_reference, of_policy = discriminator_loss(
                self.discriminators,
                self._normalized(reference),
                self._normalized(policy),
            )
            with self.optimizer.gathering():
                (loss * active).sum().backward()
                # Adam's weight decay would wear the weights of idle discriminators down to nothing. In the
                # loss it would be a third part of each gradient, and the order in which autograd sums three
                # depends on the thread that took the penalty's slope: another one on a device.
                self.discriminators.decay(WEIGHT_DECAY * active)
            self.optimizer.step()
            totals += torch.stack((loss, of_reference, of_policy)).detach() / self.config.updates
        sharing = self.ranks.sum_(active.float())  # ranks that have windows; the others learned nothing
        totals = self.ranks.sum_(totals * active) / sharing.clamp_min(1.0)
        mean = totals[0].sum() / (sharing > 0).sum()
        told = self.optimizer.settle(torch.cat((mean.view(1), sharing, totals[1], totals[2])))
        by_group = zip(*(told[1 + k * self.groups :][: self.groups] for k in range(3)), strict=True)
        metrics = {"discriminator_loss": told[0]}
        for name, (learned, real, own) in zip(self.names, by_group, strict=True):
            if learned > 0.0:
                metrics |= {f"score_reference/{name}": real, f"score_policy/{name}": own}
        return metrics

    def _reference(self, group: int, count: int) -> Tensor:
        if self.groups > 1:
            return self.reference.amp_windows(TERRAIN_TYPES[group], count, self.generator)
        share = -(-count // len(TERRAIN_TYPES))
        mixed = [self.reference.amp_windows(name, share, self.generator) for name in TERRAIN_TYPES]
        return torch.cat(mixed)[:count]

    def state_dict(self) -> dict[str, object]:
        return {
            "normalizer": self.normalizer.state_dict(),
            "replay": self.replay.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "frames": self.frames.frames[: self.frames.past].clone(),
            "recent": self.mean.frames.clone(),
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, state: dict[str, object]) -> None:
        self.normalizer.load_state_dict(state["normalizer"])  # type: ignore[arg-type]
        self.replay.load_state_dict(state["replay"])  # type: ignore[arg-type]
        self.optimizer.load_state_dict(state["optimizer"])  # type: ignore[arg-type]
        self.frames.frames[: self.frames.past] = state["frames"]  # type: ignore[assignment]
        self.mean.frames.copy_(state["recent"])  # type: ignore[arg-type]
        chance.restore(self.generator, state["generator"])  # type: ignore[arg-type]
