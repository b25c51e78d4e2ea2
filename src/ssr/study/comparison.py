"""The numbers behind Fig. 5 to 7 and Table 1, as rows for CSV files: every method, intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import numpy as np

from ssr.evaluation.courses import Course
from ssr.evaluation.figures.footholds import density
from ssr.evaluation.figures.training import ENDS
from ssr.evaluation.intervals import over_seeds
from ssr.evaluation.measures import Row, course_of
from ssr.evaluation.paper import TABLE_1
from ssr.evaluation.places import leading_feet, places
from ssr.evaluation.results import Results
from ssr.evaluation.table import all_courses, typical
from ssr.study.seeds import SeedResults

GRID = 200  #: points of a density
Line = dict[str, Any]


def difficulty(results: Sequence[SeedResults]) -> Iterator[Line]:
    """Fig. 5."""
    for result in results:
        for row in result.rows:
            yield _of(result) | _course(row) | _measured(row, "success", "traversal")


def landings(results: Sequence[SeedResults]) -> Iterator[Line]:
    """Fig. 6a: densities of sole centres."""
    for kind in dict.fromkeys(course.kind for course in all_courses(results)):
        course = typical(results, kind)
        section = course and course.terrain.section and course.terrain.section(course.setting)
        if course is None or not section or not section.drawn:
            continue
        grid = np.linspace(-section.margin, section.extent + section.margin, GRID)
        period = section.spacing if section.extent == section.spacing else None
        for result in results:
            curves = []
            for member in result.members:
                row = member.find(course)
                trials = member.trials(row) if row else None
                if trials is not None and len(found := places(section, trials)):
                    curves.append(density(found, grid, period))
            for k, x in enumerate(grid if curves else ()):
                found_here = over_seeds([float(curve[k]) for curve in curves], (0.0, inf))
                yield _of(result) | _named(course) | {
                    "x_m": round(float(x), 4),
                    "density": found_here.value,
                    "low": _plain(found_here.low),
                    "high": _plain(found_here.high),
                }  # fmt: skip


def support(results: Sequence[SeedResults]) -> Iterator[Line]:
    """Fig. 6b."""
    for result in results:
        for row in result.rows:
            if row["sfr"] is not None:
                yield (
                    _of(result)
                    | _course(row)
                    | _measured(row, "sfr", "msr")
                    | {"sfr_chance": row.get("sfr_chance")}
                )


def over_training(results: Sequence[SeedResults]) -> Iterator[Line]:
    """Fig. 6c."""
    for result in results:
        for row in result.snapshots:
            yield _of(result) | _course(row) | {"iteration": row["iteration"]} | _measured(row, "sfr", "msr")


def directions(results: Sequence[SeedResults]) -> Iterator[Line]:
    """Fig. 7a, one line per command."""
    for result in results:
        found = [m.directions for m in result.members if m.directions is not None]
        for k, command in enumerate(found[0]["commands"] if found else ()):
            line = _of(result) | dict(zip(("forward", "left", "turn"), command, strict=True))
            for name in ("end_error", "turned_share", "falls", "asymmetry"):
                values = [each[name][k] for each in found]
                known = over_seeds([v for v in values if v is not None])
                line |= {name: _plain(known.value), f"{name}_low": _plain(known.low)}
                line |= {f"{name}_high": _plain(known.high)}
            yield line


def lead(results: Sequence[SeedResults]) -> Iterator[Line]:
    """Fig. 7b."""
    for result in results:
        for row in result.rows:
            course = course_of(row)
            trials = result.trials(row) if row["lead_right"] is not None else None
            if trials is not None and course.terrain.crossing:
                crossings, _ = leading_feet(course.terrain.crossing(course.setting), trials)
                counted = {"crossings": int(crossings.sum())}
                yield _of(result) | _course(row) | _measured(row, "lead_right") | counted


def training(results: Sequence[SeedResults]) -> Iterator[Line]:
    """Fig. 7c."""
    for result in results:
        for row in result.metrics():
            names = ("return/locomotion", "reached_top", "peak_memory_mb")
            yield _of(result) | {
                "iteration": int(row["iteration"]),
                "hours": round(row["wall_seconds"] / 3600, 5),
                **{f"{name}{end}": row.get(f"{name}{end}") for name in names for end in ("", *ENDS)},
            }


def effort(results: Sequence[SeedResults]) -> Iterator[Line]:
    """Table 1, and what the paper has for SSR."""
    for kind in TABLE_1:
        course = typical(results, kind)
        if course is None:
            continue
        for result in results:
            row = result.find(course)
            if row is not None:
                yield _of(result) | _course(row) | _measured(row, "ap", "pfcf")
        paper = TABLE_1[kind]
        yield {"method": "the paper's SSR", "runs": ""} | _named(course) | {
            "ap": paper.ap, "ap_low": "", "ap_high": "", "pfcf": paper.pfcf, "pfcf_low": "", "pfcf_high": "",
        }  # fmt: skip


def every_measure(results: Sequence[tuple[str, str, Results]]) -> Iterator[Line]:
    """One line per run, strip and measure. results: method, run and its results."""
    for method, name, result in results:
        for row in result.rows:
            for measure in (key for key in row if f"{key}_low" in row):
                yield {"method": method, "run": name} | _course(row) | {
                    "trials": row["trials"],
                    "measure": measure,
                    "value": row[measure],
                    "low": row[f"{measure}_low"],
                    "high": row[f"{measure}_high"],
                }  # fmt: skip


def _of(result: SeedResults) -> Line:
    return {"method": result.name, "runs": len(result.members)}


def _course(row: Row) -> Line:
    return {name: row[name] for name in ("terrain", "setting", "beyond_training")}


def _named(course: Course) -> Line:
    return {"terrain": course.kind, "setting": course.text, "beyond_training": course.beyond}


def _measured(row: Row, *names: str) -> Line:
    return {f"{name}{end}": row[f"{name}{end}"] for name in names for end in ("", *ENDS)}


def _plain(value: float) -> float | None:
    return None if value != value else round(value, 6)
