"""The page of long walks: the map with what happened where, figures, and pictures on the way."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from ssr.evaluation.figures.style import colour, figure, inline, tidy
from ssr.evaluation.hike.log import HikeLog, spread
from ssr.terrain.registry import kind_named
from ssr.terrain.route import Route, make_route

#: what, how it is drawn: marker, colour, size
MARKS = {
    "misstep": (".", "#e69f00", 6),
    "recovery": ("^", "#009e73", 28),
    "stall": ("s", "#cc79a7", 28),
    "fall": ("x", "#d0021b", 40),
    "carried": ("P", "#6b6b6b", 40),
}
RULES = """Misstep: a landing with at most 75 % of the sole supported; soles on ramps are judged against their
plane. Recovery: a tilt beyond 30° that was outlived by 2 s. Stall: 15 s without getting on. Who falls or
stalls is put up again one metre before; after three times within 3 m it is carried to the next piece."""
COLUMNS = (
    ("seed", "seed"),
    ("done", "m on the way"),
    ("first_fall", "m to the first fall"),
    ("falls", "falls"),
    ("stalls", "stalls"),
    ("carried_metres", "m carried"),
    ("recoveries", "recoveries"),
    ("missteps", "missteps"),
    ("safe", "safe footholds"),
    ("joules_per_metre", "J/m"),
    ("seconds", "s"),
)


def draw(log: HikeLog, route: Route) -> Figure:
    """The route from above, coloured by its terrain, and its height along the way."""
    made = figure(11.0, 6.4)
    above, side = made.subplots(2, 1, height_ratios=[2.2, 1])
    way = np.array(route.way)
    marks = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(way, axis=0).T))])
    kinds = list(dict.fromkeys(piece.kind for piece in route.pieces))
    for piece in route.pieces:
        span = np.linspace(piece.begin, piece.end, 5)
        line = [np.interp(span, marks, column) for column in way.T]
        above.plot(*line, color=colour(kinds.index(piece.kind)), lw=4, alpha=0.55, solid_capstyle="butt")
    for number, kind in enumerate(kinds):
        above.plot([], [], color=colour(number), lw=4, alpha=0.55, label=kind_named(kind).label)
    if log.track:
        track = np.array(log.track)
        above.plot(track[:, 0], track[:, 1], color="black", lw=0.7)
        side.plot(track[:, 3], track[:, 2], color="black", lw=0.8)
    for what, (marker, shade, size) in MARKS.items():
        places = np.array([(e["x"], e["y"], e["at"], e["z"]) for e in log.events if e["what"] == what])
        if len(places):
            above.scatter(
                places[:, 0], places[:, 1], s=size, marker=marker, color=shade, zorder=3, label=what
            )
            side.scatter(places[:, 2], places[:, 3], s=size, marker=marker, color=shade, zorder=3)
    above.set_aspect("equal")
    above.set(xlabel="m", ylabel="m")
    side.set(xlabel="m on the way", ylabel="height (m)")
    for axes in (above, side):
        tidy(axes)
    above.legend(fontsize=7, ncols=2, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return made


def body(name: str, logs: Sequence[HikeLog], strip: str = "") -> str:
    """HTML; strip: an <img> of pictures on the way."""
    mean, best = spread([log.first_fall for log in logs])
    head = "".join(f"<th>{title}</th>" for _, title in COLUMNS)
    rows = "".join(
        "<tr>" + "".join(f"<td>{log.summary()[key]}</td>" for key, _ in COLUMNS) + "</tr>" for log in logs
    )
    parts = [
        f"<h1>{escape(name)}: the course</h1>",
        f"<p>To the first fall: {mean:.0f} m on average, {best:.0f} m at best. Routes of {logs[0].length:g} "
        f"m at {logs[0].speed:g} m/s, the robot as built; an operator gives speed and heading along the way "
        "and nothing else.</p>",
        f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>",
        f"<p class='soft'>{RULES}</p>",
        strip,
    ]
    for log in logs:
        made = draw(log, make_route(log.seed, log.length))
        parts.append(f"<h2>Seed {log.seed}</h2>{inline(made, f'Map of seed {log.seed}')}{_worst(log)}")
    return "\n".join(parts)


def _worst(log: HikeLog) -> str:
    """Which terrain it fell on."""
    where: dict[str, int] = {}
    for event in log.falls:
        where[event["piece"]] = where.get(event["piece"], 0) + 1
    ranked = sorted(where.items(), key=lambda item: -item[1])[:6]
    listed = ", ".join(f"{escape(piece)} ({count})" for piece, count in ranked)
    return f"<p class='soft'>Falls and stalls: {listed}.</p>" if ranked else "<p class='soft'>No falls.</p>"


def table(logs: Sequence[HikeLog]) -> Table:
    made = Table()
    for _, title in COLUMNS:
        made.add_column(title, justify="right")
    for log in logs:
        made.add_row(*(str(log.summary()[key]) for key, _ in COLUMNS))
    return made
