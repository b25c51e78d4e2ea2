"""The whole reference motion of a robot from a folder of recordings, plus what is planned."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ssr.errors import UserError
from ssr.files import write_json
from ssr.motion import importing, store
from ssr.motion.clip import COLUMNS, Clip, Column
from ssr.motion.footsteps import Plan
from ssr.motion.ground import Ground
from ssr.motion.quality import Quality
from ssr.motion.retarget import retarget
from ssr.motion.solver import Solver
from ssr.motion.synthesis import perform

#: The ground a kind of motion was recorded on; stairs, steps and platforms have levels.
GROUNDS: dict[str, Ground] = {
    "forward": "flat", "backward": "flat", "turn": "flat", "gap": "flat", "stand": "flat", "slope": "slope",
}  # fmt: skip


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


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a build has done so far, a file per recording or plan, so that it can go on after a stop."""

    folder: Path

    def get(
        self, name: str, make: Callable[[], tuple[list[Clip], list[Quality]]]
    ) -> tuple[list[Clip], list[Quality]]:
        """The part called `name`, from its file or made now."""
        clips, rows = (self.folder / f"{name}{suffix}" for suffix in (".npz", ".json"))
        if not rows.exists():
            kept, left_out = make()
            self.folder.mkdir(parents=True, exist_ok=True)
            if kept:
                store.save(clips, kept)
            write_json(rows, [q.row() for q in left_out])
        kept = store.load(clips)[0] if clips.exists() else []
        return kept, [Quality(**row) for row in json.loads(rows.read_text())]

    def done(self) -> int:
        return len(list(self.folder.glob("*.json")))

    def remove(self) -> None:
        for path in self.folder.glob("*"):
            path.unlink()
        if self.folder.exists():
            self.folder.rmdir()
