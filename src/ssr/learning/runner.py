"""A training run on all its ranks: begin it, resume it, or continue from a small checkpoint."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path

from ssr.errors import UserError
from ssr.learning import checkpoint, config_file, own_robot, small_checkpoint, worlds
from ssr.learning.config import TrainConfig
from ssr.learning.counters import Counters
from ssr.learning.distribution import launch, rank_count, starts_the_run
from ssr.learning.ranks import Ranks
from ssr.learning.run_directory import CONFIG, SMALL, RunDirectory
from ssr.learning.run_lock import locked
from ssr.learning.saved import small_iteration
from ssr.learning.trainer import Finished, Trainer, TrainingEnd


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a run's first weights come from: nothing, its own checkpoint, or another run's small one."""

    checkpoint: Path | None = None
    small: Path | None = None
    moments: bool = True  #: of the small checkpoint's optimizers are kept
    counted: bool = False  #: the small checkpoint is of this very run and stage, whose counting goes on


@dataclass(frozen=True, kw_only=True)
class Leg:
    """A part of a run that ends by itself: a stage of a recipe."""

    number: int = 0  #: of the stage, from 0
    name: str
    begun: Counters = field(default_factory=Counters)  #: how far the run had come before it
    steps: int  #: control steps of all worlds at most
    frozen: tuple[str, ...] = ()  #: networks whose weights stay
    finished: Finished | None = None  #: when it ends before its steps are done


def start(path: Path, config: TrainConfig, *, small: Path | None = None, motion: Path | None = None) -> Path:
    """A new run in `path`, from nothing or continued from a small checkpoint.

    motion: a file of reference motion instead of the robot's own.
    """
    own_robot.check(config, motion)  # mistakes show before a directory is made
    config.check_worlds()
    if small is not None:
        small_checkpoint.load(small)
    if not starts_the_run():
        launch(config, train, path, config, Origin(small=small))
        return path
    made, run = not path.exists(), RunDirectory.create(path, config)
    try:
        with locked(path):
            own_robot.carry(path, config, motion)
            launch(config, train, path, config, Origin(small=small))
    finally:
        run.remove_stub(made)
    return path


def resume(
    path: Path,
    *,
    iteration: int | None = None,
    iterations: int | None = None,
    device: str | None = None,
    engine: str | None = None,
) -> Path:
    """Go on with a run from its newest (or the given) checkpoint: in its own physics engine, and bit for bit
    on a CPU; in another engine from its weights."""
    _, config = RunDirectory.open(path)
    if device is not None:
        config = replace(config, device=device)
    if engine is not None:
        config = replace(config, env=replace(config.env, engine=engine))
    if iterations is not None:
        config = replace(config, run=replace(config.run, iterations=iterations))
    with locked(path) if starts_the_run() else nullcontext():
        launch(config, train, path, config, Origin(checkpoint=checkpoint.choose(path, iteration)))
    return path


def continued(small: Path) -> TrainConfig:
    """The configuration a small checkpoint was trained with; the robot is the one its run carries."""
    config = small_checkpoint.load(small)[1]
    return replace(config, robot=own_robot.robot_file(config, own_robot.home(small)))


def with_ranks(config: TrainConfig) -> TrainConfig:
    """`config` with its number of ranks settled, as a run's directory records it."""
    return replace(config, ranks=rank_count(config))


def _without_worlds(path: Path, before: str, now: str, ranks: Ranks) -> Origin:
    """How a run goes on in another physics engine: from its weights, in new worlds."""
    small = path / SMALL
    if not small.is_file():
        raise UserError(
            f"{path} was saved in the {before} engine, whose worlds the {now} engine cannot take over, and "
            f"it holds no {SMALL} to go on from. Go on with --engine {before}."
        )
    if ranks.first:
        print(
            f"Saved in the {before} engine, going on in the {now} engine: from {small}, in new worlds of the "
            "same levels; not bit for bit."
        )
    return Origin(small=small, counted=True)


def _lags(small: Path, iteration: int) -> bool:
    """Whether a run was killed before it wrote its small checkpoint, too. A damaged one counts as none."""
    try:
        return (small_iteration(small) or 0) < iteration
    except UserError:
        return True


def train(
    ranks: Ranks,
    path: Path,
    config: TrainConfig,
    origin: Origin,
    leg: Leg | None = None,
) -> tuple[TrainingEnd, Counters]:
    """The work of one rank: why it ended, and how far it came."""
    env, algorithm = worlds.make(config, ranks, path)
    trainer, run = Trainer(env, algorithm, ranks), RunDirectory(path)
    if leg is not None:
        algorithm.freeze(leg.frozen)
        trainer.count(leg.begun)
        trainer.begun, trainer.stage = leg.begun.iteration, (leg.number, leg.name)
        iterations = leg.begun.iteration + ceil(leg.steps / (algorithm.steps * config.env.num_envs))
        config = replace(config, run=replace(config.run, iterations=iterations))
        if ranks.first:
            config_file.save(path / CONFIG, config)
    if origin.checkpoint is not None:
        _, state = checkpoint.load(origin.checkpoint, ranks)
        if not trainer.can_load(state):
            origin = _without_worlds(path, state["engine"], env.engine, ranks)
    if origin.checkpoint is not None:
        trainer.load_state_dict(state)
        if ranks.first:
            run.forget_after(trainer.iteration)
        if ranks.any(ranks.first and _lags(path / SMALL, trainer.iteration)):
            trainer.save_small(run, config)
    elif origin.small is not None:
        _, _, state = small_checkpoint.load(origin.small)
        small_checkpoint.restore(algorithm, state, origin.small, moments=origin.moments)
        trainer.assign_levels(state["levels"])
        if origin.counted:
            trainer.count(Counters(**state["counters"]))
            if ranks.first:
                run.forget_after(trainer.iteration)
        elif leg is None:  # a new run, but not the policy's first steps
            trainer.count(replace(Counters(**state.get("counters", {})), iteration=0))
    return trainer.train(run, config, None if leg is None else leg.finished), trainer.counters
