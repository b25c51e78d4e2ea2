"""A training killed wherever it changes the disk, one point after the other, and gone on with.

Four ways to train: begun, gone on with, gone back by an iteration and done again, a recipe of two stages.
Python tells of everything it opens to write, renames, makes and removes below the run's directory; before
each of these, and in the middle of whatever is written, the process ends as SIGKILL ends it. Curves for
TensorBoard are left out: nothing reads them again. Then some more kills at random moments. Whoever goes on
gives the same command again, or --resume where there is something to resume; what is on the disk at the end
must be what a run that was not killed leaves, to the last bit and the last file.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from alike import alike
from material import Material, recipe_text, tiny
from safetensors.torch import save
from tally import Tally

from ssr.errors import UserError
from ssr.learning import (
    checkpoint,
    packing,
    recipe,
    run_directory,
    runner,
    sealed,
    small_checkpoint,
    stages,
    worlds,
)
from ssr.learning.config import RunConfig, TrainConfig
from ssr.learning.ranks import ALONE
from ssr.learning.run_directory import BEGUN, SMALL, read_metrics

KILLED = 9
AT_RANDOM = 4  #: kills at any moment, per way and seed
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CURVES = "tfevents"
OF_THE_CLOCK = re.compile(r"seconds/.*|wall_seconds|iteration_seconds|steps_per_second|peak_memory_mb")


class FaultyDisk:
    """Counts every change below `run` in a process of its own, and ends it at number `deadly`."""

    def __init__(self, run: Path, deadly: int) -> None:
        self._run, self._deadly = str(run), deadly
        self.points: list[str] = []
        self._halfway(packing, "save_file", lambda tensors, path, **_: (Path(path), save(tensors), "wb"))
        self._halfway(Path, "write_bytes", lambda path, content: (path, content, "wb"))
        self._halfway(run_directory, "_append", lambda path, line: (path, line.encode(), "ab"))
        sys.addaudithook(self._heard)

    def _heard(self, event: str, about: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(about[2], int) and about[2] & WRITING:
            self._change("open", about[0])
        elif event == "os.rename":
            self._change("rename", about[1], about[3])
        elif event == "os.mkdir" and not os.path.lexists(about[0]):
            self._change("mkdir", about[0], about[2])
        elif event in ("os.remove", "os.rmdir"):
            where = _whole(about[0], about[1])
            if os.path.lexists(where):
                self._change(event.removeprefix("os."), where)

    def _change(self, what: str, path: Any, folder: int = -1) -> None:
        path = _whole(path, folder)
        if path.startswith(self._run) and CURVES not in path and self._point(f"before {what} of", path):
            os._exit(KILLED)

    def _point(self, what: str, path: str) -> bool:
        inside = path.removeprefix(self._run).lstrip("/")
        self.points.append(f"{what} {_kind(inside) or 'the directory'}")
        return len(self.points) == self._deadly

    def _halfway(self, owner: Any, name: str, said: Callable[..., tuple[Path, bytes, str]]) -> None:
        whole = getattr(owner, name)

        def struck(*arguments: Any, **more: Any) -> Any:
            path, content, mode = said(*arguments, **more)
            if str(path).startswith(self._run) and self._point("half of", str(path)):
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_APPEND if mode == "ab" else 0))
                os.write(descriptor, content[: len(content) // 2])
                os._exit(KILLED)
            return whole(*arguments, **more)

        setattr(owner, name, struck)


def _kind(name: str) -> str:
    """Of a file, whatever its iteration or writer."""
    return re.sub(r"\d+", "#", name)


def _files(run: Path | None) -> list[str]:
    found = sorted(run.rglob("*")) if run is not None else []
    return [str(p.relative_to(run)) for p in found if p.is_file() and CURVES not in p.name]


def _whole(path: Any, folder: int) -> str:
    """Also of a name that is told relative to an open folder."""
    if isinstance(path, int):
        return ""
    path = os.fsdecode(path)
    return path if folder == -1 or os.path.isabs(path) else f"{os.readlink(f'/proc/self/fd/{folder}')}/{path}"


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to train: what is killed, what is done then, and the directory that it begins with."""

    name: str
    work: Callable[[Path], object]
    again: Callable[[Path], object]
    before: Path | None = None


def trial(made: Material, seed: int, share: tuple[int, int] = (0, 1)) -> list[Tally]:
    """share: which part of the points, of how many."""
    folder, rng = made.folder / f"kills-{seed}", np.random.default_rng(seed)
    folder.mkdir()
    config = tiny(seed)
    text = recipe_text(seed)
    several = recipe.read(text, "tiny")
    one = replace(config, run=replace(config.run, iterations=1))
    quiet = lambda words: None

    def restart(run: Path) -> None:
        if checkpoint.checkpoints(run):
            runner.resume(run)
            return
        if any((run / name).exists() for name in BEGUN):  # refused, both ways: nothing was saved
            shutil.rmtree(run)
        runner.start(run, one)

    def follow(run: Path) -> None:
        if stages.is_recipe_run(run):
            stages.resume(run, quiet)
        else:
            stages.run(run, several, text, say=quiet)

    on = lambda run: runner.resume(run, iterations=3)
    back = lambda run: runner.resume(run, iteration=2, iterations=3)
    start = Way(name="begun", work=lambda run: runner.start(run, one), again=restart)
    with _built_once(config, *(stage.config for stage in several.stages)):
        begun = _straight(start, folder)
        resume = Way(name="gone on with", work=on, again=on, before=begun[0])
        gone_on = _straight(resume, folder)
        redo = Way(name="an iteration again", work=back, again=back, before=gone_on[0])
        by_recipe = Way(name="by a recipe", work=follow, again=follow)
        ways = [(start, begun), (resume, gone_on)] + [
            (way, _straight(way, folder)) for way in (redo, by_recipe)
        ]
        found = [tally for way, straight in ways for tally in _killed(way, straight, folder, rng, share)]
    kinds = Counter(point for _, (_, points, _) in ways for point in points)
    print(f"    {sum(kinds.values())} points at which the disk is changed, of {len(kinds)} kinds:")
    for kind, count in sorted(kinds.items()):
        print(f"    {count:4d} {kind}")
    return found


def _straight(way: Way, folder: Path) -> tuple[Path, list[str], float]:
    """What is left by a run that nobody kills, the points at which it could be, and how long it takes."""
    run, report = folder / f"straight-{way.name.replace(' ', '-')}", folder / "points"
    _copy(way.before, run)

    def work() -> None:
        disk = FaultyDisk(run, deadly=0)
        way.work(run)
        report.write_text("\n".join(disk.points))

    begin = time.monotonic()
    if code := _ended(_in_a_process(work)):
        raise RuntimeError(f"{way.name}: a run that nobody killed ended with {code}")
    points, seconds = report.read_text().splitlines(), time.monotonic() - begin
    seen = {point.rpartition(" ")[2] for point in points if not point.startswith("before mkdir")}
    seen |= {_kind(name) for name in _files(way.before)}
    by_its_folder = lambda name: _kind(str(Path(name).parent)) in seen
    if unseen := [name for name in _files(run) if _kind(name) not in seen and not by_its_folder(name)]:
        raise RuntimeError(f"{way.name}: written by something that nobody watches: {', '.join(unseen)}")
    return run, points, seconds


def _killed(
    way: Way,
    straight: tuple[Path, list[str], float],
    folder: Path,
    rng: np.random.Generator,
    share: tuple[int, int],
) -> list[Tally]:
    expected, (_, points, seconds) = _left(straight[0]), straight
    everywhere = Tally(f"killed at every write: {way.name}")
    at_random = Tally(f"killed at random: {way.name}")
    run = folder / "killed"
    mine, parts = share
    for number, point in list(enumerate(points, 1))[mine::parts]:
        everywhere.tried += 1
        _copy(way.before, run)
        code = _ended(_in_a_process(lambda n=number: (FaultyDisk(run, deadly=n), way.work(run))))
        if code != KILLED:
            everywhere.bad.append(f"point {number}, {point}: ended with {code} instead of being killed")
        _go_on(way, run, expected, everywhere, f"point {number}, {point}")
    for _ in range(AT_RANDOM):
        at_random.tried += 1
        _copy(way.before, run)
        wait = float(rng.uniform(0.0, seconds))
        pid = _in_a_process(lambda: way.work(run))
        time.sleep(wait)
        os.kill(pid, signal.SIGKILL)
        code = _ended(pid)
        if code not in (-signal.SIGKILL, 0):
            at_random.bad.append(f"after {wait:.3f} s: ended with {code}")
        _go_on(way, run, expected, at_random, f"after {wait:.3f} s")
    for tally in (everywhere, at_random):
        print(f"    {tally.what}: {tally.harmless} of {tally.tried} went on bit for bit", flush=True)
    return [everywhere, at_random]


def _go_on(way: Way, run: Path, expected: dict[str, Any], tally: Tally, where: str) -> None:
    code = _ended(_in_a_process(lambda: way.again(run)))
    if code != 0:
        tally.bad.append(f"{where}: going on ended with {code}")
    elif why := _difference(_left(run), expected):
        tally.bad.append(f"{where}: {why}")
    else:
        tally.harmless += 1


def _left(run: Path) -> dict[str, Any]:
    """What a run leaves, without clocks: files and their contents."""
    left: dict[str, Any] = {"files": _files(run)}
    files = [run / name for name in left["files"]]
    for path in checkpoint.checkpoints(run):
        left[f"checkpoint {path.name}"] = _timeless(checkpoint.load(path))
    for path in (p for p in files if p.suffix == ".safetensors" and p.parent.name == "snapshots"):
        left[f"snapshot {path.name}"] = sealed.read(path)
        sealed.require_seal(path, *left[f"snapshot {path.name}"])
    for path in (p for p in files if p.name == SMALL or p.parent.name == "stages"):
        left[str(path.relative_to(run))] = _timeless(small_checkpoint.load(path)[::2])
    left["metrics"] = _timeless(read_metrics(run))
    left["stages"] = [(e.name, e.end and e.end.iteration, e.small_starts) for e in stages.record(run)]
    return left


def _timeless(state: Any) -> Any:
    if isinstance(state, dict):
        return {k: _timeless(v) for k, v in state.items() if not OF_THE_CLOCK.fullmatch(str(k))}
    return type(state)(map(_timeless, state)) if isinstance(state, list | tuple) else state


def _difference(left: dict[str, Any], expected: dict[str, Any]) -> str:
    """A checkpoint older than those that are kept may stay, if it is whole, until the next one is saved."""
    least = min(name for name in expected["files"] if name.startswith("checkpoints/"))
    older = lambda name: name.startswith("checkpoints/0") and Path(name).parent.name < Path(least).parent.name
    others = {name for name in set(left["files"]) ^ set(expected["files"]) if not older(name)}
    if others:
        return f"other files: {', '.join(sorted(others))}"
    left["files"] = expected["files"]
    others = [name for name in expected if not alike(left.get(name), expected[name])]
    return f"not bit for bit what it would have been: {', '.join(others)}" if others else ""


@contextmanager
def _built_once(*configs: TrainConfig) -> Iterator[None]:
    """Every process begins with worlds and networks as they are built here, fresh ones for every stage."""
    key = lambda config: repr(replace(config, run=RunConfig(), ranks=1))
    built: dict[str, list[Any]] = {}
    for config in configs:
        built.setdefault(key(config), []).append((worlds.make(config, ALONE), torch.get_rng_state()))

    def again(config: TrainConfig, *_: Any) -> Any:
        made, random = built[key(config)].pop(0)
        torch.set_rng_state(random)
        return made

    before = runner.worlds, stages._commit
    runner.worlds = SimpleNamespace(make=again)  # type: ignore[assignment]
    stages._commit = lambda: "here"  # git need not be asked each time
    try:
        yield
    finally:
        runner.worlds, stages._commit = before


def _copy(before: Path | None, run: Path) -> None:
    shutil.rmtree(run, ignore_errors=True)
    if before is not None:
        shutil.copytree(before, run)


def _in_a_process(work: Callable[[], object]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
            torch.set_num_threads(1)
            work()
            os._exit(0)
        except UserError as error:
            os.write(1, f"    {error}\n".encode())
            os._exit(2)
        except BaseException:
            os.write(1, traceback.format_exc().encode())
            os._exit(1)
    return pid


def _ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
