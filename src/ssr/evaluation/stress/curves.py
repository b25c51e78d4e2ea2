"""Success against dose, stress by stress: which trials are missing, doing them, writing them down."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from rich.console import Console

from ssr.errors import UserError
from ssr.evaluation import subject
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.measures import Row, row_of
from ssr.evaluation.store import Store, digest_of
from ssr.evaluation.stress.registry import KINDS, stress_named, stress_names
from ssr.evaluation.trials import Trials
from ssr.evaluation.workers import Job, work
from ssr.files import DAMAGED, with_seal, without_seal, write_json
from ssr.progress import Progress
from ssr.ranges import Within, settings
from ssr.task.first_time import compile_kernels

STRESS, RECORD, TRIALS = "stress", "stress.json", "trials"
FORMAT = 1
SIDE_BY_SIDE = 20  #: trials; another number would give other, equally good, trials
COURSE = Course.of("stairs_down", 0.13, 0.32)


@settings("--")
class Curves:
    """Which curves are wanted, and of whom."""

    source: str  #: what `subject.load` takes
    iteration: Annotated[int | None, Within(0, 100_000_000)] = None
    """Of the snapshot, instead of the newest weights."""
    kinds: tuple[str, ...] = ()  #: stresses by name; none means all
    course: Course = COURSE
    trials: Annotated[int, Within(1, 1_000_000)] = 200  #: per dose
    conditions: Conditions = field(default_factory=Conditions)
    workers: Annotated[int, Within(1, 1024)] = 1
    folder: Path | None = None  #: instead of RUN/stress

    def __post_init__(self) -> None:
        for name in self.kinds:
            stress_named(name)

    @property
    def target(self) -> Path:
        if self.folder is not None:
            return self.folder
        base = subject.home(self.source) / STRESS
        return base if self.iteration is None else base / f"iteration-{self.iteration:06d}"

    def under(self, stress: str, dose: float) -> Conditions:
        """No dose of anything is one and the same."""
        return replace(self.conditions, stress=stress, dose=dose) if dose else self.conditions


@dataclass(kw_only=True)
class StressRecord:
    """What stress.json says. Rows as those of results.json, with `stress` and `dose`."""

    name: str
    policy: str  #: digest of the policy, as `Subject.digest`
    robot: str
    iteration: int | None
    conditions: Conditions
    trials: int
    rows: list[Row] = field(default_factory=list)

    def curve(self, stress: str) -> list[Row]:
        """By dose."""
        return sorted((row for row in self.rows if row["stress"] == stress), key=lambda row: row["dose"])

    @property
    def stresses(self) -> list[str]:
        return [name for name in stress_names() if self.curve(name)]

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        content = {"format": FORMAT} | vars(self) | {"conditions": self.conditions.as_dict()}
        write_json(folder / RECORD, with_seal(content))


def load(path: Path) -> StressRecord:
    try:
        content = without_seal(path.read_text())
        if content.pop("format") != FORMAT:
            raise ValueError("another format")
        return StressRecord(**content | {"conditions": Conditions(**content["conditions"])})
    except DAMAGED as error:
        raise UserError(f"{path} is damaged or of another format: run `ssr stress` again.") from error


def of_policy(run: Path | None, policy: str) -> StressRecord | None:
    """What a run directory holds about the policy with this digest."""
    path = None if run is None else run / STRESS / RECORD
    if path is None or not path.is_file():
        return None
    found = load(path)
    return found if found.policy == policy else None


def examine(request: Curves, console: Console) -> StressRecord:
    """Do what is missing, and write stress.json."""
    tried = subject.load(request.source, request.iteration)
    wanted = [kind for kind in KINDS if not request.kinds or kind.name in request.kinds]
    doses = [(kind.name, dose) for kind in wanted for dose in kind.doses]
    stores = {
        conditions: Store(
            request.target / TRIALS,
            digest=digest_of(tried.digest, conditions, SIDE_BY_SIDE),
            chunk=SIDE_BY_SIDE,
        )
        for conditions in (request.under(*dose) for dose in doses)
    }
    _do(request, stores, tried.task.control_steps(request.conditions.seconds), console)
    record = StressRecord(
        name=tried.name,
        policy=tried.digest,
        robot=tried.robot.name,
        iteration=tried.iteration,
        conditions=request.conditions,
        trials=request.trials,
    )
    for stress, dose in doses:
        conditions = request.under(stress, dose)
        trials = stores[conditions].all(request.course, request.trials)
        assert trials is not None
        row = row_of(request.course, trials, conditions)
        record.rows.append(row | {"stress": stress, "dose": dose})
    record.save(request.target)
    return record


def _do(request: Curves, stores: dict[Conditions, Store], steps: int, console: Console) -> None:
    """All missing trials, with a progress bar; every finished chunk is kept at once."""
    jobs = [
        Job(
            source=request.source,
            iteration=request.iteration,
            course=request.course,
            conditions=conditions,
            first=first,
            count=count,
            chunk=SIDE_BY_SIDE,
        )
        for conditions, store in stores.items()
        for first, count in store.chunks(request.trials)
        if not store.has(request.course, first, count)
    ]
    if not jobs:
        return
    compile_kernels()
    with Progress(console, "steps") as progress:
        line = progress.add_task("trials", total=sum(job.count for job in jobs) * steps)

        def receive(job: Job, trials: Trials) -> None:
            stores[job.conditions].save(job.course, job.first, trials)
            progress.update(line, description=job.conditions.label or "no stress")

        try:
            work(jobs, request.workers, lambda done: progress.advance(line, done), receive)
        except KeyboardInterrupt:
            console.print("Stopped. Finished chunks are kept: the same command goes on from here.")
            raise
