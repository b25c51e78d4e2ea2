"""A training killed at every point at which it writes, one after the other, and gone on with.

The writer is one with a fault: it counts what reaches the disk – a file half written, a line half appended, a
flush, a rename, a folder made or removed – and at its number ends the process as a power cut would.
"""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from material import Material, tiny
from safetensors.torch import load_file
from tally import Tally

from ssr.errors import UserError
from ssr.learning import checkpoint, packing, run_directory, runner, sealed, worlds
from ssr.learning.ranks import ALONE
from ssr.learning.run_directory import read_metrics
from ssr.learning.run_lock import locked
from ssr.learning.runner import Origin

ITERATIONS = 3
KILLED = 9


class FaultyDisk:
    """Patches what `ssr` writes with, in a process of its own."""

    def __init__(self, deadly: int) -> None:
        self.deadly, self.count = deadly, 0
        self.points: list[str] = []
        for owner, name in ((os, "fsync"), (os, "replace"), (shutil, "rmtree"), (Path, "mkdir")):
            self._around(owner, name)
        self._halfway(packing, "save_file", self._half_tensors)
        self._halfway(Path, "write_bytes", lambda path, content: self._half(path, content))
        self._halfway(run_directory, "_append", lambda path, line: self._half(path, line.encode(), "ab"))

    def _point(self, name: str) -> bool:
        self.points.append(name)
        self.count += 1
        return self.count == self.deadly

    def _around(self, owner: Any, name: str) -> None:
        """Killed before it, and killed after it."""
        whole = getattr(owner, name)

        def struck(*arguments: Any, **more: Any) -> Any:
            if self._point(f"before {name}"):
                os._exit(KILLED)
            result = whole(*arguments, **more)
            if self._point(f"after {name}"):
                os._exit(KILLED)
            return result

        setattr(owner, name, struck)

    def _halfway(self, owner: Any, name: str, half: Callable[..., None]) -> None:
        whole = getattr(owner, name)

        def struck(*arguments: Any, **more: Any) -> Any:
            if self._point(f"half of {name}"):
                half(*arguments, **more)
                os._exit(KILLED)
            return whole(*arguments, **more)

        setattr(owner, name, struck)

    @staticmethod
    def _half(path: Path, content: bytes, mode: str = "wb") -> None:
        with path.open(mode) as file:
            file.write(content[: len(content) // 2])

    @staticmethod
    def _half_tensors(tensors: Any, path: str, **_: Any) -> None:
        from safetensors.torch import save

        FaultyDisk._half(Path(path), save(tensors))


def trial(made: Material, seed: int) -> list[Tally]:
    tally, folder = Tally("kills at write points"), made.folder / "kills"
    folder.mkdir(exist_ok=True)
    config = tiny(seed)
    config = replace(config, run=replace(config.run, iterations=ITERATIONS))
    _build_once(config)
    report = folder / f"points-{seed}"
    straight = folder / f"straight-{seed}"
    _in_a_process(lambda: _train(straight, config, deadly=0, report=report))
    points = report.read_text().splitlines()
    tally.tried = len(points)
    for number, point in enumerate(points, 1):
        run = folder / f"killed-{seed}-{number}"
        code = _in_a_process(lambda r=run, n=number: _train(r, config, deadly=n))
        if code != KILLED:
            tally.bad.append(f"point {number}, {point}: ended with {code} instead of being killed")
        again = _in_a_process(lambda r=run: _go_on(r, config))
        if again != 0:
            tally.bad.append(f"point {number}, {point}: going on ended with {again}")
        elif why := _differs(run, straight):
            tally.bad.append(f"point {number}, {point}: {why}")
        else:
            tally.harmless += 1
        shutil.rmtree(run, ignore_errors=True)
    kinds = sorted(set(points))
    print(f"    {len(points)} write points of {len(kinds)} kinds: {', '.join(kinds)}")
    return [tally]


def _build_once(config: Any) -> None:
    """Every process begins with a copy of worlds and networks as they are built here."""
    built = worlds.make(config, ALONE)
    random = torch.get_rng_state()

    def again(*_: Any) -> Any:
        torch.set_rng_state(random)
        return built

    runner.worlds = SimpleNamespace(make=again)  # type: ignore[assignment]


def _in_a_process(work: Callable[[], None]) -> int:
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
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _train(run: Path, config: Any, deadly: int, report: Path | None = None) -> None:
    run_directory.RunDirectory.create(run, config)
    disk = FaultyDisk(deadly)
    with locked(run):
        runner.train(ALONE, run, config, Origin())
    if report is not None:
        points = disk.points[:]
        report.write_text("\n".join(points))


def _go_on(run: Path, config: Any) -> None:
    """As `ssr train --resume` does; a run that had saved nothing begins again."""
    with locked(run):
        if checkpoint.checkpoints(run):
            runner.train(ALONE, run, config, Origin(checkpoint=checkpoint.choose(run)))
        else:
            (run / "metrics.jsonl").unlink(missing_ok=True)
            runner.train(ALONE, run, config, Origin())


def _differs(run: Path, straight: Path) -> str:
    """How the end of a run that was killed is not that of one that was not."""
    one, other = (load_file(checkpoint.choose(path) / "rank0.safetensors") for path in (run, straight))
    if one.keys() != other.keys() or not all(torch.equal(one[name], other[name]) for name in other):
        return "not bit for bit what it would have been"
    # The order of metadata in a file of safetensors is another one each time: its seal is over what it says.
    told, expected = (sealed.read(path / "snapshots" / "000003.safetensors")[0] for path in (run, straight))
    if told != expected:
        return "another last snapshot"
    done = [row["iteration"] for row in read_metrics(run)]
    if done != list(range(1, ITERATIONS + 1)):
        return f"metrics of iterations {done}"
    hidden = [str(p.relative_to(run)) for p in run.rglob(".*")]
    return f"left {', '.join(hidden)}" if hidden else ""
