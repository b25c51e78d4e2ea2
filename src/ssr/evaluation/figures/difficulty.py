"""Success over difficulty, terrain by terrain (Fig. 5)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssr.evaluation.courses import Course
from ssr.evaluation.figures.style import colour, figure, tidy
from ssr.evaluation.measures import Row, course_of
from ssr.evaluation.results import Results
from ssr.terrain.tile import Kind

#: panel title, kind, whether slopes in it fall, axis label
PANELS: tuple[tuple[str, Kind, bool, str], ...] = (
    ("slope up", "slope", False, "incline (°)"),
    ("slope down", "slope", True, "incline (°)"),
    ("stairs up", "stairs_up", False, "step height / length (cm)"),
    ("stairs down", "stairs_down", False, "step height / length (cm)"),
    ("discrete", "discrete", False, "height (cm)"),
    ("gap", "gap", False, "width (cm)"),
    ("platform", "platform", False, "height (cm)"),
)


def difficulty(results: Sequence[Results]) -> Figure | None:
    """One panel per terrain with at least two settings; None if there is none."""
    panels = [panel for panel in PANELS if len(_courses(results, panel[1], panel[2])) > 1]
    if not panels:
        return None
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    made = figure(3.1 * columns, 2.5 * rows + 0.4)
    grid = made.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.axis("off")
    for axes, (title, kind, falls, label) in zip(grid.flat, panels, strict=False):
        _panel(axes, results, _courses(results, kind, falls))
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(label, fontsize=8)
    for axes in grid[:, 0]:
        axes.set_ylabel("trials (%)", fontsize=8)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return made


def _courses(results: Sequence[Results], kind: Kind, falls: bool) -> list[Course]:
    found = {course_of(row) for result in results for row in result.rows if row["terrain"] == kind}
    if kind == "slope":
        found = {course for course in found if (course.setting[0] < 0) == falls}
    return sorted(found, key=lambda course: course.order)


def _panel(axes: Axes, results: Sequence[Results], courses: list[Course]) -> None:
    tidy(axes)
    for number, result in enumerate(results):
        found = [(k, row) for k, course in enumerate(courses) if (row := result.find(course)) is not None]
        if not found:
            continue
        at, rows = [k for k, _ in found], [row for _, row in found]
        _line(axes, at, rows, "success", colour(number), "-", f"{result.name}: success")
        _line(axes, at, rows, "traversal", colour(number), ":", f"{result.name}: traversal")
    axes.set_xticks(range(len(courses)), [_tick(course) for course in courses], fontsize=7)
    axes.set_ylim(-3, 103)
    axes.set_xlim(-0.3, len(courses) - 0.7)


def _line(axes: Axes, at: list[int], rows: list[Row], name: str, shade: str, style: str, label: str) -> None:
    value = [100 * row[name] for row in rows]
    below = [100 * max(0.0, row[name] - row[f"{name}_low"]) for row in rows]
    above = [100 * max(0.0, row[f"{name}_high"] - row[name]) for row in rows]
    main = style == "-"
    axes.errorbar(
        at, value, yerr=(below, above), color=shade, ls=style, lw=1.8 if main else 1.2, capsize=2,
        marker="o" if main else None, ms=4, elinewidth=0.8, alpha=1.0 if main else 0.6, label=label,
    )  # fmt: skip


def _tick(course: Course) -> str:
    values = course.setting[:1] if course.kind == "gap" else course.setting
    scale = 1 if course.kind == "slope" else 100
    return "/".join(f"{abs(scale * v):g}" for v in values) + ("★" if course.beyond else "")
