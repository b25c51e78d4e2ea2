"""Evaluation strips: at least 22 m of one setting, evenly spaced, also beyond the curriculum."""

from __future__ import annotations

import numpy as np
import pytest

from ssr.errors import UserError
from ssr.terrain.making import make_tile
from ssr.terrain.registry import kind_named, trained_kinds
from ssr.terrain.settings import LEVELS
from ssr.terrain.strip import STRIP_POOL, make_strip
from ssr.terrain.tile import Tile


def jumps(tile: Tile) -> tuple[np.ndarray, np.ndarray]:
    """Where the profile at y = 0 jumps (x) and by how much."""
    x = np.arange(0, tile.length, 0.0005)
    z = tile.heights(np.stack([x, np.zeros_like(x)], axis=-1))
    at = np.flatnonzero(np.abs(np.diff(z)) > 1e-9)
    return x[at], np.diff(z)[at]


@pytest.mark.parametrize("width", [0.1, 0.55, 0.8, 0.9])
def test_gaps_come_every_two_and_a_half_metres(width: float) -> None:
    x, dz = jumps(make_strip("gap", (width,)))
    near, far = x[dz < 0], x[dz > 0]
    assert len(near) == 9
    np.testing.assert_allclose(np.diff(near), 2.5, atol=1.1e-3)
    np.testing.assert_allclose(far - near, width, atol=1.1e-3)


@pytest.mark.parametrize("height", [0.05, 0.4, 0.45])
def test_platforms_are_one_and_a_half_metres_long_every_three(height: float) -> None:
    x, dz = jumps(make_strip("platform", (height,)))
    near, far = x[dz > 0], x[dz < 0]
    assert len(near) == 8
    np.testing.assert_allclose(np.diff(near), 3.0, atol=1.1e-3)
    np.testing.assert_allclose(far - near, 1.5, atol=1.1e-3)
    np.testing.assert_allclose(np.abs(dz), height)


@pytest.mark.parametrize("setting", [(0.15, 0.30), (0.15, 0.40), (0.2, 0.25)])
@pytest.mark.parametrize(("kind", "sign"), [("stairs_up", 1), ("stairs_down", -1)])
def test_stairs_never_pause(kind: str, sign: int, setting: tuple[float, float]) -> None:
    rise, tread = setting
    strip = make_strip(kind, setting)
    x, dz = jumps(strip)
    np.testing.assert_allclose(dz, sign * rise)
    np.testing.assert_allclose(np.diff(x), tread, atol=1.1e-3)
    assert len(x) * tread >= 22.0
    assert strip.end_height == pytest.approx(sign * rise * len(x))


@pytest.mark.parametrize("degrees", [20.0, -12.5])
def test_slopes_keep_their_incline_all_the_way(degrees: float) -> None:
    strip = make_strip("slope", (degrees,))
    x = np.linspace(0, strip.length, 300)
    z = strip.heights(np.stack([x, np.zeros_like(x)], axis=-1))
    np.testing.assert_allclose(z, x * np.tan(np.radians(degrees)), atol=1e-8)
    assert strip.length >= 22.0


def test_discrete_strips_are_as_dense_as_their_tiles() -> None:
    strip = make_strip("discrete", (0.2,), rng=np.random.default_rng(2))
    tile = make_tile("discrete", setting=(0.2,), rng=np.random.default_rng(2))
    per_square_metre = (len(tile.boxes) - 1) / (4 * 5)
    centers = np.array([b.center[:2] for b in strip.boxes[1:]])
    for x in np.arange(1.5, 21.5, 4):
        for y in np.arange(-6.5, 6.0, 3.25):
            here = ((centers >= (x, y)) & (centers < (x + 4, y + 3.25))).all(axis=1).sum()
            assert abs(here - 4 * 3.25 * per_square_metre) <= 4
    assert strip.last_edge - strip.first_edge >= 21.5


@pytest.mark.parametrize("kind", trained_kinds())
def test_a_strip_fits_its_pool_and_outlasts_a_trial(kind: str) -> None:
    for level in range(LEVELS):
        strip = make_strip(kind, kind_named(kind).at(level))
        assert len(strip.boxes) <= STRIP_POOL
        assert strip.length >= strip.start + 22.0
        x = np.linspace(strip.length, strip.length + 9.499, 20)
        assert strip.half_width == 6.0
        for y in (-7.49, 0, 7.49):
            apron = strip.heights(np.stack([x[1:], np.full(19, y)], axis=-1))
            np.testing.assert_allclose(apron, strip.end_height, atol=1e-9)


def test_a_strip_that_needs_too_many_boxes_is_refused() -> None:
    with pytest.raises(UserError, match="boxes"):
        make_strip("stairs_up", (0.1, 0.2), length=60)
