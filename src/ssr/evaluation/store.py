"""Finished chunks of trials on disk, so that an evaluation goes on where it was stopped.

A chunk is kept under a name that holds everything its outcome depends on: policy, course, conditions and the
code that was run. A file appears under its name only when it is complete.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

import ssr
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.trials import Trials
from ssr.evaluation.worlds import CHUNK
from ssr.files import DAMAGED, replacing
from ssr.task.touchdowns import TouchdownRules

#: what decides the course of a trial; figures and reports do not
PARTS = (
    *("robots", "terrain", "physics", "vision", "task", "symmetry", "networks"),
    *("learning/foothold.py", "learning/ssr_policy.py", "learning/style.py", "learning/style_judge.py"),
    *("learning/moments.py", "motion/frames.py", "baselines"),
    *("evaluation/conditions.py", "evaluation/footholds.py"),
    *("evaluation/gait.py", "evaluation/paid_style.py", "evaluation/ramps.py", "evaluation/waypoints.py"),
    "evaluation/stress",
    *("evaluation/scripted.py", "evaluation/trials.py", "evaluation/worlds.py"),
)
PACKAGES = ("mujoco", "torch", "numpy")


@cache
def code_digest(parts: tuple[str, ...] = PARTS) -> str:
    """Of the code in these parts of the package, by default those that decide a trial's outcome, and of the
    packages they use."""
    root = Path(ssr.__file__).parent
    total = hashlib.sha256(" ".join(f"{name}=={version(name)}" for name in PACKAGES).encode())
    for part in parts:
        path = root / part
        files = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in (f for f in files if f.suffix in (".py", ".json")):
            total.update(str(file.relative_to(root)).encode())
            total.update(file.read_bytes())
    return total.hexdigest()


def digest_of(subject_digest: str, conditions: Conditions, chunk: int) -> str:
    """Of everything a trial's outcome depends on but its course and number."""
    rules = asdict(TouchdownRules())
    key = json.dumps([subject_digest, code_digest(), conditions.as_dict(), rules, chunk], sort_keys=True)
    return hashlib.sha256(key.encode()).hexdigest()


class Store:
    """The chunks of one policy under one set of conditions."""

    def __init__(self, folder: Path, *, digest: str, chunk: int = CHUNK) -> None:
        self.folder, self.chunk = folder / digest[:16], chunk

    def path(self, course: Course, first: int, count: int) -> Path:
        return self.folder / f"{course.key}-{first:05d}-{count:03d}.npz"

    def save(self, course: Course, first: int, trials: Trials) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(course, first, trials.count)
        with replacing(path) as partial:
            np.savez_compressed(partial, **{f.name: getattr(trials, f.name) for f in fields(Trials)})

    def has(self, course: Course, first: int, count: int) -> bool:
        return self.load(course, first, count) is not None

    def load(self, course: Course, first: int, count: int) -> Trials | None:
        """These trials, from any chunk that begins with the first of them; None if they are not there."""
        for path in sorted(self.folder.glob(f"{course.key}-{first:05d}-*.npz"), reverse=True):
            if int(path.stem.rpartition("-")[2]) < count:
                return None
            try:
                with np.load(path, allow_pickle=False) as file:
                    return Trials(**{f.name: file[f.name] for f in fields(Trials)}).first(count)
            except DAMAGED:
                path.unlink(missing_ok=True)  # damaged by something else than us: do it again
        return None

    def all(self, course: Course, count: int) -> Trials | None:
        """The first `count` trials of a course, or None if some are missing."""
        parts = [self.load(course, first, size) for first, size in self.chunks(count)]
        found = [part for part in parts if part is not None]
        return Trials.joined(found) if len(found) == len(parts) else None

    def forget(self, course: Course) -> None:
        for path in self.folder.glob(f"{course.key}-[0-9]*.npz"):
            path.unlink(missing_ok=True)

    def chunks(self, count: int) -> list[tuple[int, int]]:
        """(first, size) of the chunks that make up `count` trials."""
        return [(first, min(self.chunk, count - first)) for first in range(0, count, self.chunk)]
