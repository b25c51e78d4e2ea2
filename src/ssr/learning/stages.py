"""Running a recipe: its stages one after the other in one run directory, from wherever that stands.

    RUN/recipe.toml              the recipe as it was last run
    RUN/stages.json              which stage began when, from what and why, and why it ended
    RUN/stages/NAME.safetensors  the small checkpoint at a stage's end; the next one starts from this file

A finished stage stays as long as its settings and the file it started from are those of its record; the
first one that does not is run again, and so is everything after it, when the recipe is asked for by name.
All settings of a stage stand in its file.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ssr.errors import UserError
from ssr.files import DAMAGED, digest, write_bytes, write_json, write_text
from ssr.learning import checkpoint, own_robot
from ssr.learning.counters import Counters
from ssr.learning.distribution import device_of, launch, starts_the_run
from ssr.learning.ranks import Ranks
from ssr.learning.recipe import NOTHING, Recipe, Stage, Watch, read
from ssr.learning.run_directory import METRICS, SMALL, RunDirectory
from ssr.learning.run_lock import locked
from ssr.learning.runner import Leg, Origin, train, with_ranks
from ssr.learning.saved import small_iteration, snapshots
from ssr.learning.trainer import TrainingEnd
from ssr.wording import counted

RECIPE, RECORD, FOLDER = "recipe.toml", "stages.json", "stages"
FORMAT = 2


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What is on record of one stage."""

    name: str
    recipe_digest: str  #: of the whole recipe when it began
    digest: str  #: of the stage's settings
    commit: str  #: of the code that began it
    differences: dict[str, Any]  #: settings that are not the preset's; all of them stand in its file
    ranks: int  #: that train it
    start: str  #: the stage it started from, or NOTHING
    start_digest: str  #: of that stage's file, empty for NOTHING
    began: str  #: UTC
    why: str  #: it began
    at: Counters  #: when it began
    small_starts: tuple[int, ...] = ()  #: iterations at which it went on from the small checkpoint alone
    ended: str = ""  #: UTC; empty while it runs
    reason: str = ""  #: it ended
    end: Counters | None = None
    file_digest: str = ""  #: of its small checkpoint

    def holds(self, iteration: int) -> bool:
        return self.at.iteration < iteration and (self.end is None or iteration <= self.end.iteration)


def is_recipe_run(path: Path) -> bool:
    return (path / RECORD).is_file()


def run(
    path: Path,
    recipe: Recipe,
    text: str,
    *,
    from_stage: str | None = None,
    iteration: int | None = None,
    motion: Path | None = None,
    say: Callable[[str], None],
) -> None:
    """Every stage that is not done yet, in `path`; stages that no longer match their record are run again.

    text: the recipe's file, kept beside its record; iteration: the checkpoint with which the newest stage
    goes on, instead of the newest; motion: a file of reference motion instead of the robot's own.
    """
    require_possible(path, recipe, motion)
    _require_own(path, recipe)
    if not starts_the_run():
        _run(path, recipe, text, from_stage, iteration, motion, lambda text: None)
        return
    made = not path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"Cannot make a run in {path}: {error.strerror}.") from error
    try:
        with locked(path):
            _run(path, recipe, text, from_stage, iteration, motion, say)
    finally:
        RunDirectory(path).remove_stub(made, RECIPE, RECORD)


def _run(
    path: Path,
    recipe: Recipe,
    text: str,
    from_stage: str | None,
    iteration: int | None,
    motion: Path | None,
    say: Callable[[str], None],
) -> None:
    entries, done = record(path), _still_valid(path, recipe)
    if from_stage is not None:
        wanted = recipe.position(from_stage)
        if wanted > len(done):
            missing = recipe.stages[len(done)].name
            raise UserError(
                f"--from-stage {from_stage}: {path} holds no valid end of stage {missing!r} before it."
            )
        done = done[:wanted]
    if iteration is not None:
        done = done[: len(entries) - 1]
    number = len(done)
    former = entries[number] if number < len(entries) else None
    again = from_stage is not None or (former is not None and former.ended and iteration is None)
    if starts_the_run():  # a stage that is run again has no record until it has begun
        _prepare(path, text, done if again else entries[: number + 1], recipe)
        if not own_robot.carries(path):
            own_robot.carry(path, recipe.stages[0].config, motion)
    for number in range(len(done), len(recipe.stages)):
        stage = recipe.stages[number]
        until = f"until {' and '.join(map(str, stage.until))}, " if stage.until else ""
        say(f"Stage {number + 1} of {len(recipe.stages)}, {stage.name}: {stage.about}")
        say(f"    {until}{stage.steps:,} steps at most")
        ranks = stage.config.ranks or (former.ranks if former and not again else 0)
        why = "it was asked for again" if from_stage == stage.name else _why(stage, former)
        ending = launch(replace(stage.config, ranks=ranks), work, path, recipe, number, why, iteration)
        if ending.interrupted:
            return  # the loop has said how to go on
        say(f"Stage {stage.name} ended: {ending.reason}")
        if ending.asked and number + 1 < len(recipe.stages):
            say(f"Stopped and saved. Go on: ssr train --resume {path}")
            return
        former = iteration = None
    say(f"Recipe {recipe.name} is done, {counted(len(recipe.stages), 'stage')}: {path}")


def resume(path: Path, say: Callable[[str], None], iteration: int | None = None) -> None:
    """Go on with the recipe that a run directory holds; nothing of it is run again."""
    if not (path / RECIPE).is_file():
        raise UserError(f"{path} has lost its {RECIPE}. Go on with `ssr train --recipe NAME --run {path}`.")
    text = (path / RECIPE).read_text(errors="replace")
    content = _content(path)
    recipe = read(text, content["recipe"], content["seed"])
    entries, done = content["stages"], len(_still_valid(path, recipe))
    stale = entries[done:]
    if stale and not (
        len(stale) == 1 and done < len(recipe.stages) and _goes_on(path, recipe.stages[done], stale[0])
    ):
        raise UserError(
            f"Stage {stale[0].name} of {path} no longer matches its record: its settings, its file or what "
            f"it started from have changed. `ssr train --recipe {recipe.name} --run {path}` runs it and "
            "those after it again."
        )
    if iteration is not None:
        checkpoint.choose(path, iteration)
        if not (entries and entries[-1].holds(iteration)):
            raise UserError(
                f"Iteration {iteration} is not of the newest stage. `ssr train --recipe {recipe.name} "
                f"--run {path} --from-stage NAME` runs a stage and those after it again."
            )
    run(path, recipe, text, iteration=iteration, say=say)


def record(path: Path) -> list[Entry]:
    """What is on record of a run's stages, in order."""
    return _content(path)["stages"] if is_recipe_run(path) else []


def _content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads((path / RECORD).read_text())
        if content["format"] != FORMAT:
            raise UserError(f"{path / RECORD} has format {content['format']}, this version reads {FORMAT}.")
        return {name: content[name] for name in ("recipe", "seed")} | {
            "stages": [_entry(values) for values in content["stages"]]
        }
    except DAMAGED as error:
        raise UserError(
            f"{path / RECORD} cannot be read. Restore it, or start the recipe in another --run."
        ) from error


def stage_file(path: Path, name: str) -> Path:
    return path / FOLDER / f"{name}.safetensors"


def work(
    ranks: Ranks, path: Path, recipe: Recipe, number: int, why: str, iteration: int | None = None
) -> TrainingEnd:
    """One stage, begun or gone on with, on one rank. why: it begins, if it does."""
    stage, entries = recipe.stages[number], record(path)
    before, own = entries[:number], entries[number : number + 1]
    entry, origin = _going_on(path, stage, own[0] if own else None, iteration)
    ranks.wait()  # every rank has looked before the first one writes
    if entry is None:
        entry = _begun(path, recipe, number, before, why, ranks)
        start = None if stage.start == NOTHING else stage_file(path, stage.start)
        origin = Origin(small=start, moments=not stage.fresh_moments)
        if ranks.first:
            _forget_after(path, entry.at.iteration)
    if ranks.first:
        _write(path, recipe, [*before, entry])
    ranks.wait()
    watch = Watch(stage, begun=entry.at.iteration)
    leg = Leg(
        number=number,
        name=stage.name,
        begun=entry.at,
        steps=stage.steps,
        frozen=stage.frozen,
        finished=watch.see,
    )
    ending, end = train(ranks, path, replace(stage.config, ranks=ranks.size), origin, leg)
    if ranks.first and not ending.interrupted:
        if watch.count < stage.held:
            ending = replace(ending, reason=watch.ran_out())
        target = stage_file(path, stage.name)
        target.parent.mkdir(exist_ok=True)
        write_bytes(target, (path / SMALL).read_bytes())
        ended = replace(entry, ended=_now(), reason=ending.reason, end=end, file_digest=digest(target))
        _write(path, recipe, [*before, ended])
    ranks.wait()  # the next stage reads what the first rank has written
    return ending


def _going_on(
    path: Path, stage: Stage, entry: Entry | None, iteration: int | None
) -> tuple[Entry | None, Origin]:
    """The record of a stage that has begun and where it goes on, or nothing where it must begin."""
    if entry is not None and iteration is not None:
        reopened = replace(entry, ended="", reason="", end=None, file_digest="")
        return reopened, Origin(checkpoint=checkpoint.choose(path, iteration))
    if entry is None or not _goes_on(path, stage, entry):
        return None, Origin()
    if any(int(saved.name) > entry.at.iteration for saved in checkpoint.checkpoints(path)):
        return entry, Origin(checkpoint=checkpoint.choose(path))
    small = path / SMALL
    if (reached := small_iteration(small) or 0) > entry.at.iteration:
        again = replace(entry, small_starts=(*entry.small_starts, reached))
        return again, Origin(small=small, counted=True)
    return None, Origin()


def _goes_on(path: Path, stage: Stage, entry: Entry) -> bool:
    return not entry.ended and _fits(path, stage, entry)


def _fits(path: Path, stage: Stage, entry: Entry) -> bool:
    """Whether what is on record is this stage, started from what there is now."""
    return (entry.name, entry.digest, entry.start_digest) == (
        stage.name,
        stage.digest,
        _start_digest(path, stage),
    )


def _start_digest(path: Path, stage: Stage) -> str:
    if stage.start == NOTHING:
        return ""
    file = stage_file(path, stage.start)
    return digest(file) if file.is_file() else "missing"


def _still_valid(path: Path, recipe: Recipe) -> list[Entry]:
    """Records of the finished stages, from the first one on, that need not be run again."""
    valid = []
    for stage, entry in zip(recipe.stages, record(path), strict=False):
        file = stage_file(path, stage.name)
        whole = entry.ended and file.is_file() and digest(file) == entry.file_digest
        if not (whole and _fits(path, stage, entry)):
            break
        valid.append(entry)
    return valid


def _begun(path: Path, recipe: Recipe, number: int, before: Sequence[Entry], why: str, ranks: Ranks) -> Entry:
    stage, end = recipe.stages[number], before[-1].end if before else None
    return Entry(
        name=stage.name,
        recipe_digest=recipe.digest,
        digest=stage.digest,
        commit=_commit(),
        differences={d.setting: d.value for d in stage.differences},
        ranks=ranks.size,
        start=stage.start,
        start_digest=_start_digest(path, stage),
        began=_now(),
        why=why,
        at=end or Counters(),
    )


def _why(stage: Stage, former: Entry | None) -> str:
    if former is None:
        return "the first stage" if stage.start == NOTHING else f"stage {stage.start} had ended"
    if former.name != stage.name or former.digest != stage.digest:
        return "its settings have changed"
    if not former.ended:
        return "it had been stopped before anything was saved"
    return "its file or what it starts from has changed"


def _forget_after(path: Path, iteration: int) -> None:
    """Drop what former tries at this stage, and the stages after it, left behind."""
    small = path / SMALL
    small_is_newer = (small_iteration(small) or 0) > iteration  # damaged, it stops us before anything is gone
    RunDirectory(path).forget_after(iteration)
    for saved in checkpoint.checkpoints(path):
        if int(saved.name) > iteration:
            checkpoint.remove(saved)
    for number, snapshot in snapshots(path).items():
        if number > iteration:
            snapshot.unlink()
    if small_is_newer:
        small.unlink()


def require_possible(path: Path, recipe: Recipe, motion: Path | None) -> None:
    """What depends on this machine: a mistake in the last stage shows before the first begins."""
    for stage in recipe.stages:
        try:
            if stage.config.robot != recipe.stages[0].config.robot:
                raise UserError(f"a run has one robot; this stage names {stage.config.robot}.")
            own_robot.check(stage.config, motion, path)
            device_of(stage.config)
            with_ranks(stage.config).check_worlds()
        except UserError as error:
            raise UserError(f"Recipe {recipe.name}, stage {stage.name}: {error}") from error


def _require_own(path: Path, recipe: Recipe) -> None:
    """A directory that holds something else is left alone."""
    if is_recipe_run(path):
        content = _content(path)
        if content["recipe"] != recipe.name:
            raise UserError(f"{path} holds recipe {content['recipe']}. Give another --run for {recipe.name}.")
        if content["seed"] != recipe.seed:
            raise UserError(f"{path} holds seed {content['seed']}: give it with --seed, or another --run.")
    elif any((path / name).exists() for name in (METRICS, SMALL, "checkpoints")):
        raise UserError(f"{path} already holds a run without a recipe. Give another --run.")


def _prepare(path: Path, text: str, kept: Sequence[Entry], recipe: Recipe) -> None:
    """The run's directory, holding the recipe and the record of what need not be done again."""
    try:
        write_text(path / RECIPE, text)
        _write(path, recipe, kept)
    except OSError as error:
        raise UserError(f"Cannot make a run in {path}: {error.strerror}.") from error


def _write(path: Path, recipe: Recipe, entries: Sequence[Entry]) -> None:
    stages = [asdict(entry) for entry in entries]
    content = {"format": FORMAT, "recipe": recipe.name, "seed": recipe.seed, "stages": stages}
    write_json(path / RECORD, content, indent=1)


def _entry(values: dict[str, Any]) -> Entry:
    counted = {name: Counters(**values[name]) for name in ("at", "end") if values[name] is not None}
    return Entry(**values | counted | {"small_starts": tuple(values["small_starts"])})


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())


def _commit() -> str:
    """Of the checkout the code comes from, with a + where the package has changes; its version elsewhere."""
    package = Path(__file__).parents[1]
    ask = lambda *words: subprocess.run(
        ["git", *words], cwd=package, capture_output=True, text=True, check=True
    ).stdout.strip()
    try:
        ask("ls-files", "--error-unmatch", __file__)  # an installed copy may lie in somebody else's checkout
        return ask("rev-parse", "--short=12", "HEAD") + ("+" if ask("status", "--porcelain", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return f"ssr {version('ssr')}"
