"""Running a recipe: its stages one after the other in one run directory, from wherever that stands.

    RUN/recipe.toml              the recipe as it was last run
    RUN/stages.json              which stage began when, from what and why, and why it ended
    RUN/stages/NAME.safetensors  the small checkpoint at a stage's end; the next one starts from this file

A finished stage stays as long as its settings and the file it started from are those of its record; the
first one that does not is run again, and so is everything after it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from math import ceil
from pathlib import Path
from typing import Any

from ssr.errors import UserError
from ssr.files import digest, write_bytes, write_json, write_text
from ssr.learning import checkpoint, config_file, small_checkpoint
from ssr.learning.config import TrainConfig
from ssr.learning.counters import Counters
from ssr.learning.distribution import launch, starts_the_run
from ssr.learning.ranks import Ranks
from ssr.learning.recipe import NOTHING, Recipe, Stage, Watch, read
from ssr.learning.run_directory import CONFIG, METRICS, SMALL, SNAPSHOTS, RunDirectory
from ssr.learning.runner import Origin, train

RECIPE, RECORD, FOLDER = "recipe.toml", "stages.json", "stages"
FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What is on record of one stage."""

    name: str
    digest: str  #: of the stage's settings
    commit: str  #: of the code that began it
    differences: dict[str, Any]  #: settings that are not the preset's
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


def is_recipe_run(path: Path) -> bool:
    return (path / RECORD).is_file()


def run(path: Path, recipe: Recipe, text: str, *, from_stage: str | None, say: Callable[[str], None]) -> None:
    """Every stage that is not done yet, in `path`. text: the recipe's file, kept beside its record."""
    done = _still_valid(path, recipe)
    if from_stage is not None:
        wanted = recipe.position(from_stage)
        if wanted > len(done):
            missing = recipe.stages[len(done)].name
            raise UserError(
                f"--from-stage {from_stage}: {path} holds no valid end of stage {missing!r} before it."
            )
        done = done[:wanted]
    if starts_the_run():
        _prepare(path, text, done, recipe)
    for number in range(len(done), len(recipe.stages)):
        stage = recipe.stages[number]
        until = f"until {' and '.join(map(str, stage.until))}, " if stage.until else ""
        say(f"Stage {number + 1} of {len(recipe.stages)}, {stage.name}: {stage.about}")
        say(f"    {until}{stage.steps:,} steps at most")
        launch(stage.config, work, path, recipe, number)
        entries = record(path)
        if len(entries) <= number or not entries[number].ended:
            return  # interrupted; the loop has said how to go on
        say(f"Stage {stage.name} ended: {entries[number].reason}")


def resume(path: Path, say: Callable[[str], None]) -> None:
    """Go on with the recipe that a run directory holds."""
    if not (path / RECIPE).is_file():
        raise UserError(f"{path} has lost its {RECIPE}. Go on with `ssr train --recipe NAME --run {path}`.")
    text = (path / RECIPE).read_text(errors="replace")
    content = _content(path)
    run(path, read(text, content["recipe"], content["seed"]), text, from_stage=None, say=say)


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
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path / RECORD} cannot be read. Restore it, or start the recipe in another --run."
        ) from error


def stage_file(path: Path, name: str) -> Path:
    return path / FOLDER / f"{name}.safetensors"


def work(ranks: Ranks, path: Path, recipe: Recipe, number: int) -> None:
    """One stage, begun or gone on with, on one rank."""
    stage, entries = recipe.stages[number], record(path)
    before, own = entries[:number], entries[number : number + 1]
    entry, origin = _going_on(path, stage, own[0] if own else None)
    ranks.wait()  # every rank has looked before the first one writes
    if entry is None:
        entry = _begun(path, stage, before, why=_why(stage, own[0] if own else None))
        start = None if stage.start == NOTHING else stage_file(path, stage.start)
        origin = Origin(small=start, moments=not stage.fresh_moments)
        if ranks.first:
            _forget_after(path, entry.at.iteration)
    config = replace(limited(stage, entry.at), ranks=ranks.size)
    if ranks.first:
        config_file.save(path / CONFIG, config)
        _write(path, recipe, [*before, entry])
    ranks.wait()
    finished = Watch(stage, begun=entry.at.iteration).see
    ending, end = train(ranks, path, config, origin, frozen=stage.frozen, finished=finished, begun=entry.at)
    if ranks.first and not ending.interrupted:
        target = stage_file(path, stage.name)
        target.parent.mkdir(exist_ok=True)
        write_bytes(target, (path / SMALL).read_bytes())
        ended = replace(entry, ended=_now(), reason=ending.reason, end=end, file_digest=digest(target))
        _write(path, recipe, [*before, ended])


def limited(stage: Stage, at: Counters) -> TrainConfig:
    """The stage's settings with its limit as the iterations of a run that had come so far before it."""
    config = stage.config
    iterations = ceil(stage.steps / (config.env.num_envs * config.ppo.steps))
    return replace(config, run=replace(config.run, iterations=at.iteration + iterations))


def _going_on(path: Path, stage: Stage, entry: Entry | None) -> tuple[Entry | None, Origin]:
    """The record of a stage that has begun and where it goes on, or nothing where it must begin."""
    if entry is None or entry.ended or not _fits(path, stage, entry):
        return None, Origin()
    if any(int(saved.name) > entry.at.iteration for saved in checkpoint.checkpoints(path)):
        return entry, Origin(checkpoint=checkpoint.choose(path))
    small = path / SMALL
    if small.is_file() and (reached := small_checkpoint.load(small)[0]) > entry.at.iteration:
        again = replace(entry, small_starts=(*entry.small_starts, reached))
        return again, Origin(small=small, counted=True)
    return None, Origin()


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


def _begun(path: Path, stage: Stage, before: Sequence[Entry], why: str) -> Entry:
    ends = {entry.name: entry.end for entry in before}
    end = before[-1].end if before else None
    assert stage.start == NOTHING or ends[stage.start] is not None, "stages run in order"
    return Entry(
        name=stage.name,
        digest=stage.digest,
        commit=_commit(),
        differences={d.setting: d.value for d in stage.differences},
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
    return "it was asked for again, or what it starts from has changed"


def _forget_after(path: Path, iteration: int) -> None:
    """Drop what former tries at this stage, and the stages after it, left behind."""
    directory = RunDirectory(path)
    directory.forget_after(iteration)
    for saved in checkpoint.checkpoints(path):
        if int(saved.name) > iteration:
            shutil.rmtree(saved, ignore_errors=True)
    for snapshot in (path / SNAPSHOTS).glob("[0-9]*.safetensors"):
        if int(snapshot.stem) > iteration:
            snapshot.unlink()
    small = path / SMALL
    if small.is_file() and small_checkpoint.load(small)[0] > iteration:
        small.unlink()


def _prepare(path: Path, text: str, done: Sequence[Entry], recipe: Recipe) -> None:
    """The run's directory, holding the recipe and the record of what need not be done again."""
    entries = record(path)
    if not entries and any((path / name).exists() for name in (METRICS, SMALL, "checkpoints")):
        raise UserError(f"{path} already holds a run without a recipe. Give another --run.")
    try:
        path.mkdir(parents=True, exist_ok=True)
        write_text(path / RECIPE, text)
        _write(path, recipe, entries[: len(done) + 1])
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
    """Of the checkout the code comes from, with a + where that has changes; its version elsewhere."""
    here = Path(__file__).parent
    try:
        ask = lambda *words: subprocess.run(
            ["git", *words], cwd=here, capture_output=True, text=True, check=True
        ).stdout.strip()
        return ask("rev-parse", "--short=12", "HEAD") + ("+" if ask("status", "--porcelain", here) else "")
    except (OSError, subprocess.CalledProcessError):
        return f"ssr {version('ssr')}"
