"""One HTML page with everything in it: tables, figures and how to read them. It needs no network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from matplotlib.figure import Figure

from ssr.evaluation.eyes.chapter import chapter
from ssr.evaluation.eyes.record import PAGE, Eyes, of_policy
from ssr.evaluation.figures import difficulty, footholds, symmetry, training
from ssr.evaluation.figures.style import colour, inline
from ssr.evaluation.measures import TRAVERSED, Row
from ssr.evaluation.results import REPORT, Results
from ssr.evaluation.table import COLUMNS, all_courses, texts, typical
from ssr.files import write_text
from ssr.terrain.tile import Kind

Draw = Callable[[Sequence[Results]], Figure | None]

#: drawing, title, caption
FIGURES: tuple[tuple[Draw, str, str], ...] = (
    (
        difficulty.difficulty,
        "Success over difficulty",
        "Share of trials that last 20 s (solid) and that also cover 80 % of the way (dotted), with 95 % "
        "Wilson intervals. ★ lies beyond the training curriculum. Paper: Fig. 5.",
    ),
    (
        footholds.distribution,
        "Where feet come down",
        "Density of sole centres over all footholds (number in brackets), smoothed with a Gaussian kernel, "
        "above the ground's cross-section. Green: the whole sole is supported. Paper: Fig. 6a.",
    ),
    (
        footholds.safe_rate,
        "Safe footholds",
        "Share of footholds with more than 75 % of the sole supported at contact. Paper: Fig. 6b.",
    ),
    (
        footholds.over_training,
        "Support over training",
        "Mean support ratio of snapshots; the dashed line marks the first one that reaches 75 %. "
        "Paper: Fig. 6c.",
    ),
    (
        symmetry.paths,
        "Controllability and symmetry",
        "Paths of the base on open ground, seen from above, with the nominal robot: single trials thin, "
        "their mean thick. Dashed: as told. Asymmetry is the distance between a path and the mirror image of "
        "its mirrored command's path. Paper: Fig. 7a.",
    ),
    (
        symmetry.lead,
        "Which leg leads",
        "The foot that comes down first behind a gap or on a platform. Paper: Fig. 7b.",
    ),
    (
        training.training,
        "Training",
        "Return and share of worlds that have crossed the hardest tile, over wall time; peak memory of all "
        "processes. Paper: Fig. 7c.",
    ),
)

QUALITY: tuple[Kind, ...] = ("stairs_up", "stairs_down", "gap", "platform")  #: as in Table 1

STYLE = """
:root { color-scheme: light; --ink: #1d2733; --soft: #5d6b7a; --line: #dde3ea; --tint: #f5f7fa; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 2.5rem 1.5rem 4rem; color: var(--ink); background: #fff;
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 2.6rem 0 .6rem; }
p, li { max-width: 75ch; } .soft { color: var(--soft); font-size: .9rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .38rem .7rem; text-align: right; white-space: nowrap; }
th, td { border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; } thead th { background: var(--tint); font-weight: 600; }
td small { color: var(--soft); display: block; font-size: .75rem; }
tr.first td { border-top: 2px solid var(--line); }
img { max-width: 100%; height: auto; display: block; margin: .4rem 0; }
.dot { display: inline-block; width: .7em; height: .7em; border-radius: 50%; margin-right: .45em; }
.bar { display: block; height: 4px; border-radius: 2px; background: var(--line); margin-top: 3px; }
.bar i { display: block; height: 100%; border-radius: 2px; }
"""


def write(results: Sequence[Results], path: Path | None = None) -> Path:
    """The report of one policy or of several; by default beside the first one's results."""
    return _put(path or results[0].folder / REPORT, page(results))


def write_eyes(eyes: Eyes, folder: Path) -> Path:
    """The page about a policy's eyes alone."""
    return _put(
        folder / PAGE, _document(f"{eyes.name} – eyes", f"<h1>{escape(eyes.name)}</h1>{chapter(eyes)}")
    )


def _put(target: Path, text: str) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, text)
    return target


def page(results: Sequence[Results]) -> str:
    several = len(results) > 1
    title = "Comparison" if several else results[0].name
    parts = [f"<h1>{escape(title)}</h1>", _facts(results), "<h2>Results</h2>", _table(results)]
    parts.append(_definitions(results[0]))
    for draw, heading, caption in FIGURES:
        made = draw(results)
        if made is not None:
            parts.append(f"<h2>{heading}</h2>{inline(made, heading)}<p class='soft'>{caption}</p>")
    parts.append(_quality(results))
    for result in results:
        eyes = of_policy(result.run, result.policy)
        if eyes is not None:
            parts.append(chapter(eyes, f" – {result.name}" if several else ""))
    return _document(f"{title} – evaluation", "\n".join(part for part in parts if part))


def _document(title: str, body: str) -> str:
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def _facts(results: Sequence[Results]) -> str:
    lines = []
    for number, result in enumerate(results):
        c = result.conditions
        words = [f"robot {result.robot}"]
        words += [f"iteration {result.iteration:,}"] if result.iteration is not None else ["not trained"]
        words += [f"{c.speed:g} m/s for {c.seconds:g} s", f"seed {c.seed}"]
        words += [f"stress: {c.label.replace('_', ', ').replace('-', ' ')}"] if c.label else []
        dot = f"<span class='dot' style='background:{colour(number)}'></span>" if len(results) > 1 else ""
        name = f"<b>{escape(result.name)}</b>: " if len(results) > 1 else ""
        lines.append(f"<p class='soft'>{dot}{name}{' · '.join(words)}</p>")
    return "\n".join(lines)


def _table(results: Sequence[Results]) -> str:
    several = len(results) > 1
    measures = [f"{heading} ({unit})" for _, heading, unit, *_ in COLUMNS]
    heads = ["strip", *(["policy"] if several else []), "trials", *measures]
    rows = []
    for course in all_courses(results):
        first = True
        for number, result in enumerate(results):
            row = result.find(course)
            if row is None:
                continue
            dot = f"<span class='dot' style='background:{colour(number)}'></span>"
            cells = [course.title if first else ""]
            cells += [f"{dot}{escape(result.name)}"] if several else []
            shade = colour(number)
            cells += [str(row["trials"]), *(_cell(row, name, rest, shade) for name, _, _, *rest in COLUMNS)]
            kind = " class='first'" if several and first else ""
            rows.append(f"<tr{kind}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
            first = False
    head = "".join(f"<th>{h}</th>" for h in heads)
    body = "".join(rows)
    return f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _cell(row: Row, name: str, numbers: Sequence[float], shade: str) -> str:
    factor, digits, interval_digits = numbers
    value, ends = texts(row, name, factor, int(digits), int(interval_digits))
    text = f"{value}<small>{ends}</small>" if ends else value
    if name in ("success", "traversal"):
        text += f"<span class='bar'><i style='width:{100 * row[name]:.1f}%;background:{shade}'></i></span>"
    return text


def _definitions(result: Results) -> str:
    c = result.conditions
    least = TRAVERSED * c.speed * c.seconds
    drawn = (
        "Every trial draws its own start, camera mounting and sensor noise; the robot is always as built."
        if c.nominal and c.payload is None and c.friction is None and c.push is None
        else "Every trial draws its own start, payload, masses, gains, friction, delay, pushes, camera "
        "mounting and sensor noise, as in training."
    )
    return f"""<p class='soft'>
<b>success</b>: {c.seconds:g} s without a fall and without leaving the strip; a robot that stands still
succeeds. <b>traversal</b>: success and at least {least:g} m covered.
<b>speed</b> and <b>steps</b> (footholds per foot and second): until the trial ended.
<b>SFR</b>: share of footholds with more than 75 % of the sole supported at contact;
<b>MSR</b>: their mean support.
<b>AP</b>: mean Σ|τ·q̇|. <b>PFCF</b>: mean over stances of the largest contact force.
Small figures: 95 % intervals. ★: beyond the training curriculum. {drawn}</p>"""


def _quality(results: Sequence[Results]) -> str:
    """Table 1: power and contact force, mean ± standard deviation between trials."""
    courses = [c for c in (typical(results, kind) for kind in QUALITY) if c is not None]
    if not courses:
        return ""
    head = "".join(f"<th colspan='2'>{course.title}</th>" for course in courses)
    units = "<th>AP (W)</th><th>PFCF (N)</th>" * len(courses)
    rows = []
    for result in results:
        cells = [escape(result.name)]
        for course in courses:
            row = result.find(course)
            cells += [_spread(row, name) for name in ("ap", "pfcf")]
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return (
        "<h2>Motion quality</h2><div class='scroll'><table><thead>"
        f"<tr><th></th>{head}</tr><tr><th>policy</th>{units}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        "<p class='soft'>Average power and peak foot contact force, mean ± standard deviation between "
        "trials. Paper: Table 1.</p>"
    )


def _spread(row: Row | None, name: str) -> str:
    if row is None or row[name] is None:
        return "–"
    std = row[f"{name}_std"]
    return f"{row[name]:.1f}" + ("" if std is None else f" ± {std:.1f}")
