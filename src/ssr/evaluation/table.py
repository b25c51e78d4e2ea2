"""Results as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.table import Table

from ssr.evaluation.conditions import AVERAGE, Conditions
from ssr.evaluation.courses import Course, course_sets
from ssr.evaluation.measures import Row, course_of
from ssr.evaluation.results import Results
from ssr.wording import counted


class Column(NamedTuple):
    """How one measure is shown."""

    measure: str  #: its name in a row
    heading: str
    unit: str
    factor: float = 1.0
    digits: int = 1
    interval_digits: int = 1


OUTCOME = (
    Column("success", "success", "%", 100, 1, 0),
    Column("traversal", "traversal", "%", 100, 1, 0),
    Column("distance", "distance", "m"),
    Column("speed", "speed", "m/s", 1, 2, 2),
    Column("sfr", "SFR", "%", 100, 1, 0),
    Column("sfr_chance", "chance", "%", 100, 0),
    Column("msr", "MSR", "%", 100, 1, 0),
    Column("rated", "rated", "landings", 1, 0),
    Column("ap", "AP", "W", 1, 0, 0),
    Column("pfcf", "PFCF", "N", 1, 0, 0),
)
GAIT = (
    Column("walk_trials", "walks", "n", 1, 0),
    Column("walk_seconds", "in all", "s", 1, 0),
    Column("cadence", "cadence", "1/s", 1, 2, 2),
    Column("step_length", "step", "m", 1, 2, 2),
    Column("air_time", "air", "s", 1, 2, 2),
    Column("stance_time", "stance", "s", 1, 2, 2),
    Column("double_support", "both feet", "%", 100, 0, 0),
    Column("flight", "flight", "%", 100, 0, 0),
)
WAY = (
    Column("speed_share", "speed ÷ command", "%", 100, 0, 0),
    Column("drift", "drift", "m per 10 m", 1, 2, 2),
    Column("scatter", "scatter", "cm", 100, 1),
    Column("lead_right", "right foot leads", "%", 100, 0, 0),
    Column("style", "style", "r^s", 1, 2, 2),
    Column("style_reference", "of reference", "r^s", 1, 2),
)
#: what 80 columns hold
SHOWN = tuple(column for column in OUTCOME if column.measure not in ("distance", "msr", "rated"))
SHORT = {
    "speed_share": "speed\n%",
    "drift": "drift\nm/10",
    "double_support": "both\n%",
    "cadence": "steps\n1/s",
    "scatter": "spread\ncm",
}
ALONE_ONLY = ("walk_trials", "sfr_chance")  #: make room for the letter of a policy
IN_REPORT_ONLY = ("stance_time", "lead_right", "style_reference", "walk_seconds")
SHOWN_GAIT = tuple(column for column in (*GAIT, *WAY) if column.measure not in IN_REPORT_ONLY)


def texts(row: Row, column: Column) -> tuple[str, str]:
    """`93.5` and `89–96`; a dash and nothing where nothing was measured."""
    value, low, high = (row.get(column.measure + end) for end in ("", "_low", "_high"))
    if value is None:
        return "–", ""
    ends = [] if low is None or high is None else [low, high]
    shown = [f"{column.factor * end:.{column.interval_digits}f}" for end in ends]
    return f"{column.factor * value:.{column.digits}f}", "–".join(shown)


def friction_words(rule: str) -> str:
    """A friction rule in words."""
    return "averaged with 1.0" if rule == AVERAGE else "as printed"


def protocol(conditions: Conditions) -> str:
    """`1 m/s for 20 s, a forward command and nothing else, friction averaged with 1.0, seed 0`"""
    words = [f"{conditions.speed:g} m/s for {conditions.seconds:g} s"]
    if conditions.look_ahead:
        words.append(f"an operator steers to the middle line {conditions.look_ahead:g} m ahead")
    else:
        words.append("a forward command and nothing else")
    if conditions.friction is not None:
        words.append(f"friction {conditions.friction:g}")
    elif conditions.nominal:
        words.append("the robot as built, friction 1.0")
    else:
        words.append(f"friction {friction_words(conditions.friction_rule)}")
    return ", ".join([*words, f"seed {conditions.seed}"])


def table(results: Sequence[Results], courses: Sequence[Course] | None = None) -> Table:
    """Outcomes on the chosen courses (all by default) of one or several policies, with their intervals."""
    made = _table(results, courses, SHOWN, intervals=True)
    counts = {row["trials"] for result in results for row in result.rows}
    if counts:
        least, most = min(counts), max(counts)
        made.caption = f"{'' if least == most else f'{least}–'}{counted(most, 'trial')} per strip"
    return made


def gait_table(results: Sequence[Results], courses: Sequence[Course] | None = None) -> Table:
    """How they walk there; intervals are in the report."""
    return _table(results, courses, SHOWN_GAIT, intervals=False)


def _table(
    results: Sequence[Results], courses: Sequence[Course] | None, columns: Sequence[Column], intervals: bool
) -> Table:
    """Narrow enough for 80 columns."""
    several = len(results) > 1
    made = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    made.add_column("strip", no_wrap=True)
    if several:
        made.title = "\n".join(f"{letter}: {result.name}" for letter, result in lettered(results))
        made.title_justify = "left"
        made.add_column("", no_wrap=True)
        columns = [column for column in columns if column.measure not in ALONE_ONLY]
    for column in columns:
        heading = SHORT.get(column.measure, f"{column.heading}\n{column.unit}")
        made.add_column(heading, justify="right", no_wrap=True)
    for course in courses if courses is not None else all_courses(results):
        for letter, result in lettered(results):
            row = result.find(course)
            if row is None:
                continue
            pairs = (texts(row, column) for column in columns)
            cells = [f"{value}\n[dim]{ends}[/dim]" if intervals else value for value, ends in pairs]
            who = (letter,) if several else ()
            made.add_row(two_lines(course), *who, *cells)
    return made


def lettered(results: Sequence[Results]) -> list[tuple[str, Results]]:
    """`A`, `B`, …: names are often longer than a table has room for."""
    return [(chr(ord("A") + k) if k < 26 else str(k + 1), result) for k, result in enumerate(results)]


def two_lines(course: Course) -> str:
    """The course's title with its numbers on a line of their own."""
    words = course.title.split(" ")
    cut = next((k for k, word in enumerate(words) if word[0].isdigit()), len(words))
    return "\n".join(" ".join(part) for part in (words[:cut], words[cut:]) if part)


def typical(results: Sequence[Results], kind: str) -> Course | None:
    """The course that stands for a kind: Table 2's where it was tried, else the hardest within training."""
    tried = [c for c in all_courses(results) if c.kind == kind and not c.beyond]
    preferred = [c for c in tried if c in course_sets()["table2"]]
    return (preferred or tried)[-1] if tried else None


def all_courses(results: Sequence[Results]) -> list[Course]:
    found = {course_of(row) for result in results for row in result.rows}
    return sorted(found, key=lambda course: course.order)
