"""The whole examination of a policy's eyes: every look, and what they say together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.console import Console

from ssr.errors import UserError
from ssr.evaluation import subject
from ssr.evaluation.chance import safe_by_chance
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course, course_sets
from ssr.evaluation.eyes.landings import Footfalls, at_edges, on_treads, slope
from ssr.evaluation.eyes.looks import CAMERAS, Camera, Look, WatchedWalk, looks_at, under
from ssr.evaluation.eyes.phantom import repeats, shares_of, tread_of
from ssr.evaluation.eyes.record import EYES, Eyes, own_code
from ssr.evaluation.eyes.sight import BLURRED, Glimpse, Sight, edges_seen, map_error
from ssr.evaluation.intervals import Estimate, wilson
from ssr.evaluation.measures import Row, row_of
from ssr.evaluation.trials import FELL
from ssr.evaluation.workers import work
from ssr.evaluation.worlds import CHUNK
from ssr.progress import Progress
from ssr.ranges import Within, settings
from ssr.task.first_time import compile_kernels

Key = tuple[Camera, float]  #: camera, shift


@settings("--")
class Examination:
    """What is to be found out, and about whom."""

    source: str  #: what `subject.load` takes
    iteration: Annotated[int | None, Within(0, 100_000_000)] = None
    """Of the snapshot, instead of the newest weights."""
    courses: tuple[Course, ...] = course_sets()["standard"]
    trials: Annotated[int, Within(2, 1_000_000)] = 40
    conditions: Conditions = field(default_factory=Conditions)
    workers: Annotated[int, Within(1, 1024)] = 1
    folder: Path | None = None  #: instead of RUN/eyes

    def __post_init__(self) -> None:
        if not 4.0 <= self.conditions.seconds <= 20.0:
            raise UserError(
                f"--seconds {self.conditions.seconds:g}: expected 4 to 20, as far as strips reach."
            )

    @property
    def target(self) -> Path:
        if self.folder is not None:
            return self.folder
        base = subject.home(self.source) / EYES
        return base if self.iteration is None else base / f"iteration-{self.iteration:06d}"


def examine(request: Examination, console: Console) -> Eyes:
    """Take all looks and write them down."""
    tried = subject.load(request.source, request.iteration)
    if tried.camera is None or tried.policy is None or tried.policy.decode is None:
        raise UserError(f"{request.source} has no eyes: give a run directory made by `ssr train`.")
    walks = _walks(request, tried, console)
    eyes = Eyes(
        name=tried.name,
        policy=tried.digest,
        code=own_code(),
        robot=tried.robot.name,
        iteration=tried.iteration,
        conditions=request.conditions,
        trials=request.trials,
    )
    for course, looks in walks.items():
        label = {"terrain": course.kind, "setting": course.text}
        sight = looks["open", 0.0].sight
        assert sight is not None
        eyes.sight.append(label | sight_row(sight))
        if len(shares_of(course)) > 1:
            deceived = {share: looks["open", share] for share in shares_of(course)}
            eyes.phantoms.append(label | phantom_row(course, deceived))
        chance = None if course.terrain.inclined else round(safe_by_chance(course, tried.robot.sole), 4)
        for camera in CAMERAS:
            row = row_of(course, looks[camera, 0.0].trials, under(request.conditions, camera))
            eyes.cameras.append(row | {"camera": camera, "sfr_chance": chance})
    eyes.save(request.target)
    return eyes


def _walks(
    request: Examination, tried: subject.Subject, console: Console
) -> dict[Course, dict[Key, WatchedWalk]]:
    """All looks, chunk by chunk over the workers."""
    jobs = [
        look
        for course in request.courses
        for first in range(0, request.trials, CHUNK)
        for look in looks_at(
            request.source, request.iteration, course, request.conditions, first,
            min(CHUNK, request.trials - first),
        )
    ]  # fmt: skip
    parts: dict[tuple[Course, Key], dict[int, WatchedWalk]] = defaultdict(dict)
    steps = tried.task.control_steps(request.conditions.seconds)
    compile_kernels()
    with Progress(console, "steps") as progress:
        line = progress.add_task("looks", total=sum(job.count for job in jobs) * steps)

        def receive(look: Look, walk: WatchedWalk) -> None:
            parts[look.course, (look.camera, look.share)][look.first] = walk
            how = f"shown {look.share:+.2f} tread" if look.share else look.camera
            progress.update(line, description=f"{look.course.title}, {how}")

        work(jobs, request.workers, lambda done: progress.advance(line, done), receive)
    found: dict[Course, dict[Key, WatchedWalk]] = {course: {} for course in request.courses}
    for (course, key), chunks in parts.items():
        found[course][key] = WatchedWalk.joined([chunks[first] for first in sorted(chunks)])
    return found


def sight_row(sight: Sight) -> Row:
    """Edge sight and map error (m) in all and by age of the image in control steps, and a few moments.

    blurred: the edge sight that the true maps of the same frames would have, blurred.
    """
    ages = range(sight.sums.shape[1])
    return {
        **_interval("edge_sight", edges_seen(sight.sums.sum(axis=1))),
        "blurred": _number(edges_seen(sight.sums.sum(axis=1), BLURRED).value),
        "map_error": _number(map_error(sight.sums)),
        "maps": int(sight.sums[..., 4].sum()),
        "by_age": [
            {
                "age": age,
                **_interval("edge_sight", edges_seen(sight.sums[:, age])),
                "blurred": _number(edges_seen(sight.sums[:, age], BLURRED).value),
                "map_error": _number(map_error(sight.sums[:, age])),
            }
            for age in ages
        ],
        "moments": [_written(moment) for moment in sight.moments],
    }


def phantom_row(course: Course, walks: dict[float, WatchedWalk]) -> Row:
    """Where feet landed (m) and how many fell at each shift (share of a tread), and the slope of it all."""
    tread, shares = tread_of(course), sorted(walks)
    found = [_landings(course, walks[share]) for share in shares]
    rows = []
    for share, landings in zip(shares, found, strict=True):
        trials = walks[share].trials
        rows.append(
            {
                "share": share,
                **_interval("falls", wilson(float((trials.ending == FELL).sum()), trials.count)),
                **_places(course, landings, tread),
            }
        )
    return {"tread": tread, **_interval("slope", slope(shares, found, tread)), "shifts": rows}


def _landings(course: Course, walk: WatchedWalk) -> Footfalls:
    if repeats(course):
        return on_treads(walk.trials, walk.edges, tread_of(course))
    return at_edges(walk.trials, walk.edges)


def _places(course: Course, landings: Footfalls, tread: float) -> Row:
    """Mean places with the standard deviation of each under resampling, m."""
    drawn = landings.resampled(np.random.default_rng(0))
    if repeats(course):
        mean = landings.mean()[0]
        around = np.angle(drawn[0] * np.conj(mean)) / (2 * np.pi)
        return {
            "landings": int(landings.number[0]),
            "phase": _number(float(np.angle(mean) / (2 * np.pi) % 1.0)),
            "phase_std": _number(float(around.std())),
            "concentration": _number(float(abs(mean))),
        }
    row: Row = {}
    for name, number, mean, spread in zip(
        ("rise", "drop"), landings.number, landings.mean(), drawn, strict=True
    ):
        known = number > 0
        row |= {
            f"{name}_landings": int(number),
            f"past_{name}": _number(float(mean)) if known else None,
            f"past_{name}_std": _number(float(spread.std())) if known else None,
        }
    return row


def _interval(name: str, estimate: Estimate) -> Row:
    ends = (("", estimate.value), ("_low", estimate.low), ("_high", estimate.high))
    return {f"{name}{end}": _number(value) for end, value in ends}


def _number(value: float) -> float | None:
    return round(value, 6) if isfinite(value) else None


def _written(moment: Glimpse) -> dict[str, Any]:
    """Heights to the millimetre, depths to the centimetre."""
    heights = {name: np.round(getattr(moment, name), 3).tolist() for name in ("true", "decoded", "ground")}
    return {
        "seconds": round(moment.seconds, 2),
        "x": round(moment.x, 3),
        "age": moment.age,
        "image": np.round(moment.image.astype(float), 2).tolist(),
        **heights,
    }
