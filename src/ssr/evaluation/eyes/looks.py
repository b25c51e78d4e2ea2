"""A look: one policy walks one strip with its camera as it is, deceived, frozen or blind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.eyes.phantom import edges_of, phantom, shares_of
from ssr.evaluation.eyes.sight import Sight, Watcher
from ssr.evaluation.subject import Subject
from ssr.evaluation.trials import Trials, follow
from ssr.evaluation.workers import Progress
from ssr.evaluation.worlds import worlds_for

Camera = Literal["open", "frozen", "blind"]
CAMERAS: tuple[Camera, ...] = ("open", "frozen", "blind")
FREEZE = 2.0  #: s into a trial, when a robot at 1 m/s is among the obstacles


@dataclass(frozen=True, kw_only=True)
class Look:
    """`count` trials side by side, the first of them number `first`."""

    source: str  #: what `subject.load` takes
    iteration: int | None
    course: Course
    conditions: Conditions  #: with an open camera
    camera: Camera = "open"
    share: float = 0.0  #: of a tread by which the camera shows the obstacles further on
    first: int = 0
    count: int

    def run(self, subject: Subject, progress: Progress) -> WatchedWalk:
        deceived = (lambda strip: phantom(strip, self.course, self.share)) if self.share else None
        worlds = worlds_for(
            subject, self.course, under(self.conditions, self.camera), self.first, self.count, self.count,
            shown=deceived,
        )  # fmt: skip
        watched = self.camera == "open" and not self.share
        watcher = Watcher(subject, worlds) if watched else None
        trials = follow(worlds, watcher or subject.actor(), 0, self.count, progress)
        return WatchedWalk(
            trials=trials,
            edges=tuple(edges_of(strip) for strip in worlds.tiles),
            sight=None if watcher is None else watcher.sight(0, self.count),
        )


@dataclass(frozen=True, kw_only=True)
class WatchedWalk:
    """What came of a look."""

    trials: Trials
    edges: tuple[np.ndarray, ...]  #: (k, 2) of each trial's strip, as `edges_of`
    sight: Sight | None

    @staticmethod
    def joined(parts: list[WatchedWalk]) -> WatchedWalk:
        sights = [part.sight for part in parts if part.sight is not None]
        return WatchedWalk(
            trials=Trials.joined([part.trials for part in parts]),
            edges=tuple(edges for part in parts for edges in part.edges),
            sight=Sight.joined(sights) if sights else None,
        )


def under(conditions: Conditions, camera: Camera) -> Conditions:
    """The same trials with another camera."""
    if camera == "frozen":
        return replace(conditions, freeze_depth=FREEZE)
    return replace(conditions, blind=True) if camera == "blind" else conditions


def looks_at(
    source: str, iteration: int | None, course: Course, conditions: Conditions, first: int, count: int
) -> list[Look]:
    """All looks of these trials on one course."""
    plain = Look(
        source=source, iteration=iteration, course=course, conditions=conditions, first=first, count=count
    )
    shut = [replace(plain, camera=camera) for camera in CAMERAS[1:]]
    return [plain, *shut, *(replace(plain, share=share) for share in shares_of(course) if share)]
