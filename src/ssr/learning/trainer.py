"""One rank's loop: collect a rollout, learn from it, tell the environment how far the robot has come."""

from __future__ import annotations

import resource
import time
from typing import Any

import torch

from ssr.learning.algorithm import SSR
from ssr.learning.ranks import ALONE, Ranks
from ssr.learning.worlds import Environment
from ssr.task.transition import Observation
from ssr.terrain.settings import TERRAIN_TYPES


class Trainer:
    def __init__(self, env: Environment, algorithm: SSR, ranks: Ranks = ALONE) -> None:
        self.env, self.algorithm, self.ranks = env, algorithm, ranks
        self.iteration = 0  #: completed so far
        self.total_steps = 0  #: control steps of all worlds on all ranks
        self.wall_seconds = 0.0  #: spent in iterations, over all sittings
        self.observation: Observation | None = None

    def iterate(self) -> dict[str, float]:
        """One iteration; metrics are the same on every rank."""
        start = time.perf_counter()
        env, algorithm = self.env, self.algorithm
        clock, steps = algorithm.stopwatch, algorithm.rollout.steps
        if self.observation is None:
            self._prepare_worlds()
            self.observation = env.reset()
        for _ in range(steps):
            action = algorithm.act(self.observation)
            with clock("physics"):
                transition = env.step(action)
            algorithm.observe(transition)
            with clock("restarts"):
                self.observation = env.restart(transition.ended)
        top = getattr(getattr(env, "progress", None), "reached_top", None)
        algorithm.statistics.levels(env.levels, env.field.type, top)
        algorithm.done = self.iteration / max(1, algorithm.config.run.iterations)
        metrics = algorithm.update()
        self._prepare_worlds()
        self.iteration += 1
        return metrics | self._account(time.perf_counter() - start, steps)

    def _prepare_worlds(self) -> None:
        self.env.set_bootstrap(self.algorithm.schedule.bootstrap)
        self.env.set_ramp(self.algorithm.schedule.ramp)

    def _account(self, seconds: float, steps: int) -> dict[str, float]:
        parts = self.algorithm.stopwatch.read()
        names = sorted(parts)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
        sums = torch.tensor([float(steps * self.env.num_envs), memory, seconds, *(parts[n] for n in names)])
        self.ranks.sum_(sums)
        gathered, memory, seconds, *spent = sums.tolist()
        seconds /= self.ranks.size
        self.total_steps += int(gathered)
        self.wall_seconds += seconds
        return {
            "iteration": float(self.iteration),
            "total_steps": float(self.total_steps),
            "wall_seconds": self.wall_seconds,
            "iteration_seconds": seconds,
            "steps_per_second": gathered / seconds,
            "peak_memory_mb": memory,
            **{f"seconds/{n}": s / self.ranks.size for n, s in zip(names, spent, strict=True)},
        }

    def levels(self) -> dict[str, list[int]]:
        """Levels of all worlds on all ranks, per terrain type."""
        counts = torch.zeros(len(TERRAIN_TYPES), 64, dtype=torch.long)
        counts.index_put_(
            (self.env.field.type.cpu(), self.env.levels.cpu()),
            torch.ones((), dtype=torch.long),
            accumulate=True,
        )
        self.ranks.sum_(counts)
        return {
            name: torch.arange(64).repeat_interleave(row).tolist()
            for name, row in zip(TERRAIN_TYPES, counts, strict=True)
        }

    def assign_levels(self, levels: dict[str, list[int]]) -> None:
        """Give this rank's worlds levels drawn from a saved distribution; for a continued run.

        Whatever made a world's level its own, such as a kept delay, is found anew within a few episodes.
        """
        self._prepare_worlds()
        self.env.reset()
        for k, name in enumerate(TERRAIN_TYPES):
            worlds = (self.env.field.type == k).nonzero().squeeze(1)
            known = levels.get(name) or [0]
            pick = torch.randint(len(known), (len(worlds),))
            self.env.levels[worlds] = torch.tensor(known)[pick].to(self.env.levels)
        self.observation = self.env.reset()

    def state_dict(self) -> dict[str, Any]:
        assert self.observation is not None, "nothing to save before the first iteration"
        return {
            "iteration": self.iteration,
            "total_steps": self.total_steps,
            "wall_seconds": self.wall_seconds,
            "observation": dict(vars(self.observation)),
            "environment": self.env.state_dict(),
            "algorithm": self.algorithm.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.env.reset()
        self.env.load_state_dict(state["environment"])
        self.observation = Observation(**state["observation"])
        self.iteration = int(state["iteration"])
        self.total_steps = int(state["total_steps"])
        self.wall_seconds = float(state["wall_seconds"])
        self.algorithm.load_state_dict(state["algorithm"])  # last: it restores the random state
