"""The chapter about a policy's eyes, as a part of a page."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from matplotlib.figure import Figure

from ssr.evaluation.eyes import figures
from ssr.evaluation.eyes.looks import FREEZE
from ssr.evaluation.eyes.record import Eyes
from ssr.evaluation.eyes.sight import SMEAR
from ssr.evaluation.eyes.table import HEADINGS, by_camera, courses, seen
from ssr.evaluation.figures.style import inline
from ssr.terrain.kind import Phantom
from ssr.wording import counted

#: drawing, title, caption
PICTURES: tuple[tuple[Callable[[Eyes], Figure | None], str, str], ...] = (
    (
        figures.looks,
        "What it believes about the ground",
        "Moments of single trials, those with most to see, chosen by the ground alone. The policy acts on "
        "what its memory holds; decoded, that is the orange line. If it follows the grey steps, it sees "
        "edges; if it runs through them like a ramp, it does not. From above: light is high, the triangle is "
        "the robot, ahead is up.",
    ),
    (
        figures.phantoms,
        "Do the feet follow the eyes?",
        "The ground stays as it is; the camera is shown the edges further on (or nearer) by as many "
        "centimetres. Feet placed by sight move along (green line), feet placed by touch or habit stay (grey "
        "line). On stairs: mean place on the tread. At gaps and platforms: the landing next to an edge on "
        "its high side, hollow where a foot that followed would miss that side, which shows among the falls "
        "instead. Bars: one standard deviation of the mean.",
    ),
    (
        figures.cameras,
        "With the camera open, frozen and blind",
        f"Frozen: after {FREEZE:g} s the camera shows nothing new. Blind: it never shows anything. A policy "
        "that walks as well without eyes does not use them there. Footholds of robots that fall before the "
        "obstacles are left out.",
    ),
    (
        figures.by_age,
        "As the image grows old",
        "Between two images the memory must carry on what was seen; bands are 95 % intervals. Dotted: the "
        "true map, blurred.",
    ),
)


def chapter(eyes: Eyes, title_end: str = "") -> str:
    """HTML from the heading on; pictures are part of it."""
    c = eyes.conditions
    parts = [
        f"<h2>Eyes{escape(title_end)}</h2>",
        f"<p class='soft'>{counted(eyes.trials, 'trial')} per look, {c.seconds:g} s at {c.speed:g} m/s, "
        f"seed {c.seed}; strips, robots and luck as in the evaluation.</p>",
        _table(eyes),
        _definitions(),
    ]
    for draw, heading, caption in PICTURES:
        made = draw(eyes)
        if made is not None:
            parts.append(f"<h2>{heading}</h2>{inline(made, heading)}<p class='soft'>{caption}</p>")
    return "\n".join(parts)


def _table(eyes: Eyes) -> str:
    head = "<th>strip</th>" + "".join(f"<th>{_head(*heading)}</th>" for heading in HEADINGS)
    rows = []
    for course in courses(eyes):
        shown = [f"{value}<small>{ends}</small>" if ends else value for value, ends in seen(eyes, course)]
        shown += map("<br>".join, by_camera(eyes, course))
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in (course.title, *shown)) + "</tr>")
    head, body = f"<thead><tr>{head}</tr></thead>", f"<tbody>{''.join(rows)}</tbody>"
    return f"<div class='scroll' tabindex='0'><table>{head}{body}</table></div>"


def _head(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


def _definitions() -> str:
    return f"""<p class='soft'>
<b>edges seen</b>: correlation of the decoded height map's sawtooth with the true one's, the sawtooth being
what is left of a map without the plane and the bends x², x³ along the way that fit it best: 1 for the true
map, 0 for its ramp. <b>blur</b>: what the true map would get, averaged over {SMEAR:g} m along the way; who
is no better sees where ground rises and falls, and no edge.
<b>error</b>: root mean square of decoded minus true heights.
<b>feet follow</b>: how far landings move for each centimetre that the camera shows the edges moved: 1 for
feet that follow the eyes, 0 for feet that do not; shifts are shares of a tread, of {100 * Phantom.tread:g} cm
where there is none. <b>success</b>, <b>traversal</b> and <b>safe</b> footholds: as in the evaluation, for
each camera, and <b>chance</b>, what feet put anywhere would get. Small figures: 95 % intervals.</p>"""
