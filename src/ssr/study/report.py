"""The comparison as one page and as CSV files: Fig. 5 to 7 and Table 1, intervals over seeds."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

from ssr.errors import UserError
from ssr.evaluation import report_tables as tables
from ssr.evaluation import results
from ssr.evaluation.figures import difficulty, footholds, symmetry, training
from ssr.evaluation.figures.style import inline
from ssr.evaluation.paper import TABLE_1
from ssr.evaluation.report import document
from ssr.evaluation.table import Column, protocol, texts, typical
from ssr.files import write_text
from ssr.study import comparison
from ssr.study.folder import CSV, REPORT, StudyFolder
from ssr.study.plan import CONTENDERS, PlannedRun
from ssr.study.seeds import SeedResults
from ssr.wording import counted

Draw = Callable[[Sequence[SeedResults]], Figure | None]

LAST = 20  #: iterations
EARLIER = ("ssr", "hpl", "pim")
ABLATIONS = tuple(name for name, contender in CONTENDERS.items() if contender.family == "ssr")
SAFETY = ("ssr", "no_foothold", "no_imagination", "hpl", "pim")
SYMMETRY = ("ssr", "no_symmetry", "input_symmetry", "hpl", "pim")

#: drawing, methods, title, caption
FIGURES: tuple[tuple[Draw, tuple[str, ...], str, str], ...] = (
    (
        difficulty.difficulty,
        EARLIER,
        "Fig. 5, above: success over difficulty, SSR and earlier methods",
        "Share of trials that last 20 s (solid) and that also cover 80 % of the way (dotted). ★ lies beyond "
        "the training curriculum.",
    ),
    (difficulty.difficulty, ABLATIONS, "Fig. 5, below: ablations", "As above."),
    (
        footholds.distribution,
        SAFETY,
        "Fig. 6a: where feet come down",
        "Density of sole centres over all footholds of all seeds (number in brackets) above the ground's "
        "cross-section. Green: the whole sole is supported.",
    ),
    (
        footholds.safe_rate,
        SAFETY,
        "Fig. 6b: safe footholds",
        "Share of footholds between the first edge and the last with more than 75 % of the sole supported. "
        "Dashed: the same of soles put down anywhere there. Who never gets among the obstacles has none.",
    ),
    (
        footholds.over_training,
        SAFETY,
        "Fig. 6c: support over training",
        "Mean support ratio of snapshots; the dashed line marks the first one that reaches 75 %.",
    ),
    (
        partial(footholds.over_training, measure="sfr"),
        SAFETY,
        "Safe footholds over training",
        "The share of safe footholds of the same snapshots.",
    ),
    (
        symmetry.paths,
        SYMMETRY,
        "Fig. 7a: controllability and symmetry",
        "Paths of the base on open ground, of all seeds, seen from above; thick: their mean, dashed: told. "
        "Asymmetry is each seed's own, then the mean.",
    ),
    (
        symmetry.lead,
        SYMMETRY,
        "Fig. 7b: which leg leads",
        "The foot that comes down first behind a gap or on a platform.",
    ),
    (
        training.training,
        SYMMETRY,
        "Fig. 7c: return, hardest level and memory",
        "Over the wall time of training; bands are intervals over seeds. HPL learns in three stages, each on "
        "ground of its own, so its return is not one curve.",
    ),
)

FILES: dict[str, Callable[[Sequence[SeedResults]], Iterable[dict[str, Any]]]] = {
    "fig5_success.csv": comparison.difficulty,
    "fig6a_footholds.csv": comparison.landings,
    "fig6b_support.csv": comparison.support,
    "fig6c_training.csv": comparison.over_training,
    "fig7a_directions.csv": comparison.directions,
    "fig7b_lead.csv": comparison.lead,
    "fig7c_training.csv": comparison.training,
    "table1_effort.csv": comparison.effort,
}

EVERY_MEASURE = "every_measure.csv"  #: of every run


def write(folder: StudyFolder, done: Sequence[PlannedRun]) -> Path:
    """Page and files of the runs that are done."""
    if not done:
        raise UserError(f"{folder.path} has no run that is done yet: nothing to report.")
    single = [(run, results.load(folder.evaluation(run), folder.training(run))) for run in done]
    methods = _methods(folder, single)
    target = folder.path / CSV
    target.mkdir(exist_ok=True)
    for name, lines in FILES.items():
        write_text(target / name, as_csv(lines(list(methods.values()))))
    listed = [(run.method, run.name, result) for run, result in single]
    write_text(target / EVERY_MEASURE, as_csv(comparison.every_measure(listed)))
    write_text(folder.path / REPORT, page(folder, done, methods))
    return folder.path / REPORT


def _methods(
    folder: StudyFolder, single: Sequence[tuple[PlannedRun, results.Results]]
) -> dict[str, SeedResults]:
    """Seeds of a method together; runs from elsewhere, whose budget is another, each by itself."""
    together: dict[str, list[results.Results]] = {}
    for run, result in single:
        together.setdefault(run.name if run.entered else run.method, []).append(result)
    order = [*folder.plan.methods, *(run.name for run, _ in single if run.entered)]
    title = {run.name: run.title for run, _ in single} | {n: c.title for n, c in CONTENDERS.items()}
    made = {name: SeedResults.of(title[name], together[name]) for name in order if name in together}
    for place, result in enumerate(made.values()):
        result.place = place
    return made


def page(folder: StudyFolder, done: Sequence[PlannedRun], methods: dict[str, SeedResults]) -> str:
    plan = folder.plan
    every = list(methods.values())
    title = f"{plan.name}: {', '.join(result.name for result in every)}"
    parts = [f"<h1>{escape(title)}</h1>", _facts(folder, done, every), _trained(every)]
    for draw, names, heading, caption in FIGURES:
        chosen = [result for name, result in methods.items() if _belongs(name, names, folder)]
        made = draw(chosen) if chosen else None
        if made is not None:
            parts.append(f"<h2>{heading}</h2>{inline(made, heading)}<p class='soft'>{caption}</p>")
    parts += [_effort(every), "<h2>All strips</h2>", tables.outcome(every)]
    return document(f"{plan.name} – study", "\n".join(part for part in parts if part))


def _belongs(name: str, group: Sequence[str], folder: StudyFolder) -> bool:
    method = name if name in CONTENDERS else folder.run(name).method
    return method in group


def _facts(folder: StudyFolder, done: Sequence[PlannedRun], every: Sequence[SeedResults]) -> str:
    plan = folder.plan
    missing = len(plan.runs()) - len(done)
    words = [
        *([escape(plan.about)] if plan.about else []),
        f"{plan.steps:,} steps a run, all stages together",
        f"seeds {', '.join(map(str, plan.seeds))}",
        f"{counted(plan.trials, 'trial')} a strip and run",
        protocol(every[0].conditions),
    ]
    alone = [escape(result.name) for result in every if len(result.members) == 1]
    several = (
        "Intervals are over seeds (Student's t, 95 %): what another training run may give. A measure that "
        "one seed alone could take keeps its interval over trials."
    )
    single = (
        "intervals are over trials (95 %) and say nothing of what another seed would give. Differences "
        "between methods may be luck of the seed."
    )
    intervals = several if len(alone) < len(every) else f"<b>One seed:</b> {single}"
    if 0 < len(alone) < len(every):
        intervals += f" <b>One seed so far ({', '.join(alone)}):</b> {single}"
    lines = [f"<p class='soft'>{' · '.join(words)}</p>", f"<p>{intervals}</p>"]
    if missing:
        lines.append(f"<p><b>{counted(missing, 'run')} of {len(plan.runs())} not done yet.</b></p>")
    for run in done:
        if run.entered:
            lines.append(f"<p class='soft'>{escape(run.title)}: {escape(run.entered.note)}</p>")
    links = ", ".join(f"<a href='{CSV}/{name}'>{name}</a>" for name in (*FILES, EVERY_MEASURE))
    lines.append(f"<p class='soft'>Numbers: {links}</p>")
    return "\n".join(lines)


def _trained(every: Sequence[SeedResults]) -> str:
    """What each method's training came to."""
    heads = ("method", "runs", "steps (M)", "hours", "steps/s", "tracking", "level", "return")
    rows = []
    for number, result in enumerate(every):
        logged = [metrics for member in result.members if (metrics := member.metrics())]
        last = [metrics[-1] for metrics in logged]
        newest = [row for metrics in logged for row in metrics[-LAST:]]
        levels = [value for row in newest for name, value in row.items() if name.startswith("level/")]
        columns = (
            ([row["total_steps"] / 1e6 for row in last], 2),
            ([row["wall_seconds"] / 3600 for row in last], 2),
            ([row["total_steps"] / row["wall_seconds"] for row in last if row["wall_seconds"]], 0),
            ([row["tracking"] for row in newest if "tracking" in row], 2),
            (levels, 1),
            ([row["return/locomotion"] for row in newest if "return/locomotion" in row], 1),
        )
        shown = [f"{fmean(values):,.{digits}f}" if values else "–" for values, digits in columns]
        name = f"{tables.dot(number)}{escape(result.name)}"
        rows.append(tables.html_row([name, str(len(result.members)), *shown]))
    return (
        f"<h2>Training</h2>{tables.html_table(tables.html_row(heads, 'th'), rows)}<p class='soft'>Means over "
        f"seeds, of what learning shows over its last {LAST} iterations. <b>tracking</b>: measured ÷ "
        "commanded speed; <b>level</b>: 0 to 19, over all terrain types.</p>"
    )


def _effort(every: Sequence[SeedResults]) -> str:
    """Table 1."""
    courses = [c for c in (typical(every, kind) for kind in TABLE_1) if c is not None]
    if not courses:
        return ""
    columns = (Column("ap", "AP", "W", 1, 0, 0), Column("pfcf", "PFCF", "N", 1, 0, 0))
    head = "<tr><th></th>" + "".join(f"<th colspan='2'>{course.title}</th>" for course in courses) + "</tr>"
    head += tables.html_row(["method", *("AP (W)", "PFCF (N)") * len(courses)], "th")
    rows = []
    for result in every:
        cells = [escape(result.name)]
        for course in courses:
            row = result.find(course)
            for column in columns:
                value, ends = ("–", "") if row is None else texts(row, column)
                cells.append(f"{value}<small>{ends}</small>" if ends else value)
        rows.append(tables.html_row(cells))
    paper = [TABLE_1[course.kind] for course in courses]
    printed = [f"{value:.1f}" for effort in paper for value in (effort.ap, effort.pfcf)]
    rows.append(tables.html_row(["the paper's SSR", *printed], kind="first"))
    return (
        f"<h2>Table 1: power and contact force</h2>{tables.html_table(head, rows)}<p class='soft'>Average "
        "power and peak foot contact force. Who stands still or falls at once spends little: read it beside "
        "traversal.</p>"
    )


def as_csv(lines: Iterable[dict[str, Any]]) -> str:
    """With a line of names; nothing where there is nothing."""
    rows = list(lines)
    if not rows:
        return ""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
