"""Results as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from ssr.evaluation.courses import SETS, Course
from ssr.evaluation.measures import Row, course_of
from ssr.evaluation.results import Results
from ssr.terrain.tile import Kind

#: measure, heading, unit, factor, digits of the value and of its interval
COLUMNS = (
    ("success", "success", "%", 100, 1, 0),
    ("traversal", "traversal", "%", 100, 1, 0),
    ("distance", "distance", "m", 1, 1, 1),
    ("speed", "speed", "m/s", 1, 2, 2),
    ("steps", "steps", "1/s", 1, 2, 1),
    ("sfr", "SFR", "%", 100, 1, 0),
    ("msr", "MSR", "%", 100, 1, 0),
    ("ap", "AP", "W", 1, 0, 0),
    ("pfcf", "PFCF", "N", 1, 0, 0),
)
SHOWN = tuple(column for column in COLUMNS if column[0] not in ("distance", "msr"))  #: what 80 columns hold


def texts(row: Row, name: str, factor: float, digits: int, interval_digits: int) -> tuple[str, str]:
    """`93.5` and `89–96`; a dash and nothing where nothing was measured."""
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    if value is None:
        return "–", ""
    ends = [] if low is None or high is None else [f"{factor * v:.{interval_digits}f}" for v in (low, high)]
    return f"{factor * value:.{digits}f}", "–".join(ends)


def table(results: Sequence[Results], courses: Sequence[Course] | None = None) -> Table:
    """The chosen courses (all by default) of one or several policies; narrow enough for 80 columns."""
    several = len(results) > 1
    made = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    made.add_column("strip", no_wrap=True)
    if several:
        made.add_column("policy")
    for _, heading, unit, *_ in SHOWN:
        made.add_column(f"{heading}\n{unit}", justify="right", no_wrap=True)
    counts = set()
    for course in courses if courses is not None else all_courses(results):
        for result in results:
            row = result.find(course)
            if row is None:
                continue
            counts.add(row["trials"])
            pairs = (texts(row, name, *numbers) for name, _, _, *numbers in SHOWN)
            cells = [f"{value}\n[dim]{ends}[/dim]" for value, ends in pairs]
            who = (result.name,) if several else ()
            made.add_row(two_lines(course), *who, *cells)
    if counts:
        made.caption = f"{'–'.join(str(n) for n in sorted({min(counts), max(counts)}))} trials per strip"
    return made


def two_lines(course: Course) -> str:
    """The course's title with its numbers on a line of their own."""
    words = course.title.split(" ")
    cut = next((k for k, word in enumerate(words) if word[0].isdigit()), len(words))
    return "\n".join(" ".join(part) for part in (words[:cut], words[cut:]) if part)


def typical(results: Sequence[Results], kind: Kind) -> Course | None:
    """The course that stands for a kind: Table 2's where it was tried, else the hardest within training."""
    tried = [c for c in all_courses(results) if c.kind == kind and not c.beyond]
    preferred = [c for c in tried if c in SETS["table2"]]
    return (preferred or tried)[-1] if tried else None


def all_courses(results: Sequence[Results]) -> list[Course]:
    found = {course_of(row) for result in results for row in result.rows}
    return sorted(found, key=lambda course: course.order)
