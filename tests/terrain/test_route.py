"""A route is one way without holes, the same for a seed, whichever part of it is looked at."""

from __future__ import annotations

import numpy as np
import pytest

from ssr.errors import UserError
from ssr.terrain.route import HALF_LANE, make_route

ROUTE = make_route(3, 300.0)


def places() -> np.ndarray:
    """(n, 2) along the way, up to 1.5 m beside it."""
    way, rng = np.array(ROUTE.way), np.random.default_rng(0)
    marks = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(way, axis=0).T))])
    at = rng.uniform(0.0, marks[-1] - 2.0, 1500)
    points = np.stack([np.interp(at, marks, column) for column in way.T], axis=-1)
    return points + rng.uniform(-0.75, 0.75, points.shape) * HALF_LANE / 1.5


def test_there_is_ground_everywhere_along_the_way() -> None:
    heights = ROUTE.whole().heights(places())
    assert heights.min() > -20.0


def test_a_window_has_the_heights_of_the_whole() -> None:
    whole, rng = ROUTE.whole(), np.random.default_rng(1)
    for place in places()[::60]:
        origin = np.array([*np.round(place), 2.0])
        points = place + rng.uniform(-4.0, 4.0, (60, 2))
        near = ROUTE.around(tuple(place), origin.tolist())
        here = near.heights(points - origin[:2]) + origin[2]
        there = whole.heights(points)
        solid = there > -50.0
        np.testing.assert_allclose(here[solid], there[solid], atol=1e-9)
        assert (here[~solid] < -50.0).all()


def test_the_same_seed_gives_the_same_route_and_a_longer_one_begins_alike() -> None:
    assert make_route(3, 300.0) == ROUTE
    longer = make_route(3, 400.0)
    shared = ROUTE.pieces[: len(ROUTE.pieces) - 1]
    assert longer.pieces[: len(shared)] == shared
    assert make_route(4, 300.0).pieces != ROUTE.pieces


def test_it_has_many_kinds_and_turns_and_grass() -> None:
    long = make_route(0, 1300.0)
    assert len({piece.kind for piece in long.pieces}) >= 8
    assert len({piece.heading for piece in long.pieces}) > 20
    assert len(long.sights) > 1000
    assert long.pieces[-1].end >= 1300.0
    assert max(len(long.around(place, (0.0, 0.0, 0.0)).boxes) for place in long.way) <= 100


@pytest.mark.parametrize("length", [0.0, 1e6, -5.0, float("nan")])
def test_an_impossible_length_is_one_clear_line(length: float) -> None:
    with pytest.raises(UserError, match="expected 10 to 10000 m") as caught:
        make_route(0, length)
    assert "\n" not in str(caught.value)
