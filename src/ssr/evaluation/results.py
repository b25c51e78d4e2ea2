"""results.json: what was measured about one policy under one set of conditions, and where its trials lie."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ssr import __version__
from ssr.errors import UserError
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.figures.style import colour
from ssr.evaluation.measures import Row, course_of
from ssr.evaluation.store import Store
from ssr.evaluation.trials import Trials
from ssr.evaluation.worlds import CHUNK
from ssr.files import DAMAGED, with_seal, without_seal, write_json
from ssr.learning.run_directory import METRICS, read_metrics

EVAL, RESULTS, REPORT, TRIALS = "eval", "results.json", "report.html", "trials"
FORMAT = 7  #: raised whenever results are measured by other rules, or hold something else


class OtherFormat(UserError):
    """Results of another version, measured by other rules."""


@dataclass(kw_only=True)
class Results:
    """What an evaluation found: one row for each course, with whatever else was looked at."""

    name: str
    folder: Path  #: where results.json lies
    digest: str  #: of policy, conditions and code
    conditions: Conditions
    iteration: int | None = None  #: of training
    robot: str = ""
    policy: str = ""  #: digest of the policy alone
    trained_friction: str | None = None  #: the rule of friction in training; None: not trained
    rows: list[Row] = field(default_factory=list)  #: one per course: its measures by their names
    snapshots: list[Row] = field(default_factory=list)  #: rows with their `iteration`
    directions: dict[str, Any] | None = None
    manner: dict[str, Any] | None = None  #: as `manner.compare` gives it
    run: Path | None = None  #: the run directory, where there is one
    chunk: int = CHUNK  #: trials that ran side by side
    place: int | None = None  #: among all that are compared, where a figure shows only some of them

    def colour(self, number: int) -> str:
        """Of its curves; number: its place in a figure, which counts unless it has one of its own."""
        return colour(number if self.place is None else self.place)

    def put(self, row: Row) -> None:
        """Add a row in its place, instead of one for the same course."""
        same = lambda other: (other["terrain"], other["setting"]) == (row["terrain"], row["setting"])
        self.rows = [other for other in self.rows if not same(other)] + [row]
        self.rows.sort(key=lambda r: course_of(r).order)

    def put_snapshot(self, row: Row) -> None:
        """Add a row of a snapshot, instead of one for the same course and iteration."""
        key = lambda r: (r["terrain"], r["setting"], r["iteration"])
        self.snapshots = [other for other in self.snapshots if key(other) != key(row)] + [row]
        self.snapshots.sort(key=lambda r: (course_of(r).order, r["iteration"]))

    def trials(self, row: Row) -> Trials | None:
        """The trials behind a row, if they are still there."""
        store = Store(self.folder / TRIALS, digest=self.digest, chunk=self.chunk)
        return store.all(course_of(row), row["trials"])

    def find(self, course: Course) -> Row | None:
        """The row of a course, if it was tried."""
        wanted = (course.kind, course.text)
        return next((r for r in self.rows if (r["terrain"], r["setting"]) == wanted), None)

    def metrics(self) -> list[dict[str, Any]]:
        """What training wrote down, if this is a run with metrics."""
        if self.run is None or not (self.run / METRICS).is_file():
            return []
        return read_metrics(self.run)

    def save(self) -> None:
        """Write results.json, sealed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        content = {
            "format": FORMAT,
            "version": __version__,
            "name": self.name,
            "robot": self.robot,
            "iteration": self.iteration,
            "policy": self.policy,
            "trained_friction": self.trained_friction,
            "digest": self.digest,
            "chunk": self.chunk,
            "conditions": self.conditions.as_dict(),
            "rows": self.rows,
            "snapshots": self.snapshots,
            "directions": self.directions,
            "manner": self.manner,
        }
        write_json(self.folder / RESULTS, with_seal(content), indent=1)


def load(folder: Path, run: Path | None = None) -> Results:
    """Results from the folder that holds results.json."""
    path = folder / RESULTS
    if not path.is_file():
        raise UserError(f"{folder} has no {RESULTS}. Make it with `ssr eval`.")
    try:
        content = without_seal(path.read_text())
        if content["format"] != FORMAT:
            raise OtherFormat(
                f"{path} has format {content['format']}, not {FORMAT}: it was measured by other rules. "
                "Run `ssr eval` again."
            )
        return Results(
            name=content["name"],
            folder=folder,
            digest=content["digest"],
            conditions=Conditions(**content["conditions"]),
            iteration=content["iteration"],
            robot=content["robot"],
            policy=content["policy"],
            trained_friction=content["trained_friction"],
            rows=content["rows"],
            snapshots=content["snapshots"],
            directions=content["directions"],
            manner=content["manner"],
            run=run,
            chunk=content["chunk"],
        )
    except DAMAGED as error:
        raise UserError(f"{path} is damaged or was edited. Remove it and run `ssr eval` again.") from error


def of(path: Path) -> Results:
    """The results of a run directory, or of a folder with results.json."""
    if (path / RESULTS).is_file():
        run = path.parent if path.name == EVAL else path.parent.parent
        return load(path, run)
    if not path.is_dir():
        raise UserError(f"{path} does not exist. Give run directories that `ssr eval` has evaluated.")
    if not (path / EVAL / RESULTS).is_file():
        raise UserError(f"{path} has not been evaluated. First: `ssr eval {path}`.")
    return load(path / EVAL, path)


def named_apart(results: list[Results]) -> list[Results]:
    """Results whose names differ: stress, iteration and number are added where they do not."""
    for result in results:
        if sum(other.name == result.name for other in results) > 1 and result.conditions.label:
            result.name = f"{result.name} {result.conditions.label}"
    for result in results:
        if sum(other.name == result.name for other in results) > 1 and result.iteration is not None:
            result.name = f"{result.name} @{result.iteration}"
    for number, result in enumerate(results):
        if any(other.name == result.name for other in results[:number]):
            result.name = f"{result.name} ({number + 1})"
    return results
