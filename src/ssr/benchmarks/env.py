"""How close the whole task comes to the speed of raw physics."""

from __future__ import annotations

from statistics import median

import torch

from ssr.benchmarks.blocks import Rounds, alternate, median_ratio
from ssr.benchmarks.replay import Replay
from ssr.ranges import checked
from ssr.robots import load
from ssr.task.env import TraversalEnv
from ssr.terrain.settings import LEVELS

WORLDS = 256
BLOCK = 24  #: control steps per timed block
SPREAD = {64: 48, 1024: 12}  #: worlds whose cost per step is compared: control steps per block


@checked
def run(rounds: Rounds = 7) -> dict[str, float]:
    """Rates of the task with random actions and of physics alone.

    `raw` replays the joint targets recorded just before, from the same states and with the same restarts, in
    the same worlds: only the task is missing.
    """
    torch.set_num_threads(1)  # small tensors: a second thread only waits, physics has its own
    generator = torch.Generator().manual_seed(0)
    course = MixedWorlds(WORLDS, generator)
    rates = alternate({"env": course.step_task, "raw": course.replay}, rounds)
    courses = {n: MixedWorlds(n, generator, steps) for n, steps in SPREAD.items()}
    spread = alternate({str(n): c.step_task for n, c in courses.items()}, 3 * rounds)
    return {
        "raw_steps_per_s": round(median(rates["raw"]), 1),
        "env_steps_per_s": round(median(rates["env"]), 1),
        "ratio": round(median_ratio(rates, "env", "raw"), 4),
        "scaling_64_1024": round(median_ratio(spread, *map(str, SPREAD)), 4),
    }


class MixedWorlds:
    """Worlds on mixed terrain at every level, no camera."""

    def __init__(self, worlds: int, generator: torch.Generator, steps: int = BLOCK) -> None:
        self.env, self.generator, self.steps = TraversalEnv(load("x2"), worlds, seed=0), generator, steps
        self.env.progress.level.copy_(torch.arange(worlds) // 10 % LEVELS)
        self.env.reset()
        self.raw = Replay(self.env.simulator, self.env.substeps)
        self.step_task()

    def step_task(self) -> int:
        env = self.env
        self.raw.begin()
        for _ in range(self.steps):
            noise = torch.randn(env.num_envs, env.layouts.action.size, generator=self.generator)
            transition = env.step(0.3 * noise)
            self.raw.stepped()
            env.restart(transition.ended)
            self.raw.restarted(transition.ended)
        return self.steps * env.num_envs

    def replay(self) -> int:
        self.raw.run()
        return self.steps * self.env.num_envs
