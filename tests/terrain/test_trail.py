"""Ground without an end."""

from __future__ import annotations

import numpy as np
import pytest

from ssr.terrain.registry import kind_names
from ssr.terrain.strip import STRIP_POOL
from ssr.terrain.trail import OpenField, Trail, course, joins, only


@pytest.mark.parametrize("kind", [name for name in kind_names() if joins(name)])
@pytest.mark.parametrize("level", [0, 19])
def test_pieces_of_a_kind_join_without_a_hole(kind: str, level: int) -> None:
    trail = Trail(only(kind, level), 0, turning=0.0)
    trail.reach(40.0)
    at = np.arange(0.0, 40.0, 0.02)
    whole = trail.route.whole().heights(np.stack([at, np.zeros_like(at)], axis=-1))
    assert whole.min() > -50.0
    around = [trail.around((x, 0.0), (0.0, 0.0, 0.0)) for x in np.arange(0.0, 40.0, 2.0)]
    assert max(len(tile.boxes) for tile in around) <= STRIP_POOL
    assert max(len(tile.sights) for tile in around) <= 1500


def test_what_lies_loose_or_winds_does_not_join() -> None:
    assert {name for name in kind_names() if not joins(name)} == {"pallets", "trolley", "spiral_stairs"}


def test_a_trail_that_grows_stays_as_it_was() -> None:
    short, long = Trail(course(12), 5), Trail(course(12), 5)
    long.reach(300.0)
    count = len(short.route.boxes)
    assert long.route.boxes[:count] == short.route.boxes
    assert short.reach(300.0) and short.route == long.route
    assert not short.reach(300.0)


def test_scenery_is_all_of_the_ground_near_and_nothing_far() -> None:
    trail = Trail(course(8), 1)
    trail.reach(150.0)
    place = trail.route.way[6]
    parts = trail.scenery(place, 20.0)
    points = np.array(place) + np.random.default_rng(0).uniform(-4.0, 4.0, (400, 2))
    shown = np.max([tile.heights(points) for tile in parts.values()], axis=0)
    near = trail.around(place, (0.0, 0.0, 0.0)).heights(points)
    np.testing.assert_allclose(shown, near, atol=1e-9)
    assert len(parts) < len(trail.route.pieces)


def test_an_open_field_is_level_everywhere_in_any_frame() -> None:
    field = OpenField()
    for place in ((0.0, 0.0), (103.7, -55.2)):
        origin = (round(place[0]), round(place[1]), 2.0)
        tile = field.around(place, origin)
        near = np.array(place) - origin[:2] + np.random.default_rng(0).uniform(-15, 15, (50, 2))
        np.testing.assert_array_equal(tile.heights(near), -2.0)
