"""Courses: the paper's settings, what lies beyond training, and what users type."""

import pytest
from handmade import handmade

from ssr.errors import UserError
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course, at_level_or_setting, choose, course_sets
from ssr.evaluation.measures import course_of, row_of
from ssr.evaluation.worlds import strips_for


def test_table_2_of_the_paper() -> None:
    listed = {(c.kind, *c.setting[:1]): c.beyond for c in course_sets()["table2"]}
    assert listed == {
        ("stairs_up", 0.15): False,
        ("stairs_down", 0.15): False,
        ("gap", 0.80): False,
        ("gap", 0.90): True,
        ("platform", 0.40): False,
        ("platform", 0.45): True,
    }
    assert all(c.setting[1] == 0.30 for c in course_sets()["table2"] if "stairs" in c.kind)


def test_the_sweep_goes_through_training_and_beyond_on_every_kind() -> None:
    for kind in ("slope", "stairs_up", "stairs_down", "discrete", "gap", "platform"):
        beyond = [c.beyond for c in course_sets()["sweep"] if c.kind == kind]
        assert True in beyond and beyond.count(False) >= 3
    assert Course.of("stairs_up", 0.20, 0.24).beyond and not Course.of("stairs_up", 0.20, 0.25).beyond
    assert Course.of("slope", -21.0).beyond and not Course.of("slope", -20.0).beyond


@pytest.mark.parametrize(
    "course", [c for courses in course_sets().values() for c in courses], ids=lambda c: c.key
)
def test_courses_are_long_enough_and_survive_a_table(course: Course) -> None:
    strip = strips_for(course, [0])[0]
    assert strip.length - strip.start >= 22.0
    # A robot twice as fast as told is still on the strip after 12 s; at 1.5 m/s after 20 s.
    assert strip.length - strip.start >= 1.5 * 20.0 - 1.0
    row = row_of(course, handmade(), Conditions())
    assert course_of(row) == course


def test_what_differs_from_trial_to_trial_is_where_it_begins_and_what_is_strewn() -> None:
    one, other = strips_for(Course.of("discrete", 0.1), [1, 2])
    assert one.boxes != other.boxes
    assert strips_for(Course.of("discrete", 0.1), [1])[0].boxes == one.boxes
    one, other = strips_for(Course.of("gap", 0.4), [1, 2])
    assert one.boxes == other.boxes
    assert one.start != other.start


def test_what_users_type() -> None:
    assert choose(("table2",), "gap", "0.45") == [Course.of("gap", 0.45)]
    assert choose(("table2",), "flat", None) == [Course.of("flat")]
    assert {c.kind for c in choose(("table2", "standard"), "gap", None)} == {"gap"}
    assert at_level_or_setting("stairs_down", "19", None) == Course.of("stairs_down", 0.2, 0.25)
    assert at_level_or_setting("flat", None, None) == Course.of("flat")


@pytest.mark.parametrize(
    ("sets", "terrain", "setting", "word"),
    [
        (("table3",), "all", None, "table2"),
        (("table2",), "moon", None, "stairs_up"),
        (("table2",), "all", "0.45", "--terrain"),
        (("table2",), "gap", "wide", "WIDTH"),
        (("table2",), "discrete", None, "--setting"),
    ],
)
def test_mistakes_are_told_in_one_line(sets, terrain, setting, word) -> None:
    with pytest.raises(UserError, match=word) as caught:
        choose(sets, terrain, setting)
    assert "\n" not in str(caught.value)
