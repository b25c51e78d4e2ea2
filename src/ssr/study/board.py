"""What every run of a study is doing, read from its directory alone, and how long the rest may take."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from ssr.evaluation.evaluate import SNAPSHOT_COURSES, SNAPSHOT_TRIALS
from ssr.evaluation.results import TRIALS
from ssr.learning.run_directory import METRICS
from ssr.study import claims
from ssr.study.folder import StudyFolder
from ssr.study.plan import PlannedRun, StudyPlan

WAITING, RUNNING, FINISHED, FAILED = "waiting", "running", "done", "failed"
TAIL = 20_000  #: bytes at a file's end that hold the last line of metrics


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How one run stands."""

    run: PlannedRun
    state: str
    phase: str = ""  #: what is done at the moment: training or evaluating
    where: str = ""  #: machine and slot
    steps: int = 0
    rate: float | None = None  #: control steps per second
    trials: int = 0
    metrics: dict[str, Any] | None = None  #: of the newest iteration
    done: dict[str, Any] | None = None
    reason: str = ""  #: it failed


@dataclass(frozen=True, kw_only=True)
class Board:
    plan: StudyPlan
    runs: tuple[Standing, ...]

    @staticmethod
    def look(folder: StudyFolder, runs: Sequence[PlannedRun] | None = None) -> Board:
        chosen = folder.plan.runs() if runs is None else runs
        return Board(plan=folder.plan, runs=tuple(_standing(folder, run) for run in chosen))

    def of(self, *states: str) -> list[Standing]:
        return [one for one in self.runs if one.state in states]

    def share(self, one: Standing) -> float:
        """How much of a run is done; training and evaluation count by the time they take, once known."""
        if one.state == FINISHED:
            return 1.0
        trained = 1.0 if one.run.entered else min(1.0, one.steps / self.plan.steps)
        tried = min(1.0, one.trials / self.planned_trials(one.run))
        weight = self._evaluation_share()
        return (1.0 - weight) * trained + weight * tried

    def planned_trials(self, run: PlannedRun) -> int:
        plan = self.plan
        followed = 0 if run.entered else plan.snapshots
        per_snapshot = len(SNAPSHOT_COURSES) * min(SNAPSHOT_TRIALS, plan.trials)
        return len(plan.courses) * plan.trials + followed * per_snapshot

    def seconds_left(self, one: Standing) -> float | None:
        """Of one run; None while nothing is known of how fast it is."""
        if one.state in (FINISHED, FAILED):
            return 0.0
        rates = [each.rate for each in self.runs if each.rate]
        rate = one.rate or (fmean(rates) if rates else None)
        training = 0 if one.run.entered else max(0, self.plan.steps - one.steps)
        if training and rate is None:
            return None
        evaluating = self._evaluation_seconds() * (1.0 - one.trials / self.planned_trials(one.run))
        return (training / rate if rate else 0.0) + max(0.0, evaluating)

    def all_seconds_left(self, slots: int) -> float | None:
        """Of everything, with so many slots; None while nothing is known."""
        each = [self.seconds_left(one) for one in self.of(WAITING, RUNNING)]
        if any(seconds is None for seconds in each):
            return None
        known = [seconds for seconds in each if seconds is not None]
        return max([sum(known) / max(1, slots), *known], default=0.0)

    def _evaluation_seconds(self) -> float:
        """Of one run, as those that are done took; nothing until one is."""
        took = [one.done["evaluation_seconds"] for one in self.of(FINISHED) if one.done]
        return fmean(took) if took else 0.0

    def _evaluation_share(self) -> float:
        shares = [
            one.done["evaluation_seconds"] / one.done["seconds"]
            for one in self.of(FINISHED)
            if one.done and one.done["seconds"] > 0 and not one.run.entered
        ]
        return fmean(shares) if shares else 0.1


def _standing(folder: StudyFolder, run: PlannedRun) -> Standing:
    claim = claims.newest_claim(folder.claims, run.name)
    metrics = _last(folder.path / run.name / METRICS) if run.entered is None else None
    done, failed = folder.done(run), folder.failed(run)
    held = claim is not None and done is None and claim.lives(folder.claims)
    state = FINISHED if done else RUNNING if held else FAILED if failed else WAITING
    where = f"{claim.host}, slot {claim.slot + 1}" if claim is not None else ""
    return Standing(
        run=run,
        state=state,
        phase=claim.phase if claim is not None and held else "",
        where=where if held or done else "",
        steps=int(metrics["total_steps"]) if metrics else 0,
        rate=float(metrics["steps_per_second"]) if metrics else None,
        trials=0 if done else _trials(folder.evaluation(run) / TRIALS),
        metrics=metrics,
        done=done,
        reason=failed["reason"] if failed and state == FAILED else "",
    )


def _trials(folder: Path) -> int:
    """Trials kept, by the names of their chunks."""
    return sum(int(path.stem.rpartition("-")[2]) for path in folder.glob("*/*.npz") if path.name[0] != ".")


def _last(path: Path) -> dict[str, Any] | None:
    """The newest whole line of a file of metrics."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and {"iteration", "total_steps", "steps_per_second"} <= row.keys():
            return row
    return None
