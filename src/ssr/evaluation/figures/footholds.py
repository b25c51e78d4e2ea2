"""Where feet come down, and on how much of their sole (Fig. 6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ssr.evaluation.courses import Course, course_sets
from ssr.evaluation.figures.style import CHANCE, GROUND, GROUND_EDGE, SAFE, figure, tidy
from ssr.evaluation.measures import course_of
from ssr.evaluation.places import places
from ssr.evaluation.results import Results
from ssr.evaluation.table import all_courses, two_lines, typical
from ssr.terrain.kind import Section
from ssr.terrain.registry import all_kinds

KERNEL = 0.015  #: m, standard deviation of the density's Gaussian kernel
SOLE = 0.225  #: m, length of the support patch
SAFE_MSR = 0.75  #: the crossing of Fig. 6c


def density(samples: np.ndarray, grid: np.ndarray, period: float | None = None) -> np.ndarray:
    """Gaussian kernel density estimate (1/m) on `grid`; with a `period` both wrap around."""
    total = np.zeros_like(grid)
    for part in np.array_split(samples, max(1, len(samples) // 2000)):
        away = grid[:, None] - part
        if period is not None:
            away = (away + period / 2) % period - period / 2
        total += np.exp(-((away / KERNEL) ** 2) / 2).sum(axis=1)
    return total / (max(1, len(samples)) * KERNEL * np.sqrt(2 * np.pi))


def distribution(results: Sequence[Results]) -> Figure | None:
    """Fig. 6a: densities of sole centres on descending treads and around gaps."""
    found = [
        (course, kind.section(course.setting))
        for kind in all_kinds()
        if kind.section and (course := typical(results, kind.name)) and _stepped(results, course)
    ]
    shown = [(course, section) for course, section in found if section.drawn]
    if not shown:
        return None
    made = figure(5.2 * len(shown), 3.3)
    grid = made.subplots(1, len(shown), squeeze=False)[0]
    for axes, (course, section) in zip(grid, shown, strict=True):
        tidy(axes)
        _densities(axes, results, course, section)
        axes.set_title(f"footholds, {course.title}", fontsize=10)
        _draw_ground(axes, section)
        axes.set_ylabel("density (1/m)", fontsize=8)
        axes.legend(fontsize=7, frameon=False, loc="upper right")
    return made


def _stepped(results: Sequence[Results], course: Course) -> bool:
    """Whether anyone set a foot down on this course."""
    return any((row := result.find(course)) is not None and row["footholds"] for result in results)


def _densities(axes: Axes, results: Sequence[Results], course: Course, section: Section) -> None:
    low, high = -section.margin, section.extent + section.margin
    grid = np.linspace(low, high, 500)
    period = section.spacing if section.extent == section.spacing else None
    for number, result in enumerate(results):
        row = result.find(course)
        trials = result.trials(row) if row else None
        if row is None or trials is None:
            continue
        found = places(section, trials)
        curve = density(found, grid, period)
        axes.fill_between(grid, curve, color=result.colour(number), alpha=0.18, lw=0)
        axes.plot(grid, curve, color=result.colour(number), lw=1.8, label=f"{result.name} ({len(found)})")
    axes.set_xlim(low, high)
    room = 1.2 + 0.08 * len(results)  # for the legend
    axes.set_ylim(0, room * (axes.get_ylim()[1] or 1.0))


def _draw_ground(axes: Axes, section: Section) -> None:
    low, end, high = -section.margin, section.extent, section.extent + section.margin
    outside = ((low, -SOLE / 2), (end + SOLE / 2, high))
    for a, b in ((SOLE / 2, end - SOLE / 2),) if section.foothold else outside:
        axes.axvspan(a, b, color=SAFE, zorder=0, label=section.legend if a < end else None)
    _profile(axes, [low, 0, 0, end, end, high], [z for level in section.levels for z in (level, level)])
    axes.set_xlabel(section.axis, fontsize=8)


def _profile(axes: Axes, x: list[float], z: list[float]) -> None:
    """The ground's cross-section below the curve, heights -1 to 1 not to scale."""
    top = axes.get_ylim()[1]
    band = 0.28 * top
    heights = 0.25 * band * np.array(z) - 0.5 * band
    axes.fill_between(x, heights, -band, color=GROUND, lw=0)
    axes.plot(x, heights, color=GROUND_EDGE, lw=1.2)
    axes.set_ylim(-band, top)
    axes.set_yticks([t for t in axes.get_yticks() if 0 <= t <= top])


def safe_rate(results: Sequence[Results]) -> Figure | None:
    """Fig. 6b: the share of safe footholds on every named course, and that of feet put anywhere."""
    sets = course_sets()
    named = {*sets["table2"], *sets["standard"]}
    rated = lambda course: any((row := r.find(course)) and row["sfr"] is not None for r in results)
    tried = [course for course in all_courses(results) if rated(course)]
    courses = [c for c in tried if c in named] or tried
    if not courses:
        return None
    made = figure(min(12.0, max(4.5, (0.7 + 0.25 * len(results)) * len(courses))), 3.2)
    axes = made.subplots()
    tidy(axes)
    width = 0.8 / len(results)
    for number, result in enumerate(results):
        for k, course in enumerate(courses):
            row = result.find(course)
            if row is None or row["sfr"] is None:
                continue
            value, low, high = (100 * row[name] for name in ("sfr", "sfr_low", "sfr_high"))
            at = k + (number - (len(results) - 1) / 2) * width
            axes.bar(at, value, width * 0.92, color=result.colour(number), alpha=0.85)
            axes.errorbar(at, value, yerr=[[value - low], [high - value]], color="#222", lw=0.9, capsize=2)
            if (chance := row.get("sfr_chance")) is not None:
                axes.plot(k + np.array([-0.45, 0.45]), [100 * chance] * 2, "--", color=CHANCE, lw=1.4)
    axes.set_xticks(range(len(courses)), [two_lines(course) for course in courses], fontsize=7)
    axes.set_ylim(0, 102)
    axes.set_ylabel("safe footholds (%)", fontsize=8)
    handles: list[Artist] = [Line2D([], [], ls="--", color=CHANCE, label="feet put anywhere")]
    if len(results) > 1:
        handles += [Patch(color=result.colour(k), label=result.name) for k, result in enumerate(results)]
    made.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8, frameon=False)
    return made


def over_training(results: Sequence[Results], measure: str = "msr") -> Figure | None:
    """Fig. 6c: mean support ratio over iterations, and where it first reaches 75 %; or the SFR instead."""
    known = {course_of(row) for r in results for row in r.snapshots if row[measure] is not None}
    courses = sorted(known, key=lambda course: course.order)
    if not courses:
        return None
    made = figure(3.1 * len(courses), 2.9)
    grid = made.subplots(1, len(courses), squeeze=False, sharex=True, sharey=True)[0]
    for axes, course in zip(grid, courses, strict=True):
        tidy(axes)
        if measure == "msr":
            axes.axhline(100 * SAFE_MSR, color="#888", lw=0.8)
        for number, result in enumerate(results):
            _follow(axes, result, course, result.colour(number), measure)
        axes.set_title(course.title, fontsize=10)
        axes.set_xlabel("iteration", fontsize=8)
        axes.set_ylim(0, 102)
    grid[0].set_ylabel("mean support (%)" if measure == "msr" else "safe footholds (%)", fontsize=8)
    grid[-1].legend(fontsize=7, frameon=False, loc="lower right")
    return made


def _follow(axes: Axes, result: Results, course: Course, shade: str, measure: str) -> None:
    rows = [r for r in result.snapshots if course_of(r) == course and r[measure] is not None]
    if not rows:
        return
    at = [row["iteration"] for row in rows]
    axes.plot(at, [100 * row[measure] for row in rows], "o-", ms=3, lw=1.6, color=shade, label=result.name)
    bounds = [(row[f"{measure}_low"], row[f"{measure}_high"]) for row in rows]
    low = [100 * (row[measure] if b[0] is None else b[0]) for row, b in zip(rows, bounds, strict=True)]
    high = [100 * (row[measure] if b[1] is None else b[1]) for row, b in zip(rows, bounds, strict=True)]
    axes.fill_between(at, low, high, color=shade, alpha=0.15, lw=0)
    crossing = next((row["iteration"] for row in rows if row[measure] >= SAFE_MSR), None)
    if measure == "msr" and crossing is not None:
        axes.axvline(crossing, color=shade, ls="--", lw=1)
