"""How a study stands: a page that reloads itself, and lines for the terminal."""

from __future__ import annotations

import time
from datetime import timedelta
from html import escape

from rich.table import Table

from ssr.evaluation.report import STYLE
from ssr.evaluation.report_tables import html_row, html_table
from ssr.study.board import FAILED, FINISHED, RUNNING, WAITING, Board, Standing
from ssr.study.folder import REPORT, StudyFolder
from ssr.wording import counted

RELOAD = 10  #: s


def page(folder: StudyFolder, board: Board, slots: int) -> str:
    """The whole page; links lead into the study's directory."""
    finished = len(board.of(FINISHED)) == len(board.runs)
    rows = [html_row(_cells(folder, board, one), kind=one.state) for one in board.runs]
    heads = ("run", "", "done", "where", "steps", "steps/s", "time left", "tracking", "level", "")
    made = f"<p><a href='{REPORT}'>The report</a></p>" if (folder.path / REPORT).is_file() else ""
    reload = "" if finished else f"<meta http-equiv='refresh' content='{RELOAD}'>"
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"{reload}<title>{escape(board.plan.name)} – study</title><style>{STYLE}{COLOURS}</style></head>"
        "\n<body>"
        f"<h1>{escape(board.plan.name)}</h1><p>{escape(board.plan.about)}</p>"
        f"<p><b>{escape(summary(board, slots))}</b></p>{_bar(overall(board))}{made}"
        f"{html_table(html_row(heads, 'th'), rows)}"
        f"<p class='soft'>{board.plan.steps:,} steps a run. Written {time.strftime('%Y-%m-%d %H:%M:%S')}; "
        "while the study runs, every few seconds.</p></body></html>\n"
    )


COLOURS = """
tr.waiting td { color: var(--soft); } tr.failed td { color: #b23a48; }
.bar { width: 9rem; height: 8px; } .bar i { background: #0072b2; }
"""


def overall(board: Board) -> float:
    return sum(board.share(one) for one in board.runs) / max(1, len(board.runs))


def summary(board: Board, slots: int) -> str:
    """`3 of 9 runs done, 2 running, 4 waiting; 5:12:00 left`"""
    done, running = len(board.of(FINISHED)), len(board.of(RUNNING))
    words = [f"{done} of {counted(len(board.runs), 'run')} done"]
    words += [f"{running} running"] if running else []
    words += [f"{len(board.of(WAITING))} waiting"] if board.of(WAITING) else []
    words += [f"{len(board.of(FAILED))} failed"] if board.of(FAILED) else []
    left = board.all_seconds_left(max(slots, running))
    timed = "" if left is None or not board.of(RUNNING, WAITING) else f"; {_duration(left)} left"
    unknown = timed and not board.of(FINISHED)
    return ", ".join(words) + timed + (" for training alone" if unknown else "")


def table(board: Board, slots: int) -> Table:
    """What runs now, for a terminal."""
    made = Table(box=None, pad_edge=False, title=summary(board, slots), title_justify="left")
    for heading in ("run", "", "%", "steps/s", "left", "where"):
        made.add_column(heading, justify="right" if heading in ("%", "steps/s", "left") else "left")
    for one in board.of(RUNNING, FAILED):
        made.add_row(*_shown(board, one), one.where)
    return made


def line(board: Board, slots: int) -> str:
    """The same in one line, where nobody sees a table."""
    now = [f"{one.run.title}: {_doing(one)} {100 * board.share(one):.0f} %" for one in board.of(RUNNING)]
    return "; ".join([summary(board, slots), *now])


def _shown(board: Board, one: Standing) -> tuple[str, ...]:
    left = board.seconds_left(one)
    return (
        one.run.title,
        _doing(one),
        f"{100 * board.share(one):.0f}",
        f"{one.rate:,.0f}" if one.rate and one.phase == "training" else "",
        _duration(left) if left is not None and one.state == RUNNING else "",
    )


def _cells(folder: StudyFolder, board: Board, one: Standing) -> list[str]:
    title, doing, percent, rate, left = _shown(board, one)
    metrics = one.metrics or {}
    levels = [value for name, value in metrics.items() if name.startswith("level/")]
    log = folder.log(one.run)
    name = escape(title)
    if one.state == FINISHED:
        name = f"<a href='{one.run.name}/eval/results.json'>{name}</a>"
    return [
        name,
        escape(doing),
        f"{percent} %{_bar(board.share(one))}",
        escape(one.where),
        "" if one.run.entered else f"{one.steps / 1e6:.2f} M",
        rate,
        left,
        f"{metrics['tracking']:.2f}" if "tracking" in metrics else "",
        f"{sum(levels) / len(levels):.1f}" if levels else "",
        f"<a href='logs/{log.name}'>log</a>" if log.is_file() else "",
    ]


def _doing(one: Standing) -> str:
    if one.state == FAILED:
        return f"failed: {one.reason}"
    return one.phase or one.state if one.state == RUNNING else one.state


def _bar(share: float) -> str:
    return f"<span class='bar'><i style='width:{100 * share:.1f}%'></i></span>"


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
