"""The whole reference motion of a robot from a folder of recordings, plus what is planned."""

from __future__ import annotations

import json
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from ssr.errors import UserError
from ssr.files import write_json
from ssr.machine import cores
from ssr.motion import importing, store
from ssr.motion.clip import COLUMNS, Clip, Column
from ssr.motion.footsteps import Plan
from ssr.motion.ground import Ground
from ssr.motion.quality import Quality
from ssr.motion.retarget import retarget
from ssr.motion.solver import Solver
from ssr.motion.synthesis import perform
from ssr.robots.spec import RobotSpec

#: The ground a kind of motion was recorded on; stairs, steps and platforms have levels.
GROUNDS: dict[str, Ground] = {
    "forward": "flat", "backward": "flat", "turn": "flat", "gap": "flat", "stand": "flat", "slope": "slope",
}  # fmt: skip
WORTH = 8  #: parts to make, for which one more process pays for its start


@dataclass(frozen=True, kw_only=True)
class Source:
    """One recording of a folder and the column of Table 11 it belongs to."""

    path: Path
    column: Column


def sources(folder: Path) -> list[Source]:
    """All recordings below `folder`, in order of name. `clips.json` there names the kind of each.

    A recording it does not name counts as platform if boxes lie beside it, else as forward.
    """
    if not folder.is_dir():
        raise UserError(f"No such folder: {folder}. Give the folder that holds the recordings (.bvh, .npz).")
    kinds = _kinds(folder / "clips.json")
    paths = sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".bvh", ".npz"))
    if not paths:
        raise UserError(f"{folder} holds no recording (.bvh, .npz).")
    boxes = lambda p: p.with_name(f"{p.stem}.boxes.json").exists()
    return [Source(path=p, column=kinds.get(p.stem, "platform" if boxes(p) else "forward")) for p in paths]


def _kinds(path: Path) -> dict[str, Column]:
    if not path.exists():
        return {}
    try:
        kinds = {entry["clip"]: entry["kind"] for entry in json.loads(path.read_text())}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: expected a list of {{clip, kind}} ({type(error).__name__}).") from None
    wrong = sorted({k for k in kinds.values() if k not in COLUMNS})
    if wrong:
        raise UserError(f"{path}: unknown kind {wrong[0]!r}. Known: {', '.join(COLUMNS)}.")
    return kinds


def from_recording(
    solver: Solver, source: Source, progress: Callable[[int], None] = lambda frame: None
) -> tuple[list[Clip], list[Quality]]:
    """The clips of one recording that may be used, and the report rows of those that may not."""
    try:
        recording = importing.load(source.path)
    except UserError as error:
        row = Quality(
            clip=source.path.stem,
            seconds=0.0,
            slip_m_s=0.0,
            penetration_m=0.0,
            keypoint_error_m=0.0,
            limit_violations=0,
            kept=False,
            reason=str(error),
        )
        return [], [row]
    ground = GROUNDS.get(source.column, "levels")
    clips = retarget(solver, recording, column=source.column, ground=ground, progress=progress)
    return _sorted(clips)


def from_plan(solver: Solver, plan: Plan) -> tuple[list[Clip], list[Quality]]:
    """The clip of one plan if it may be used, else its report row."""
    return _sorted([perform(solver, plan)])


def _sorted(clips: list[Clip]) -> tuple[list[Clip], list[Quality]]:
    return [c for c in clips if c.quality.kept], [c.quality for c in clips if not c.quality.kept]


def made(solver: Solver, origin: Source | Plan) -> tuple[list[Clip], list[Quality]]:
    """The clips of a recording or a plan that may be used, and the report rows of those that may not."""
    return from_plan(solver, origin) if isinstance(origin, Plan) else from_recording(solver, origin)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a build has done so far, a file per recording or plan, so that it can go on after a stop."""

    folder: Path

    def make(self, name: str, solver: Solver, origin: Source | Plan) -> None:
        """Write the part called `name`, unless it is there."""
        clips, rows = self._files(name)
        if rows.exists():
            return
        kept, left_out = made(solver, origin)
        self.folder.mkdir(parents=True, exist_ok=True)
        if kept:
            store.save(clips, kept)
        write_json(rows, [q.row() for q in left_out])

    def get(self, name: str) -> tuple[list[Clip], list[Quality]]:
        """The part called `name`, which was made."""
        clips, rows = self._files(name)
        kept = store.load(clips)[0] if clips.exists() else []
        return kept, [Quality(**row) for row in json.loads(rows.read_text())]

    def _files(self, name: str) -> tuple[Path, Path]:
        return self.folder / f"{name}.npz", self.folder / f"{name}.json"

    def done(self) -> int:
        return len(list(self.folder.glob("*.json")))

    def remove(self) -> None:
        for path in self.folder.glob("*"):
            path.unlink()
        if self.folder.exists():
            self.folder.rmdir()


def make_parts(
    solver: Solver, robot: RobotSpec, parts: Parts, todo: Sequence[tuple[str, Source | Plan]]
) -> Iterator[str]:
    """Makes all parts, on all cores of this machine if there are many; names each when it is done."""
    processes = min(cores(), len(todo) // WORTH)
    if processes < 2:
        for name, origin in todo:
            parts.make(name, solver, origin)
            yield name
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, context, initializer=_begin, initargs=(robot,))
    try:
        running = {pool.submit(_make, parts, name, origin): name for name, origin in todo}
        for part in as_completed(running):
            part.result()
            yield running[part]
    except BrokenProcessPool:
        raise UserError(
            f"A process died, perhaps for lack of memory. What is done lies in {parts.folder}: "
            "run the same command again."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


_solver: Solver  #: of a process that makes parts


def _begin(robot: RobotSpec) -> None:
    global _solver
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    _solver = Solver(robot)


def _make(parts: Parts, name: str, origin: Source | Plan) -> None:
    parts.make(name, _solver, origin)
