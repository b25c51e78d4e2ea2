"""Table 3, level by level, and the layout of every tile."""

from __future__ import annotations

import numpy as np
import pytest

from ssr.errors import UserError
from ssr.task.config import TerrainConfig
from ssr.task.tiles import TileBank
from ssr.terrain.making import TILE_POOL, make_tile
from ssr.terrain.registry import kind_named, trained_kinds
from ssr.terrain.settings import LEVELS, TERRAIN_TYPES
from ssr.terrain.strip import make_strip
from ssr.terrain.tile import Tile

TABLE_3 = {  # kind: (level 0, level 19), in the order of a setting
    "slope": ((0.0,), (20.0,)),
    "stairs_up": ((0.05, 0.4), (0.2, 0.25)),
    "stairs_down": ((0.05, 0.4), (0.2, 0.25)),
    "discrete": ((0.05,), (0.2,)),
    "gap": ((0.1, 0.3), (0.8, 0.6)),
    "platform": ((0.05,), (0.4,)),
}


@pytest.mark.parametrize("kind", TABLE_3)
def test_levels_interpolate_table_3(kind: str) -> None:
    easiest, hardest = TABLE_3[kind]
    for level in range(LEVELS):
        expected = np.array(easiest) + level / 19 * (np.array(hardest) - easiest)
        np.testing.assert_allclose(kind_named(kind).at(level), expected, rtol=1e-12)
        built = make_tile(kind, level=level).setting
        np.testing.assert_allclose(np.abs(built), expected, rtol=1e-12)


def profile(tile: Tile) -> tuple[np.ndarray, np.ndarray]:
    x = np.arange(-1.0, 9.0, 0.0005)
    return x, tile.heights(np.stack([x, np.zeros_like(x)], axis=-1))


@pytest.mark.parametrize("level", range(LEVELS))
def test_stairs_have_the_tread_and_rise_of_their_level(level: int) -> None:
    rise, tread = kind_named("stairs_up").at(level)
    for kind, sign in (("stairs_up", 1), ("stairs_down", -1)):
        tile = make_tile(kind, level=level)
        x, z = profile(tile)
        jumps = np.flatnonzero(np.abs(np.diff(z)) > 1e-9)
        np.testing.assert_allclose(np.diff(z)[jumps], sign * rise, rtol=1e-9)
        np.testing.assert_allclose(np.diff(x[jumps]), tread, atol=1.1e-3)
        assert len(jumps) == int(4 / tread + 1e-9)
        assert x[jumps[0]] == pytest.approx(1.5, abs=1e-3)
        assert tile.last_edge + tread <= 5.5 + 1e-9
        assert tile.end_height == pytest.approx(sign * rise * len(jumps))


@pytest.mark.parametrize("level", range(LEVELS))
@pytest.mark.parametrize("kind", ["gap", "platform"])
def test_gaps_and_platforms_measure_what_their_level_says(kind: str, level: int) -> None:
    for seed in range(4):
        tile = make_tile(kind, level=level, rng=np.random.default_rng(seed))
        x, z = profile(tile)
        jumps = x[np.flatnonzero(np.abs(np.diff(z)) > 1e-9)]
        assert len(jumps) == 4
        lengths = jumps[[1, 3]] - jumps[[0, 2]]
        if kind == "gap":
            width, depth = kind_named("gap").at(level)
            np.testing.assert_allclose(lengths, width, atol=1.1e-3)
            assert z.min() == pytest.approx(-depth)
            assert z.max() == 0.0
        else:
            assert ((lengths > 1.199) & (lengths < 1.501)).all()
            assert z.max() == pytest.approx(kind_named("platform").at(level)[0])
            assert z.min() == 0.0
        assert jumps[2] - jumps[1] > 0.8 - 1.1e-3
        assert jumps[0] >= 1.5 - 1e-3
        assert jumps[3] <= 5.5 + 1e-3
        assert tile.first_edge == pytest.approx(jumps[0], abs=1e-3)
        assert tile.last_edge == pytest.approx(jumps[3], abs=1e-3)


@pytest.mark.parametrize("level", range(LEVELS))
def test_discrete_blocks_reach_their_height_and_stay_in_place(level: int) -> None:
    (height,) = kind_named("discrete").at(level)
    tile = make_tile("discrete", level=level, rng=np.random.default_rng(level))
    blocks = tile.boxes[1:]
    tops = np.array([b.center[2] + b.half[2] for b in blocks])
    sides = 2 * np.array([b.half[:2] for b in blocks])
    assert tops.max() == pytest.approx(height)
    assert tops.min() >= height / 2 - 1e-12
    assert sides.min() >= 0.3 - 1e-8
    assert sides.max() <= 1.0 + 1e-8
    assert tile.first_edge >= 1.5
    assert tile.last_edge <= 5.5
    assert max(abs(b.center[1]) + b.half[1] for b in blocks) <= 2.5 + 1e-9


@pytest.mark.parametrize("kind", trained_kinds())
def test_tiles_are_solid_from_behind_the_start_to_beyond_the_apron(kind: str) -> None:
    for level in range(LEVELS):
        tile = make_tile(kind, level=level, rng=np.random.default_rng(level))
        assert len(tile.boxes) <= TILE_POOL
        assert (tile.length, tile.half_width) == (8.0, 2.0)
        assert 0.25 <= tile.start <= 0.75
        x = np.linspace(-3, 17.5, 206)
        y = np.linspace(-5.5, 5.5, 12)
        grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        heights = tile.heights(grid)
        assert heights.min() > -4.0
        np.testing.assert_allclose(heights[grid[:, 0] <= 0], 0.0, atol=1e-8)
        apron = heights[grid[:, 0] > 8.0]
        np.testing.assert_allclose(apron, tile.end_height, atol=1e-12)
        if kind != "slope":
            ends = (grid[:, 0] < 1.5) | (grid[:, 0] > 5.5)
            assert set(np.round(heights[ends], 9)) <= {0.0, round(tile.end_height, 9)}
        for box in tile.boxes:
            assert 2 * box.half[2] >= 1.0 - 1e-12


def test_half_of_the_slopes_rise_and_half_fall() -> None:
    rng = np.random.default_rng(0)
    ends = [make_tile("slope", level=10, rng=rng).end_height for _ in range(400)]
    assert 160 < sum(end > 0 for end in ends) < 240
    assert make_tile("slope", setting=(15,)).end_height > 0
    assert make_tile("slope", setting=(-15,)).end_height < 0


@pytest.mark.parametrize("make", [lambda **o: make_tile("stairs_up", level=0, **o),
                                  lambda **o: make_strip("stairs_up", (0.13, 0.32), **o)])  # fmt: skip
def test_the_first_edge_is_a_tread_nearer_or_farther_from_time_to_time(make) -> None:
    rng = np.random.default_rng(4)
    away = np.array([tile.first_edge - tile.start for tile in (make(rng=rng) for _ in range(300))])
    assert away.min() >= 0.75 and away.max() <= 1.25
    assert np.ptp(away) > 0.4  # the longest tread of Table 3
    assert np.histogram(away, bins=5, range=(0.75, 1.25))[0].min() > 30
    assert make(rng=rng, start_spread=0.0).start == 0.75


def test_tiles_of_a_bank_differ() -> None:
    bank = TileBank(TerrainConfig(kinds=("stairs_up",)), seed=0)
    for level in (0, 19):
        assert len({tile.start for tile in bank.tiles["stairs_up", level]}) == 4  # and their mirror images


def test_the_same_seed_gives_the_same_tile() -> None:
    for kind in trained_kinds():
        one, two = (make_tile(kind, level=9, rng=np.random.default_rng(5)) for _ in range(2))
        assert one == two
    assert make_tile("gap", level=9) != make_tile("gap", level=9, rng=np.random.default_rng(5))


def test_five_terrain_types_hold_all_kinds() -> None:
    assert TERRAIN_TYPES == ("slope", "stairs", "discrete", "gap", "platform")
    assert {kind_named(kind).terrain_type for kind in trained_kinds()} == set(TERRAIN_TYPES)
    assert kind_named("flat").terrain_type == "slope"
    assert kind_named("stairs_up").terrain_type == kind_named("stairs_down").terrain_type == "stairs"


def test_settings_as_a_user_writes_them() -> None:
    assert kind_named("stairs_up").parse("0.15/0.30") == (0.15, 0.30)
    assert kind_named("slope").parse("-15") == (-15.0,)
    assert kind_named("gap").parse("0.9") == (0.9, 0.6)  # beyond the curriculum: as deep as its hardest level
    assert kind_named("gap").parse("0.45") == pytest.approx((0.45, 0.45))
    assert kind_named("gap").parse("0.8/0.5") == (0.8, 0.5)
    assert kind_named("platform").parse("0.45") == (0.45,)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("stairs_up", "0.15"),
        ("stairs_up", "0.15/0.30/0.1"),
        ("stairs_up", "0.15/0.01"),
        ("gap", "wide"),
        ("gap", "-0.3"),
        ("gap", ""),
        ("slope", "nan"),
        ("slope", "70"),
        ("flat", "1"),
        ("platform", "inf"),
    ],
)
def test_a_bad_setting_is_one_clear_line(kind: str, text: str) -> None:
    with pytest.raises(UserError, match=kind) as caught:
        kind_named(kind).parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        {"kind": "stair_up", "level": 3},
        {"kind": "gap", "level": 20},
        {"kind": "gap", "level": -1},
        {"kind": "gap"},
        {"kind": "gap", "level": 3, "setting": (0.3,)},
        {"kind": "gap", "setting": (5.0,)},
    ],
)
def test_impossible_tiles_are_refused(arguments: dict) -> None:
    with pytest.raises(UserError):
        make_tile(**arguments)
