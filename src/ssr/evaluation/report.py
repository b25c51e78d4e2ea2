"""One HTML page with everything in it: tables, figures and how to read them. It needs no network."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from matplotlib.figure import Figure

from ssr.evaluation import open_world
from ssr.evaluation import report_tables as tables
from ssr.evaluation.eyes.chapter import chapter
from ssr.evaluation.eyes.record import PAGE, Eyes, of_policy
from ssr.evaluation.figures import difficulty, footholds, symmetry, training
from ssr.evaluation.figures.style import inline
from ssr.evaluation.hike.log import HikeLog
from ssr.evaluation.hike.page import body as hike_body
from ssr.evaluation.results import REPORT, Results
from ssr.evaluation.stress import curves
from ssr.evaluation.stress.chapter import chapter as stress_chapter
from ssr.evaluation.stress.curves import StressRecord
from ssr.evaluation.table import protocol
from ssr.files import write_text

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
        "Share of footholds between the first edge and the last with more than 75 % of the sole supported at "
        "contact. Dashed: the same of soles put down anywhere there. Paper: Fig. 6b.",
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
        "its mirrored command's path. Who stands still ends where a turn ends: so its angle is told. "
        "Paper: Fig. 7a.",
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

STYLE = """
:root { color-scheme: light; --ink: #1d2733; --soft: #5d6b7a; --line: #dde3ea; --tint: #f5f7fa; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 2.5rem 1.5rem 4rem; color: var(--ink); background: #fff;
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 2.6rem 0 .6rem; }
p, li { max-width: 75ch; } .soft { color: var(--soft); font-size: .9rem; }
/* A shadow at the right edge says that there is more; the end of the table covers it. */
.scroll { overflow-x: auto; margin: .6rem 0; border: 1px solid var(--line); border-radius: 4px;
  background: linear-gradient(to left, #fff 45%, #fff0) right / 3rem 100% no-repeat local,
    linear-gradient(to left, #1d273359, #1d273300) right / 1.1rem 100% no-repeat scroll; }
.scroll::-webkit-scrollbar { height: 11px; background: var(--tint); }
.scroll::-webkit-scrollbar-thumb { background: #9aa7b5; border-radius: 6px; border: 2px solid var(--tint); }
th:first-child, td:first-child { position: sticky; left: 0; background: #fff; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .38rem .5rem; text-align: right; white-space: nowrap; }
th, td { border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
thead th { background: #e6ebf159; } thead th:first-child { background: var(--tint); }
thead th { font-weight: 600; white-space: normal;
  vertical-align: bottom; }
@media (max-width: 700px) { body { padding: 1.2rem .9rem 3rem; } th, td { padding: .34rem .45rem; }
  th:first-child, td:first-child { max-width: 7.5rem; white-space: normal;
    border-right: 1px solid var(--line); } }
td small { color: var(--soft); display: block; font-size: .75rem; }
tr.first td { border-top: 2px solid var(--line); }
img { max-width: 100%; height: auto; display: block; margin: .4rem 0; }
.dot { display: inline-block; width: .7em; height: .7em; border-radius: 50%; margin-right: .45em; }
.bar { display: block; height: 4px; border-radius: 2px; background: var(--line); margin-top: 3px; }
.bar i { display: block; height: 100%; border-radius: 2px; }
"""


def write(results: Sequence[Results], path: Path | None = None, readings: Sequence[Results] = ()) -> Path:
    """The report of one policy or of several; by default beside the first one's results.

    readings: the first one's results with friction read otherwise.
    """
    return _put(path or results[0].folder / REPORT, page(results, readings))


def write_eyes(eyes: Eyes, folder: Path) -> Path:
    """The page about a policy's eyes alone."""
    return _put(
        folder / PAGE, document(f"{eyes.name} – eyes", f"<h1>{escape(eyes.name)}</h1>{chapter(eyes)}")
    )


def write_stress(record: StressRecord, folder: Path) -> Path:
    """The page about stress alone."""
    body = f"<h1>{escape(record.name)}</h1>{stress_chapter(record)}"
    return _put(folder / "stress.html", document(f"{record.name} – stress", body))


def write_course(name: str, logs: Sequence[HikeLog], folder: Path, strip: Path | None) -> Path:
    """The page about long walks; strip: a picture to show on it."""
    shown = ""
    if strip is not None:
        data = base64.b64encode(strip.read_bytes()).decode()
        shown = f"<div class='scroll'><img style='max-width:none' src='data:image/png;base64,{data}'></div>"
    return _put(folder / "course.html", document(f"{name} – the course", hike_body(name, logs, shown)))


def _put(target: Path, text: str) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, text)
    return target


def page(results: Sequence[Results], readings: Sequence[Results] = ()) -> str:
    several = len(results) > 1
    title = "Comparison" if several else results[0].name
    parts = [f"<h1>{escape(title)}</h1>", _facts(results), "<h2>Results</h2>", tables.outcome(results)]
    parts += [tables.gait(results), tables.likeness(results), tables.quality(results)]
    parts += [tables.readings(results[0], readings)]
    for draw, heading, caption in FIGURES:
        made = draw(results)
        if made is not None:
            parts.append(f"<h2>{heading}</h2>{inline(made, heading)}<p class='soft'>{caption}</p>")
    parts.append(open_world.chapter(results))
    for result in results:
        eyes = of_policy(result.run, result.policy)
        if eyes is not None:
            parts.append(chapter(eyes, f" – {result.name}" if several else ""))
        stress = curves.of_policy(result.run, result.policy)
        if stress is not None:
            parts.append(stress_chapter(stress, f" – {result.name}" if several else ""))
    return document(f"{title} – evaluation", "\n".join(part for part in parts if part))


def document(title: str, body: str) -> str:
    """A whole page, with its style in it."""
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
        words += [protocol(c)]
        words += [f"stress: {c.label.replace('_', ', ').replace('-', ' ')}"] if c.label else []
        dot = tables.dot(number) if len(results) > 1 else ""
        name = f"<b>{escape(result.name)}</b>: " if len(results) > 1 else ""
        lines.append(f"<p class='soft'>{dot}{name}{' · '.join(words)}</p>")
    return "\n".join(lines)
