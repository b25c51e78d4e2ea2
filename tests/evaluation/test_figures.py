"""What figures are drawn from: densities, places on treads and at gaps, leading legs."""

from pathlib import Path

import numpy as np
import pytest
from handmade import handmade, stepping

from ssr.evaluation import places
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import course_sets
from ssr.evaluation.figures import difficulty, footholds, style, symmetry, training
from ssr.evaluation.measures import row_of
from ssr.evaluation.results import Results
from ssr.learning.run_directory import METRICS
from ssr.terrain.registry import kind_named

RIGHT, LEFT = 0, 1


def test_densities_hold_all_footholds() -> None:
    rng = np.random.default_rng(0)
    grid = np.linspace(-2, 2, 2001)
    whole = footholds.density(rng.normal(0, 0.3, 5000), grid)
    assert np.trapezoid(whole, grid) == pytest.approx(1.0, abs=1e-3)
    tread = np.linspace(0, 0.3, 1001)
    wrapped = footholds.density(rng.uniform(0, 0.3, 20000), tread, period=0.3)
    assert wrapped == pytest.approx(np.full(1001, 1 / 0.3), rel=0.1)


def test_places_on_treads_and_at_gaps() -> None:
    trials = handmade(1, **stepping((0, RIGHT, 1.2), (0, LEFT, 1.6), (0, RIGHT, 1.95)))
    stairs = kind_named("stairs_down").section((0.15, 0.30))  # the first tread begins at 1.5 m
    assert places.places(stairs, trials) == pytest.approx([0.1, 0.15], abs=1e-6)
    gap = kind_named("gap").section((0.8, 0.6))  # gaps begin at 1.5 and 4.0 m
    trials = handmade(1, **stepping((0, RIGHT, 1.4), (0, LEFT, 2.4), (0, RIGHT, 3.9), (0, LEFT, 4.9)))
    assert places.places(gap, trials) == pytest.approx([-0.1, 0.9, -0.1, 0.9], abs=1e-6)


def test_the_leg_that_lands_first_behind_a_gap_leads() -> None:
    gap = kind_named("gap").crossing((0.8, 0.6))  # 1.5–2.3, 4.0–4.8, …
    first = [
        (0, RIGHT, 1.4),
        (0, LEFT, 2.45),
        (0, RIGHT, 2.9),
        (0, LEFT, 3.9),
        (0, RIGHT, 4.9),
        (0, LEFT, 5.0),
    ]
    second = [(1, LEFT, 1.3), (1, RIGHT, 2.4), (1, LEFT, 2.5)]
    crossings, right = places.leading_feet(gap, handmade(3, **stepping(*first, *second)))
    assert crossings.tolist() == [2, 1, 0]
    assert right.tolist() == [1, 1, 0]


def test_the_leg_that_lands_first_on_a_platform_leads() -> None:
    platform = kind_named("platform").crossing((0.4,))  # 1.5–3.0, 4.5–6.0, …
    steps = [
        (0, LEFT, 1.3),
        (0, RIGHT, 1.6),
        (0, LEFT, 2.1),
        (0, RIGHT, 3.4),
        (0, LEFT, 4.6),
        (0, RIGHT, 5.0),
    ]
    crossings, right = places.leading_feet(platform, handmade(1, **stepping(*steps)))
    assert (crossings.tolist(), right.tolist()) == ([2], [1])


@pytest.fixture
def made(tmp_path: Path) -> Results:
    result = Results(
        name="walker", folder=tmp_path, digest="0" * 64, conditions=Conditions(), robot="x2", run=tmp_path
    )
    for course in course_sets()["sweep"]:
        trials = handmade(2, **stepping(*((k % 2, k // 2 % 2, 1.7 + 0.3 * k) for k in range(12))))
        result.put(row_of(course, trials, Conditions()) | {"sfr_chance": 0.4})
    return result


def test_every_figure_can_be_drawn(made: Results) -> None:
    made.put_snapshot(made.rows[-1] | {"iteration": 100})
    made.put_snapshot(made.rows[-1] | {"iteration": 200})
    made.directions = {
        "commands": [[0.6, 0, 0]] * 8 + [[0, 0, 0.8], [0, 0, -0.8]],
        "seconds": 8.0,
        "paths": np.random.default_rng(0).random((10, 2, 5, 2)).tolist(),
        "lasted": [[True, False]] * 10,
        "end_error": [1.0] * 10,
        "turned_share": [None] * 8 + [0.97, 0.95],
        "falls": [0.5] * 10,
        "asymmetry": [0.1] * 10,
    }
    lines = [
        f'{{"iteration": {k}, "wall_seconds": {30 * k}, "return/locomotion": {k}, "reached_top/gap": 0.5, '
        f'"peak_memory_mb": 900}}\n'
        for k in range(1, 40)
    ]
    (made.folder / METRICS).write_text("".join(lines))
    draws = (difficulty.difficulty, footholds.safe_rate, footholds.over_training, symmetry.paths)
    for draw in (*draws, training.training):
        drawn = draw([made, made])
        assert drawn is not None and style.png(drawn).startswith(b"\x89PNG")


def test_nothing_measured_means_no_figure(tmp_path: Path) -> None:
    empty = Results(name="x", folder=tmp_path, digest="0" * 64, conditions=Conditions(), run=tmp_path)
    for draw in (
        difficulty.difficulty,
        footholds.distribution,
        footholds.safe_rate,
        footholds.over_training,
        symmetry.paths,
        symmetry.lead,
        training.training,
    ):
        assert draw([empty]) is None


def test_difficulty_shows_one_panel_per_terrain_and_stars_beyond_training(made: Results) -> None:
    drawn = difficulty.difficulty([made])
    assert drawn is not None
    titles = [axes.get_title() for axes in drawn.axes if axes.get_title()]
    assert titles == ["slope up", "slope down", "stairs up", "stairs down", "discrete", "gap", "platform"]
    ticks = [label.get_text() for label in drawn.axes[5].get_xticklabels()]
    assert ticks == ["20", "40", "60", "80", "90★"]
