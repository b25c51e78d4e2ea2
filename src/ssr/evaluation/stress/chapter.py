"""The chapter about stress, as a part of a page, and its table for a terminal."""

from __future__ import annotations

from html import escape
from itertools import pairwise

from matplotlib.figure import Figure
from rich.table import Table

from ssr.evaluation.figures.style import colour, figure, inline, tidy
from ssr.evaluation.measures import course_of
from ssr.evaluation.stress.curves import StressRecord
from ssr.evaluation.stress.registry import stress_named
from ssr.wording import counted

COLUMNS = 4  #: panels side by side
HALVED = 0.5  #: share of the success without stress


def draw(record: StressRecord) -> Figure:
    """One panel per stress."""
    names = record.stresses
    columns = min(COLUMNS, len(names))
    rows = -(-len(names) // columns)
    made = figure(3.1 * columns, 2.4 * rows + 0.3)
    grid = made.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(names) :]:
        axes.axis("off")
    for axes, name in zip(grid.flat, names, strict=False):
        kind, curve = stress_named(name), record.curve(name)
        tidy(axes)
        doses = [row["dose"] for row in curve]
        for measure, style, label in (("success", "-", "success"), ("traversal", ":", "traversal")):
            value = [100 * row[measure] for row in curve]
            ends = [
                [100 * max(0.0, sign * (row[f"{measure}_{end}"] - row[measure])) for row in curve]
                for end, sign in (("low", -1), ("high", 1))
            ]
            axes.errorbar(
                doses, value, yerr=ends, color=colour(0), ls=style, lw=1.6, capsize=2, marker="o", ms=3,
                label=label,
            )  # fmt: skip
        axes.set_ylim(-3, 103)
        axes.set_title(kind.label, fontsize=10)
        axes.set_xlabel(kind.unit, fontsize=8)
    for axes in grid[:, 0]:
        axes.set_ylabel("trials (%)", fontsize=8)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return made


def half_dose(record: StressRecord, stress: str) -> float | None:
    """The dose at which success has fallen to half of that without stress, between two doses on the line that
    joins them; None if none of those tried was enough."""
    curve = record.curve(stress)
    goal = HALVED * curve[0]["success"]
    for before, behind in pairwise(curve):
        if behind["success"] <= goal < before["success"]:
            share = (before["success"] - goal) / (before["success"] - behind["success"])
            return float(before["dose"] + share * (behind["dose"] - before["dose"]))
    return None


def chapter(record: StressRecord, title_end: str = "") -> str:
    """HTML from the heading on; the picture is part of it."""
    c, strip = record.conditions, course_of(record.rows[0]).title
    lines = []
    for name in record.stresses:
        kind, half = stress_named(name), half_dose(record, name)
        least, most = record.curve(name)[0], record.curve(name)[-1]
        found = f"{half:.2g} {kind.unit}" if half is not None else f"more than {most['dose']:g} {kind.unit}"
        lines.append(
            f"<tr><td>{escape(kind.label)}</td><td>{100 * least['success']:.0f}</td><td>{escape(found)}</td>"
            f"<td>{100 * most['success']:.0f}</td><td style='text-align:left'>{escape(kind.about)}</td></tr>"
        )
    head = "".join(
        f"<th>{word}</th>"
        for word in ("stress", "success without (%)", "dose that halves it", "success at the most (%)", "")
    )
    return (
        f"<h2>Stress{escape(title_end)}</h2><p class='soft'>{counted(record.trials, 'trial')} per dose on "
        f"{escape(strip)}, {c.seconds:g} s at {c.speed:g} m/s, seed {c.seed}; robots and luck as in the "
        f"evaluation.</p>{inline(draw(record), 'Success against dose')}"
        "<p class='soft'>Success (solid) and traversal (dotted) against the dose, with 95 % Wilson intervals."
        f"</p><div class='scroll'><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def table(record: StressRecord) -> Table:
    """Success by dose, for a terminal."""
    made = Table(title=f"success (%) on {course_of(record.rows[0]).title}", title_justify="left")
    made.add_column("stress")
    made.add_column("success by dose")
    for name in record.stresses:
        cells = [f"{row['dose']:g}: {100 * row['success']:.0f}" for row in record.curve(name)]
        made.add_row(f"{stress_named(name).label} ({stress_named(name).unit})", "  ".join(cells))
    return made
