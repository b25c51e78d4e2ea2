"""The training loop of one rank: collect a rollout, learn from it, log, save, until it is to end."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from math import isfinite
from typing import Any

import torch

from ssr.compiling import compile_clock
from ssr.learning import checkpoint, guard, small_checkpoint
from ssr.learning.algorithm import Algorithm
from ssr.learning.config import TrainConfig
from ssr.learning.counters import Counters
from ssr.learning.display import Display
from ssr.learning.optimizer import NonFiniteGradient
from ssr.learning.patience import patiently
from ssr.learning.ranks import ALONE, Ranks
from ssr.learning.run_directory import METRICS, SMALL, RunDirectory, read_metrics
from ssr.learning.statistics import level_means
from ssr.learning.worlds import Environment
from ssr.machine import peak_memory_megabytes
from ssr.task.transition import Observation
from ssr.terrain.settings import TERRAIN_TYPES

Finished = Callable[[Mapping[str, float]], str | None]
"""Told the metrics of every iteration in turn, it says why training is finished, or None. It may remember
what it was told: on a resume it is told the logged iterations again."""


@dataclass(frozen=True, kw_only=True)
class TrainingEnd:
    """Why training ended; the same on every rank."""

    reason: str
    interrupted: bool = False  #: by a user or a polite kill, not because it was finished
    asked: bool = False  #: somebody asked to stop, be it finished or not


class Trainer:
    """All the state of a run: its worlds, its algorithm and how far it has come."""

    def __init__(self, env: Environment, algorithm: Algorithm, ranks: Ranks = ALONE) -> None:
        self.env, self.algorithm, self.ranks = env, algorithm, ranks
        self.count(Counters())
        self.begun = 0  #: the iteration with which its stage began
        self.stage: tuple[int, str] | None = None  #: number of the recipe's stage, from 0, and its name
        self.observation: Observation | None = None
        self._compiling: Callable[[], float] = lambda: 0.0  #: s since it was last asked

    def count(self, counters: Counters) -> None:
        """Go on counting from here."""
        self.iteration, self.total_steps = counters.iteration, counters.total_steps
        self.wall_seconds = counters.wall_seconds

    @property
    def counters(self) -> Counters:
        return Counters(
            iteration=self.iteration, total_steps=self.total_steps, wall_seconds=self.wall_seconds
        )

    # ---- the loop ---------------------------------------------------------------------------------------

    def train(self, run: RunDirectory, config: TrainConfig, finished: Finished | None = None) -> TrainingEnd:
        """Go on until all iterations are done, `finished` gives a reason or somebody asks to stop.

        The state is saved whenever it ends. Only the first rank logs, shows and is told by `finished`.
        """
        settings, first = config.run, self.ranks.first
        ending = self._ending(config, self._said_before(run, finished) if first else None, stop=False)
        if first:
            run.begin_log(config)
        saved_at = time.monotonic()
        label = f"{self.stage[1]} " if self.stage else ""
        shown = Display(settings.iterations, self.iteration, shown=first, label=label)
        with shown as display, interruptible() as asked, compile_clock() as self._compiling:
            while ending is None:
                self._collect()
                progress = (self.iteration - self.begun) / (settings.iterations - self.begun)
                metrics = self._learn(run, progress)
                if first:
                    patiently(partial(run.log, metrics), run.path, display.say)
                    display.show(metrics)
                    if self.iteration % settings.snapshot_iterations == 0:
                        take = partial(run.snapshot, self.algorithm.policy(), self.iteration, config)
                        patiently(take, run.path, display.say)
                reason = finished(metrics) if first and finished is not None else None
                ending = self._ending(config, reason, stop=bool(asked))
                late = time.monotonic() - saved_at >= 60.0 * settings.checkpoint_minutes
                if ending is not None or self.ranks.any(late):
                    # The full one first: a run that is killed before the small one goes on bit for bit.
                    for save in (self._save, self.save_small):
                        patiently(partial(save, run, config), run.path, display.say)
                    saved_at = time.monotonic()
            if first:
                run.close()
                if ending.interrupted:
                    display.say(f"Stopped and saved. Go on: ssr train --resume {run.path}")
                elif self.stage is None:
                    display.say(f"Done: {run.path}")
        return ending

    def iterate(self, progress: float = 0.0) -> dict[str, float]:
        """One iteration without a run directory; its metrics, the same on every rank."""
        self._collect()
        return self._learn(None, progress)

    def _collect(self) -> None:
        """One rollout."""
        self._started = time.perf_counter()
        env, algorithm = self.env, self.algorithm
        clock = algorithm.stopwatch
        if self.observation is None:
            self._prepare_worlds()
            self.observation = env.reset()
        for _ in range(algorithm.steps):
            action = algorithm.act(self.observation)
            with clock("physics"):
                transition = env.step(action.to(env.device))
            algorithm.observe(transition)
            with clock("restarts"):
                self.observation = env.restart(transition.ended)

    def _learn(self, run: RunDirectory | None, progress: float) -> dict[str, float]:
        """What the rollout taught, as finite metrics. progress: share of the run that is over, in [0, 1]."""
        env, algorithm = self.env, self.algorithm
        metrics = level_means(env.levels, env.field.type, env.field.end_height, env.reached_top, self.ranks)
        try:
            metrics |= algorithm.update(progress)
        except NonFiniteGradient as error:
            if run is None:
                raise
            raise guard.report(algorithm, run.path, self.iteration + 1, self.ranks.rank) from error
        self._prepare_worlds()
        self.iteration += 1
        metrics |= self._account(time.perf_counter() - self._started)
        if self.stage is not None:
            metrics["stage"] = float(self.stage[0])
        return {name: value for name, value in metrics.items() if isfinite(value)}

    def _prepare_worlds(self) -> None:
        self.env.set_bootstrap(self.algorithm.bootstrap)
        self.env.set_ramp(self.algorithm.ramp)

    def _account(self, seconds: float) -> dict[str, float]:
        """What an iteration of so many seconds cost. Compiling kernels, which happens once on a machine, does
        not count in its rate."""
        parts = self.algorithm.stopwatch.read()
        names, steps = sorted(parts), self.algorithm.steps * self.env.num_envs
        memory, working = peak_memory_megabytes(), seconds - self._compiling()
        sums = torch.tensor(
            [float(steps), memory, seconds, working, float(self.env.overflows), *(parts[n] for n in names)]
        )
        self.ranks.sum_(sums)
        gathered, memory, seconds, working, overflows, *spent = sums.tolist()
        seconds, working = seconds / self.ranks.size, working / self.ranks.size
        self.total_steps += int(gathered)
        self.wall_seconds += seconds
        return {
            "iteration": float(self.iteration),
            "total_steps": float(self.total_steps),
            "wall_seconds": self.wall_seconds,
            "iteration_seconds": seconds,
            "steps_per_second": gathered / working,
            "peak_memory_mb": memory,
            "overflows": overflows,
            **{f"seconds/{n}": s / self.ranks.size for n, s in zip(names, spent, strict=True)},
        }

    # ---- when to end ------------------------------------------------------------------------------------

    def _ending(self, config: TrainConfig, reason: str | None, stop: bool) -> TrainingEnd | None:
        """What the first rank decides. reason: what `finished` said; stop: somebody asked this rank to."""
        asked = self.ranks.any(stop)
        reason = self.ranks.agree(reason)
        if reason is None and self.iteration >= config.run.iterations:
            reason = f"all {config.run.iterations} iterations are done"
        if reason is not None:
            return TrainingEnd(reason=reason, asked=asked)
        return TrainingEnd(reason="interrupted", interrupted=True, asked=True) if asked else None

    def _said_before(self, run: RunDirectory, finished: Finished | None) -> str | None:
        """What `finished` says of the last logged iteration of a resumed run, told all of them in turn."""
        reason = None
        if finished is not None and (run.path / METRICS).is_file():
            for row in read_metrics(run.path):
                if row["iteration"] <= self.iteration:
                    reason = finished(row)
        return reason

    # ---- saving -----------------------------------------------------------------------------------------

    def _save(self, run: RunDirectory, config: TrainConfig) -> None:
        """The full checkpoint."""
        kept = config.run.kept_checkpoints
        checkpoint.save(run.path, self.iteration, self.state_dict(), kept=kept, ranks=self.ranks)

    def save_small(self, run: RunDirectory, config: TrainConfig) -> None:
        """The small one, which a run that was killed before it writes when it goes on."""
        levels = self.levels()
        with checkpoint.together(self.ranks):
            if self.ranks.first:
                small_checkpoint.save(run.path / SMALL, self.algorithm, config, self.counters, levels)

    def state_dict(self) -> dict[str, Any]:
        assert self.observation is not None, "nothing to save before the first iteration"
        return {
            "engine": self.env.engine,
            "counters": asdict(self.counters),
            "observation": dict(vars(self.observation)),
            "environment": self.env.state_dict(),
            "algorithm": self.algorithm.state_dict(),
        }

    def can_load(self, state: dict[str, Any]) -> bool:
        """Whether the worlds of a checkpoint are of the physics engine that these are of."""
        return bool(state.get("engine", "mujoco") == self.env.engine)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.env.reset()
        self.env.load_state_dict(state["environment"])
        self.observation = Observation(**state["observation"])
        self.count(Counters(**state["counters"]))
        self.algorithm.load_state_dict(state["algorithm"])  # last: it restores the random state

    def levels(self) -> dict[str, list[int]]:
        """Levels of all worlds on all ranks, per terrain type."""
        counts = torch.zeros(len(TERRAIN_TYPES), 64, dtype=torch.long)
        counts.index_put_(
            (self.env.field.type.cpu().long(), self.env.levels.cpu().long()),
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
            if known := levels.get(name):  # the others begin at the first level
                pick = torch.randint(len(known), (len(worlds),))
                self.env.levels[worlds] = torch.tensor(known)[pick].to(self.env.levels)
        self.observation = self.env.reset()


@contextmanager
def interruptible() -> Iterator[list[int]]:
    """Ctrl-C (or a polite kill) asks to stop after the iteration; a second one stops at once."""
    asked: list[int] = []

    def ask(number: int, frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
