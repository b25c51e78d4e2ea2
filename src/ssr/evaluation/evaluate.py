"""The whole evaluation of one policy: which trials are missing, doing them, the table, the report."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
from rich.console import Console

from ssr.errors import UserError
from ssr.evaluation import directions, manner, subject
from ssr.evaluation.chance import safe_by_chance
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course, course_sets
from ssr.evaluation.measures import Row, row_of
from ssr.evaluation.paid_style import paid_reference
from ssr.evaluation.results import EVAL, RESULTS, TRIALS, OtherFormat, Results, load
from ssr.evaluation.store import Store, digest_of
from ssr.evaluation.trials import Trials
from ssr.evaluation.workers import Job, work
from ssr.evaluation.worlds import CHUNK
from ssr.learning import saved
from ssr.motion import store as motions
from ssr.motion.dataset import MotionDataset
from ssr.motion.frames import STRIDE
from ssr.progress import Progress, doing
from ssr.ranges import Within, settings
from ssr.task.config import TaskConfig
from ssr.task.first_time import compile_kernels
from ssr.wording import counted

TABLE_2 = course_sets()["table2"]
SNAPSHOT_COURSES = tuple(c for c in TABLE_2 if not c.beyond)  #: on which Fig. 6c follows the MSR
SNAPSHOT_TRIALS = 40


@settings("--")
class Request:
    """What is to be known about a policy."""

    source: str  #: what `subject.load` takes
    iteration: Annotated[int | None, Within(0, 100_000_000)] = None
    """Of the snapshot, instead of the newest weights."""
    courses: tuple[Course, ...] = TABLE_2  #: each is tried by itself
    trials: Annotated[int, Within(1, 1_000_000)] = 200  #: per course
    conditions: Conditions = field(default_factory=Conditions)
    snapshots: Annotated[int, Within(0, 10000)] = 0  #: how many snapshots to follow the support ratio over
    directions: bool = True  #: also walk in eight directions and turn
    manner: bool = True  #: also compare the walk with the reference motion
    workers: Annotated[int, Within(1, 1024)] = 1  #: processes
    fresh: bool = False  #: do everything anew
    folder: Path | None = None  #: instead of RUN/eval
    chunk: Annotated[int, Within(1, 100000)] = CHUNK
    """Trials side by side; another number gives other, equally good, trials."""

    def __post_init__(self) -> None:
        if self.snapshots == 1:
            raise UserError(f"--snapshots {self.snapshots}: expected 0, or at least 2 to draw a line.")

    @property
    def run(self) -> Path | None:
        return subject.run_directory(self.source)

    @property
    def target(self) -> Path:
        """Where results go. Stress has a folder of its own, so that it never replaces the plain results."""
        if self.folder is not None:
            return self.folder
        base = subject.home(self.source) / EVAL
        words = [] if self.iteration is None else [f"iteration-{self.iteration:06d}"]
        words += [self.conditions.label] if self.conditions.label else []
        return base / "_".join(words) if words else base


def evaluate(request: Request, console: Console) -> Results:
    """Do what is missing, and write results.json."""
    tried = subject.load(request.source, request.iteration)
    results = _begin(request, tried)
    plan = [_Part(request, results.digest, tried.iteration, c, request.trials) for c in request.courses]
    plan += _over_snapshots(request, tried.iteration)
    if request.fresh:
        for part in plan:
            part.store.forget(part.course)
    _do(plan, request, tried.task, console)
    stride = tried.style_judge.stride if tried.style_judge else STRIDE
    moved = motions.of(tried.robot).is_file()
    motion = MotionDataset.load(tried.robot, stride=stride) if moved else None
    beside = _beside(tried, motion)
    for part in plan:
        trials = part.store.all(part.course, part.trials)
        assert trials is not None
        row = row_of(part.course, trials, request.conditions) | beside(part.course)
        if part.digest == results.digest:
            results.put(row)
        if part.snapshot:
            results.put_snapshot(row | {"iteration": part.iteration})
    results.save()
    if request.directions:
        results.directions = _directions(request, results, tried, console)
    if request.manner and motion is not None:
        results.manner = _manner(request, results, tried, motion, console)
    results.save()
    return results


def _beside(tried: subject.Subject, motion: MotionDataset | None) -> Callable[[Course], Row]:
    """What a course's row is to be read beside: feet put anywhere, and the reference's own style reward."""
    judge = tried.style_judge
    paid = {} if judge is None or motion is None else paid_reference(judge, motion)

    def row(course: Course) -> Row:
        return {
            "sfr_chance": None
            if course.terrain.inclined
            else round(safe_by_chance(course, tried.robot.sole), 4),
            "style_reference": paid.get(course.terrain.terrain_type),
        }

    return row


def _begin(request: Request, tried: subject.Subject) -> Results:
    """Results so far: those of the same policy, conditions and code, else none."""
    digest = digest_of(tried.digest, request.conditions, request.chunk)
    results = Results(
        name=tried.name,
        folder=request.target,
        digest=digest,
        conditions=request.conditions,
        iteration=tried.iteration,
        robot=tried.robot.name,
        policy=tried.digest,
        trained_friction=tried.task.randomization.friction_rule if tried.policy else None,
        run=request.run,
        chunk=request.chunk,
    )
    if (request.target / RESULTS).is_file() and not request.fresh:
        with suppress(OtherFormat):  # which is then written anew
            former = load(request.target)
            if former.digest == digest:
                results.rows, results.snapshots = former.rows, former.snapshots
                results.directions, results.manner = former.directions, former.manner
    return results


@dataclass(frozen=True)
class _Part:
    """All trials of one policy on one course."""

    request: Request
    digest: str
    iteration: int | None
    course: Course
    trials: int
    snapshot: bool = False

    @property
    def store(self) -> Store:
        return Store(self.request.target / TRIALS, digest=self.digest, chunk=self.request.chunk)

    def missing(self) -> list[Job]:
        request = self.request
        iteration = self.iteration if request.run is not None else None
        return [
            Job(
                source=request.source,
                iteration=iteration,
                course=self.course,
                conditions=request.conditions,
                first=first,
                count=count,
                chunk=request.chunk,
            )
            for first, count in self.store.chunks(self.trials)
            if not self.store.has(self.course, first, count)
        ]


def _over_snapshots(request: Request, newest: int | None) -> list[_Part]:
    if request.snapshots == 0:
        return []
    if request.run is None:
        raise UserError(f"--snapshots: {request.source} is not a run directory and has none.")
    known = list(saved.snapshots(request.run))
    if len(known) < 2:
        raise UserError(f"--snapshots: {request.source} has {len(known)} snapshot(s), a line needs 2.")
    picked = np.linspace(0, len(known) - 1, min(request.snapshots, len(known))).round().astype(int)
    parts = []
    for iteration in (known[k] for k in dict.fromkeys(picked.tolist())):
        weights = subject.load(request.source, iteration).digest
        digest = digest_of(weights, request.conditions, request.chunk)
        parts += [
            _Part(request, digest, iteration, course, min(SNAPSHOT_TRIALS, request.trials), snapshot=True)
            for course in SNAPSHOT_COURSES
        ]
    return parts


def _do(plan: list[_Part], request: Request, task: TaskConfig, console: Console) -> None:
    """All missing trials, with a progress bar; every finished chunk is kept at once."""
    stores: dict[Job, Store] = {}
    for part in plan:
        stores |= {job: part.store for job in part.missing() if job not in stores}
    jobs = list(stores)
    total = sum(part.trials for part in plan)
    missing = sum(job.count for job in jobs)
    if missing < total:
        console.print(f"{total - missing} of {counted(total, 'trial')} done before.", highlight=False)
    if not jobs:
        return
    steps = task.control_steps(request.conditions.seconds)
    compile_kernels()
    with Progress(console, "steps") as progress:
        strips = len({job.course for job in jobs})
        line = progress.add_task(
            f"{counted(missing, 'trial')} on {counted(strips, 'strip')}", total=missing * steps
        )

        def receive(job: Job, trials: Trials) -> None:
            stores[job].save(job.course, job.first, trials)
            progress.update(
                line, description=f"{job.course.title}, {counted(job.first + job.count, 'trial')}"
            )

        try:
            work(jobs, request.workers, lambda done: progress.advance(line, done), receive)
        except KeyboardInterrupt:
            console.print("Stopped. Finished chunks are kept: the same command goes on from here.")
            raise


def _manner(
    request: Request, results: Results, tried: subject.Subject, motion: MotionDataset, console: Console
) -> Row:
    """The walk beside the reference, judged anew where the motion or the judge has changed."""
    basis = manner.basis(motions.of(tried.robot))
    if results.manner is not None and results.manner["basis"] == basis and not request.fresh:
        return results.manner
    with doing(console, "comparing the walk with the reference"):
        found = manner.compare(tried, motion, request.conditions.seed, request.conditions.speed)
    return found | {"basis": basis}


def _directions(
    request: Request, results: Results, tried: subject.Subject, console: Console
) -> dict[str, object]:
    """Paths in all directions, thinned for the figure, and how straight and even they are."""
    if results.directions is not None and not request.fresh:
        return results.directions
    with doing(console, "walking in eight directions"):
        paths = directions.walk(tried, request.conditions.seed)
    every = 5
    rounded: Callable[[np.ndarray], list] = lambda values: np.round(values.astype(float), 3).tolist()
    return {
        "commands": [list(command) for command in directions.commands()],
        "seconds": directions.SECONDS,
        "paths": rounded(paths.position[:, :, every - 1 :: every]),
        "lasted": paths.lasted.tolist(),
        "end_error": rounded(paths.end_error()),
        "turned_share": [None if share is None else round(share, 3) for share in paths.turned_share()],
        "falls": rounded(paths.falls()),
        "asymmetry": rounded(paths.asymmetry()),
    }
