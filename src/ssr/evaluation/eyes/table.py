"""A policy's eyes as a table, for the terminal and for a page."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table

from ssr.evaluation.courses import Course
from ssr.evaluation.eyes.record import Eyes
from ssr.evaluation.measures import Row, course_of
from ssr.evaluation.table import two_lines
from ssr.wording import counted

NOTHING = "–"
BLUR, CHANCE = "blur", "chance"  #: columns that a terminal has no room for
SHARES = (("success", "success"), ("traversal", "traversal"), ("sfr", "safe"), ("sfr_chance", CHANCE))


def with_interval(row: Row | None, name: str) -> tuple[str, str]:
    """`0.93` and `0.91…0.95`; a dash and nothing where there was nothing to see."""
    if row is None or row[name] is None:
        return NOTHING, ""
    value, low, high = (_signed(row[f"{name}{end}"]) for end in ("", "_low", "_high"))
    return value, f"{low}…{high}"


def _signed(value: float | None) -> str:
    text = NOTHING if value is None else f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


def courses(eyes: Eyes) -> list[Course]:
    return [course_of(row) for row in eyes.sight]


def of_course(rows: list[Row], course: Course) -> list[Row]:
    return [row for row in rows if (row["terrain"], row["setting"]) == (course.kind, course.text)]


def seen(eyes: Eyes, course: Course) -> list[tuple[str, str]]:
    """Edges seen, the same of a blurred map, map error in cm, feet follow; with intervals where known."""
    sight = of_course(eyes.sight, course)[0]
    phantom = next(iter(of_course(eyes.phantoms, course)), None)
    error = NOTHING if sight["map_error"] is None else f"{100 * sight['map_error']:.1f}"
    floor = (_signed(sight["blurred"]), "")
    return [with_interval(sight, "edge_sight"), floor, (error, ""), with_interval(phantom, "slope")]


def by_camera(eyes: Eyes, course: Course) -> list[tuple[str, ...]]:
    """Columns of three: the camera, and with it success, traversal, safe footholds and their chance in %."""
    rows = of_course(eyes.cameras, course)
    text = lambda value: NOTHING if value is None else f"{100 * value:.0f}"
    shares = [tuple(text(row[name]) for row in rows) for name, _ in SHARES]
    return [tuple(row["camera"] for row in rows), *shares]


SEEN = (("edges seen", "0 to 1"), (BLUR, "0 to 1"), ("error", "cm"), ("feet follow", "0 to 1"))
HEADINGS = (*SEEN, ("camera", ""), *((heading, "%") for _, heading in SHARES))


def table(eyes: Eyes) -> Table:
    """Narrow enough for 80 columns."""
    made = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    made.add_column("strip", no_wrap=True)
    for heading, unit in HEADINGS:
        if heading not in (BLUR, CHANCE):  # they stand below the edges seen and the strip
            made.add_column(f"{heading}\n{unit}", justify="right" if unit else "left", no_wrap=True)
    for course in courses(eyes):
        (edges, ends), (floor, _), *rest = seen(eyes, course)
        blur = "" if edges == NOTHING else f"blur {floor}"
        shown = [f"{edges}\n[dim]{ends}\n{blur}[/dim]"]
        shown += [f"{value}\n[dim]{ends}[/dim]" for value, ends in rest]
        *cells, chance = by_camera(eyes, course)
        luck = "" if chance[0] == NOTHING else f"chance {chance[0]} %"
        made.add_row(f"{two_lines(course)}\n[dim]{luck}[/dim]", *shown, *map("\n".join, cells))
    made.caption = f"{counted(eyes.trials, 'trial')} per strip and camera; blur: of the true map, blurred"
    return made
