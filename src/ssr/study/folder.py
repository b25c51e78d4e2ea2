"""A study's directory.

DIR/plan.toml          the plan
DIR/study.json         its name and budget
DIR/recipes/M.toml     what a method is trained by
DIR/M-SEED/            a run directory, with its eval
DIR/claims, done, failed, logs
DIR/status.html        what runs where
DIR/report.html, csv/  the comparison, once all is done
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssr.errors import UserError
from ssr.files import write_json, write_text
from ssr.study.plan import PlannedRun, StudyPlan, read

PLAN, RECORD, STATUS, REPORT, CSV = "plan.toml", "study.json", "status.html", "report.html", "csv"

FOLDERS = ("claims", "done", "failed", "logs", "recipes")


@dataclass(frozen=True, kw_only=True)
class StudyFolder:
    path: Path
    plan: StudyPlan

    @staticmethod
    def make(path: Path, plan: StudyPlan, text: str, beside: Path) -> StudyFolder:
        """A new study, or one to go on with. beside: the folder that the plan's own paths start from."""
        record = {"name": plan.name, "steps": plan.steps, "beside": str(beside.resolve())}
        if (path / RECORD).is_file():
            former = StudyFolder.open(path)
            if former.plan != plan:
                raise UserError(
                    f"{path} holds a study of another plan{_difference(former.plan, plan)}. Give another "
                    "--out, or the plan it has."
                )
            return former
        if path.is_dir() and {each.name for each in path.iterdir() if each.name[0] != "."} - {PLAN, *FOLDERS}:
            raise UserError(f"{path} holds something that is not a study. Give another --out.")
        for folder in FOLDERS:  # two machines may make them at the same time
            (path / folder).mkdir(parents=True, exist_ok=True)
        for method in plan.methods:
            write_text(path / "recipes" / f"{method}.toml", plan.recipe_text(method))
        write_text(path / PLAN, text)
        write_json(path / RECORD, record, indent=1)
        return StudyFolder(path=path, plan=plan)

    @staticmethod
    def open(path: Path) -> StudyFolder:
        try:
            record = json.loads((path / RECORD).read_text())
            name, steps, beside = record["name"], int(record["steps"]), Path(record["beside"])
            text = (path / PLAN).read_text()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path} is not a study: its {RECORD} or {PLAN} cannot be read.") from error
        return StudyFolder(path=path, plan=read(text, name, beside, steps))

    def run(self, name: str) -> PlannedRun:
        return next(run for run in self.plan.runs() if run.name == name)

    @property
    def claims(self) -> Path:
        return self.path / "claims"

    def training(self, run: PlannedRun) -> Path:
        """Where a run is trained, or was."""
        return run.entered.run if run.entered else self.path / run.name

    def evaluation(self, run: PlannedRun) -> Path:
        """Where its results go."""
        return self.path / run.name / "eval"

    def log(self, run: PlannedRun) -> Path:
        return self.path / "logs" / f"{run.name}.log"

    def recipe_text(self, run: PlannedRun) -> str:
        return (self.path / "recipes" / f"{run.method}.toml").read_text()

    def done(self, run: PlannedRun) -> dict[str, Any] | None:
        found = _read(self.path / "done" / f"{run.name}.json")
        return found if found and {"seconds", "evaluation_seconds"} <= found.keys() else None

    def failed(self, run: PlannedRun) -> dict[str, Any] | None:
        found = _read(self.path / "failed" / f"{run.name}.json")
        return found if found and "reason" in found else None

    def finish(self, run: PlannedRun, facts: dict[str, Any]) -> None:
        write_json(self.path / "done" / f"{run.name}.json", facts, indent=1)

    def fail(self, run: PlannedRun, reason: str) -> None:
        write_json(self.path / "failed" / f"{run.name}.json", {"reason": reason}, indent=1)

    def forgive(self, run: PlannedRun) -> None:
        """What failed may be tried again."""
        with suppress(FileNotFoundError):
            os.unlink(self.path / "failed" / f"{run.name}.json")


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _difference(one: StudyPlan, other: StudyPlan) -> str:
    """The first thing that differs, in words."""
    for name in ("preset", "methods", "seeds", "steps", "trials", "snapshots"):
        if getattr(one, name) != getattr(other, name):
            return f" ({name} {getattr(one, name)!r}, not {getattr(other, name)!r})"
    return ""
