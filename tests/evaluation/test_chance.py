"""Feet put anywhere: what a share of safe footholds is worth."""

import numpy as np
import pytest
from handmade import handmade

from ssr.evaluation.chance import random_support, safe_by_chance
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.measures import measure
from ssr.evaluation.worlds import strips_for
from ssr.robots import load

SOLE = load("x2").sole


def test_anywhere_is_safe_on_level_ground() -> None:
    assert safe_by_chance(Course.of("flat"), SOLE) == 1.0


@pytest.mark.parametrize("kind", ["stairs_up", "stairs_down"])
def test_on_stairs_chance_is_the_share_of_the_tread_that_keeps_three_quarters_of_the_sole(kind: str) -> None:
    # More than 75 % of the sole's ten rows are eight: two may hang over, and rows lie a ninth of it apart.
    tread = 0.32
    safe = tread - SOLE.patch[0] + 2 * SOLE.patch[0] / 9
    assert safe_by_chance(Course.of(kind, 0.13, tread), SOLE) == pytest.approx(safe / tread, abs=0.03)


def test_the_floor_of_a_gap_is_no_foothold() -> None:
    strip = strips_for(Course.of("gap", 0.8), [0])[0]
    support = random_support(strip, SOLE, 2000, np.random.default_rng(0))
    assert len(support) < 0.85 * 2000
    assert support.min() < 0.5 and support.max() == 1.0


def test_pallets_have_edges_too_and_a_winding_way_is_followed() -> None:
    """Soles lie on what moves as they do on ground, and are put down on the steps of a spiral, not beside."""
    assert 0.6 < safe_by_chance(Course.of("pallets", 0.144), SOLE) < 0.98
    winding, straight = (Course.of(kind, 0.15, 0.3) for kind in ("spiral_stairs", "open_stairs"))
    assert safe_by_chance(winding, SOLE) == pytest.approx(safe_by_chance(straight, SOLE), abs=0.12)


def test_slopes_report_no_safe_footholds() -> None:
    trials = handmade(1, foothold_trial=np.zeros(4, np.int32), foothold_support=np.zeros(4, np.float32))
    assert np.isnan(measure(Course.of("slope", 15.0), trials, Conditions())["sfr"].value)
