"""Success over difficulty, terrain by terrain (Fig. 5)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssr.evaluation.courses import Course
from ssr.evaluation.figures.style import figure, tidy
from ssr.evaluation.measures import Row
from ssr.evaluation.results import Results
from ssr.evaluation.table import all_courses

BESIDE = 0.06  #: of the way to the next setting, so that several policies' intervals are seen


def difficulty(results: Sequence[Results]) -> Figure | None:
    """One panel per terrain with at least two settings; None if there is none."""
    panels = [courses for courses in _panels(results) if len(courses) > 1]
    if not panels:
        return None
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    made = figure(3.1 * columns, 2.5 * rows + 0.4)
    grid = made.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.axis("off")
    for axes, courses in zip(grid.flat, panels, strict=False):
        _panel(axes, results, courses)
        axes.set_title(courses[0].terrain.name_of(courses[0].setting), fontsize=10)
        axes.set_xlabel(courses[0].terrain.axis, fontsize=8)
    for axes in grid[:, 0]:
        axes.set_ylabel("trials (%)", fontsize=8)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return made


def _panels(results: Sequence[Results]) -> list[list[Course]]:
    """The courses of each kind; slopes that rise and slopes that fall apart."""
    alike: dict[str, list[Course]] = {}
    for course in all_courses(results):
        alike.setdefault(course.terrain.name_of(course.setting), []).append(course)
    return list(alike.values())


def _panel(axes: Axes, results: Sequence[Results], courses: list[Course]) -> None:
    tidy(axes)
    for number, result in enumerate(results):
        found = [(k, row) for k, course in enumerate(courses) if (row := result.find(course)) is not None]
        if not found:
            continue
        beside = BESIDE * (number - (len(results) - 1) / 2)
        at, rows = [k + beside for k, _ in found], [row for _, row in found]
        _line(axes, at, rows, "success", result.colour(number), "-", f"{result.name}: success")
        _line(axes, at, rows, "traversal", result.colour(number), ":", f"{result.name}: traversal")
    axes.set_xticks(range(len(courses)), [_tick(course) for course in courses], fontsize=7)
    axes.set_ylim(-3, 103)
    axes.set_xlim(-0.3, len(courses) - 0.7)


def _line(
    axes: Axes, at: list[float], rows: list[Row], name: str, shade: str, style: str, label: str
) -> None:
    value = [100 * row[name] for row in rows]
    below = [100 * max(0.0, row[name] - row[f"{name}_low"]) for row in rows]
    above = [100 * max(0.0, row[f"{name}_high"] - row[name]) for row in rows]
    main = style == "-"
    axes.errorbar(
        at, value, yerr=(below, above), color=shade, ls=style, lw=1.8 if main else 1.2, capsize=2,
        marker="o" if main else None, ms=4, elinewidth=0.8, alpha=1.0 if main else 0.6, label=label,
    )  # fmt: skip


def _tick(course: Course) -> str:
    values = (p.shown(value) for p, value in course.terrain.rated(course.setting))
    return "/".join(f"{value:g}" for value in values) + ("★" if course.beyond else "")
