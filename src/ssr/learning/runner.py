"""A training run from start to end: build or resume, iterate, log, save, stop cleanly."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ssr.learning import checkpoint, guard, small_checkpoint, worlds
from ssr.learning.config import TrainConfig
from ssr.learning.display import Display
from ssr.learning.distribution import launch, rank_count, starts_the_run
from ssr.learning.optimizer import NonFiniteGradient
from ssr.learning.ranks import Ranks
from ssr.learning.run_directory import SMALL, RunDirectory
from ssr.learning.trainer import Trainer
from ssr.robots import load


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a run's first weights come from: nothing, its own checkpoint, or another run's small one."""

    checkpoint: Path | None = None
    small: Path | None = None


def start(path: Path, config: TrainConfig, *, small: Path | None = None) -> Path:
    """A new run in `path`, from nothing or continued from a small checkpoint."""
    load(config.robot)  # mistakes show before a directory is made
    config.check_worlds()
    if small is not None:
        small_checkpoint.load(small)
    if starts_the_run():
        RunDirectory.create(path, config)
    launch(config, train, path, config, Origin(small=small))
    return path


def resume(path: Path, *, iteration: int | None = None, iterations: int | None = None) -> Path:
    """Go on with a run from its newest (or the given) checkpoint, bit for bit."""
    _, config = RunDirectory.open(path)
    if iterations is not None:
        config = replace(config, run=replace(config.run, iterations=iterations))
    launch(config, train, path, config, Origin(checkpoint=checkpoint.choose(path, iteration)))
    return path


def continued(small: Path) -> TrainConfig:
    """The configuration a small checkpoint was trained with."""
    return small_checkpoint.load(small)[1]


def with_ranks(config: TrainConfig) -> TrainConfig:
    """`config` with its number of ranks settled, as a run's directory records it."""
    return replace(config, ranks=rank_count(config))


def train(ranks: Ranks, path: Path, config: TrainConfig, origin: Origin) -> None:
    """The work of one rank."""
    env, algorithm = worlds.make(config, ranks)
    trainer = Trainer(env, algorithm, ranks)
    run = RunDirectory(path)
    if origin.checkpoint is not None:
        _, state = checkpoint.load(origin.checkpoint, ranks)
        trainer.load_state_dict(state)
        if ranks.first:
            run.forget_after(trainer.iteration)
    elif origin.small is not None:
        _, _, state = small_checkpoint.load(origin.small)
        small_checkpoint.restore(algorithm, state, origin.small)
        trainer.assign_levels(state["levels"])
    if ranks.first:
        run.write_contract(algorithm, config)
    Sitting(trainer, run, config, ranks).run()


class Sitting:
    """One sitting of a run on one rank. Only the first rank logs and shows."""

    def __init__(self, trainer: Trainer, run: RunDirectory, config: TrainConfig, ranks: Ranks) -> None:
        self.trainer, self.directory, self.config, self.ranks = trainer, run, config, ranks
        self.saved_at = time.monotonic()

    def run(self) -> None:
        trainer, settings, first = self.trainer, self.config.run, self.ranks.first
        display = Display(settings.iterations, trainer.iteration, shown=first)
        with display, interruptible() as interrupted:
            stop = False
            while trainer.iteration < settings.iterations and not stop:
                metrics = self._iterate()
                if first:
                    self.directory.log(metrics)
                    display.show(metrics)
                    if trainer.iteration % settings.snapshot_iterations == 0:
                        self.directory.snapshot(trainer.algorithm, trainer.iteration)
                stop = self.ranks.any(bool(interrupted))
                done = stop or trainer.iteration >= settings.iterations
                late = time.monotonic() - self.saved_at >= 60.0 * settings.checkpoint_minutes
                if done or self.ranks.any(late):
                    self.save()
            if first:
                self.directory.close()
                if stop:
                    display.say(f"Stopped and saved. Go on: ssr train --resume {self.directory.path}")
                else:
                    display.say(f"Done: {self.directory.path}")

    def _iterate(self) -> dict[str, float]:
        try:
            return self.trainer.iterate()
        except NonFiniteGradient as error:
            number = self.trainer.iteration + 1
            raise guard.report(
                self.trainer.algorithm, self.directory.path, number, self.ranks.rank
            ) from error

    def save(self) -> None:
        trainer, path = self.trainer, self.directory.path
        levels = trainer.levels()
        if self.ranks.first:
            small_checkpoint.save(path / SMALL, trainer.algorithm, self.config, trainer.iteration, levels)
        checkpoint.save(
            path,
            trainer.iteration,
            trainer.state_dict(),
            kept=self.config.run.kept_checkpoints,
            ranks=self.ranks,
        )
        self.saved_at = time.monotonic()


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
