"""What a rollout says about how training goes, summed over all ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import torch
from torch import Tensor

from ssr.learning.by_terrain import TerrainSums
from ssr.learning.devices import fetched
from ssr.learning.edge_sight import SEASONED
from ssr.learning.ranks import ALONE, Ranks
from ssr.learning.rollout import Rollout
from ssr.symmetry.layout import Layout
from ssr.task.config import RewardConfig
from ssr.task.touchdowns import TouchdownRules, Touchdowns
from ssr.task.transition import Transition
from ssr.terrain.settings import STAIRS, TERRAIN_TYPES

SAFE_SUPPORT = 0.75  #: of the sole: a foothold with more is safe
TABLE_6 = tuple(f.name for f in fields(RewardConfig))  #: rows of the paper
MOVING = 0.3  #: m/s: slower commands say little about tracking
#: Parts of a command: which of its three numbers, sign (0: either), and the least that counts, m/s or rad/s.
WAYS = {"ahead": (0, 1, 0.2), "back": (0, -1, 0.2), "aside": (1, 0, 0.15), "turn": (2, 0, 0.3)}


class Tally:
    """Named sums and their counts; a metric is sum ÷ count over all ranks."""

    def __init__(self) -> None:
        self.sums: dict[str, tuple[Tensor | float, Tensor | float]] = {}
        self.by_terrain = TerrainSums()

    def add(self, name: str, total: Tensor | float, count: Tensor | float) -> None:
        """Sums stay where they were made until their means are asked for."""
        before = self.sums.get(name, (0.0, 0.0))
        self.sums[name] = (before[0] + _wide(total), before[1] + _wide(count))

    def means(self, ranks: Ranks = ALONE) -> dict[str, float]:
        """Means of everything added since the last call; names without a sample are left out."""
        self.by_terrain.hand_over(self.add)
        names = sorted(self.sums)
        if not names:
            return {}
        pairs = ranks.sum_(_on_host([x for name in names for x in self.sums[name]]).view(-1, 2))
        self.sums = {}
        return {
            name: total / count for name, (total, count) in zip(names, pairs.tolist(), strict=True) if count
        }


class Statistics:
    """Returns and lengths of episodes, tracking, touchdowns and support."""

    def __init__(
        self,
        num_envs: int,
        streams: tuple[str, ...],
        layout: Layout,
        control_period: float,
        device: str = "cpu",
    ) -> None:
        self.layout, self.period = layout, control_period
        self.returns = {name: torch.zeros(num_envs, device=device) for name in streams}
        self.lengths = torch.zeros(num_envs, device=device)
        self.touchdowns = Touchdowns(num_envs, TouchdownRules(), device=device)
        self.landing_support = torch.zeros(num_envs, 2, device=device)  #: under each foot one step ago
        #: Control steps of this rollout since an episode began, and whether one began in it.
        self.recent = torch.zeros(num_envs, device=device)
        self.anew = torch.zeros(num_envs, dtype=torch.bool, device=device)
        self.tally = Tally()
        self._velocity_scale = _scale(layout, "base_velocity").to(device)
        self._turning_scale = _scale(layout, "angular_velocity").to(device)
        self._command_scale = _scale(layout, "command").to(device)

    def observe(self, transition: Transition, deficiency: Tensor) -> None:
        """deficiency (n, 2): ρ under the feet now."""
        add, valid, touchdown = self.tally.add, transition.valid, self.touchdowns.observe(transition)
        layout, reached = self.layout, transition.privileged
        velocity = (layout.get(reached, "base_velocity") / self._velocity_scale)[:, :2]
        command = (layout.get(reached, "command") / self._command_scale)[:, :2]
        moving = valid & (command.norm(dim=-1) > MOVING)
        add("tracking", _over(moving, (velocity * command).sum(-1)), _over(moving, command.square().sum(-1)))
        self.recent += 1
        self._observe_ways(transition)
        over = transition.ended | ~valid
        self.recent.masked_fill_(over, 0.0)
        self.anew |= over
        add("velocity_error", _over(moving, (velocity - command).norm(dim=-1)), moving.sum())
        add("touchdowns_per_second", touchdown.sum(), valid.sum() * 2 * self.period)
        landings, safe = touchdown.sum(), touchdown & (self.landing_support > SAFE_SUPPORT)
        add("safe_foothold_rate", safe.sum(), landings)
        add("mean_support", _picked(touchdown, self.landing_support), landings)
        along = (velocity * command).sum(-1) / command.norm(dim=-1).clamp_min(MOVING)
        self.tally.by_terrain.add("speed", along, moving.to(along.dtype), transition.terrain_type)
        self._observe_terrain(transition, touchdown, moving)
        self.landing_support = 1.0 - deficiency
        add("power", _over(valid, transition.power), valid.sum())
        add("falls_per_minute", (transition.terminated & valid).sum(), valid.sum() * self.period / 60.0)
        add("bad_worlds", (~valid).sum(), 1.0)
        for name, term in transition.terms.items():
            add(f"reward/{name}", _over(valid, term), valid.sum())

    def _observe_ways(self, transition: Transition) -> None:
        """How much of each part of a command is done; 1 if all of it is, 0 for standing. Who was put down in
        motion, along its command, a moment ago has not done anything yet."""
        lived = self.recent + torch.where(self.anew, 0.0, self.lengths)
        counts = transition.valid & (lived >= SEASONED)
        reached, layout = transition.privileged, self.layout
        velocity = (layout.get(reached, "base_velocity") / self._velocity_scale)[:, :2]
        turning = (layout.get(reached, "angular_velocity") / self._turning_scale)[:, 2:]
        done = torch.cat((velocity, turning), -1)
        command = layout.get(reached, "command") / self._command_scale
        for name, (axis, sign, least) in WAYS.items():
            asked = command[:, axis]
            counted = counts & ((asked * sign if sign else asked.abs()) > least)
            self.tally.add(
                f"obeyed/{name}", _over(counted, done[:, axis] * asked), _over(counted, asked.square())
            )

    def _observe_terrain(self, transition: Transition, touchdown: Tensor, moving: Tensor) -> None:
        """Cadence, safe footholds and the share of r^l beyond Table 6, by terrain type.

        moving (n,): worlds that are asked to walk; standing as told must not pass for a calm gait.
        """
        terrain, landed = transition.terrain_type, touchdown.sum(-1)
        safe = (touchdown & (self.landing_support > SAFE_SUPPORT)).sum(-1)
        self.tally.by_terrain.add("cadence", landed, moving * self.period, terrain)
        self.tally.by_terrain.add("safe_foothold_rate", safe, landed, terrain)
        rows = {name: row.abs() for name, row in transition.terms.items()}
        everything = torch.where(transition.valid, torch.stack(list(rows.values())).sum(0), 0.0)
        others = (row for name, row in rows.items() if name not in TABLE_6)
        beyond = sum(others, torch.zeros_like(everything))
        self.tally.by_terrain.add("beyond_table_6", beyond, everything, terrain)
        self.tally.add("beyond_table_6", _over(transition.valid, beyond), everything.sum())

    def finish(self, rollout: Rollout) -> None:
        """Episode returns and lengths, once every stream's rewards are known."""
        self.recent.zero_()
        self.anew.zero_()
        for t in range(rollout.steps):
            ended = rollout.ended[t]
            count = ended.sum()
            self.lengths += 1
            for name, total in self.returns.items():
                total += rollout.rewards[name][t]
                self.tally.add(f"return/{name}", _picked(ended, total), count)
                total.masked_fill_(ended, 0.0)
            self.tally.add("episode_steps", _picked(ended, self.lengths), count)
            self.lengths.masked_fill_(ended, 0.0)
        for name in self.returns:
            reward, valid = rollout.rewards[name], rollout.valid
            self.tally.add(f"mean_reward/{name}", reward.sum(), valid.sum() * self.period)
        if "style" in self.returns:
            paid, seconds = rollout.rewards["style"].flatten(), rollout.valid.flatten() * self.period
            self.tally.by_terrain.add("style_reward", paid, seconds, rollout.terrain_type.flatten())

    def state_dict(self) -> dict[str, object]:
        return {
            "returns": {k: v.clone() for k, v in self.returns.items()},
            "lengths": self.lengths.clone(),
            "landing_support": self.landing_support.clone(),
            "touchdowns": self.touchdowns.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        for name, stored in state["returns"].items():  # type: ignore[attr-defined]
            self.returns[name].copy_(stored)
        self.lengths.copy_(state["lengths"])  # type: ignore[arg-type]
        self.landing_support.copy_(state["landing_support"])  # type: ignore[arg-type]
        self.touchdowns.load_state_dict(state["touchdowns"])  # type: ignore[arg-type]


def level_means(
    levels: Tensor, terrain_type: Tensor, end_height: Tensor, reached_top: Tensor, ranks: Ranks = ALONE
) -> dict[str, float]:
    """levels, terrain_type, end_height (n,) of all worlds; reached_top (n,) bool: crossed the hardest tile
    once."""
    tally = Tally()
    for k, name in enumerate(TERRAIN_TYPES):
        chosen = terrain_type == k
        tally.add(f"level/{name}", _over(chosen, levels), chosen.sum())
        tally.add(f"reached_top/{name}", (chosen & reached_top).sum(), chosen.sum())
    for flight, chosen in (("up", end_height > 0.0), ("down", end_height < 0.0)):
        stairs = chosen & (terrain_type == STAIRS)
        tally.add(f"stairs_level/{flight}", _over(stairs, levels), stairs.sum())
    return tally.means(ranks)


def _wide(x: Tensor | float) -> Tensor | float:
    return x.to(torch.float64) if isinstance(x, Tensor) else float(x)


def _on_host(values: list[Tensor | float]) -> Tensor:
    """(k,) float64; whatever is on a device comes over in one copy."""
    out = torch.tensor([0.0 if isinstance(x, Tensor) else x for x in values], dtype=torch.float64)
    tensors = {k: x for k, x in enumerate(values) if isinstance(x, Tensor)}
    if tensors:
        out[list(tensors)] = fetched(torch.stack(list(tensors.values())))
    return out


def _over(chosen: Tensor, x: Tensor) -> Tensor:
    """Sum of x where chosen; what is not chosen may be anything, even not a number."""
    return torch.where(chosen, x, 0.0).sum()


def _picked(chosen: Tensor, x: Tensor) -> Tensor:
    """Likewise. On a CPU the others are left out; a device would be waited for to know how many that are."""
    return x[chosen].sum() if x.device.type == "cpu" else _over(chosen, x)


def _scale(layout: Layout, name: str) -> Tensor:
    segment = next(s for s in layout if s.name == name)
    return torch.as_tensor(segment.scale, dtype=torch.float32)
