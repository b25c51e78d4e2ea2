"""Support deficiency equals what a ruler finds, and its expectation what chance finds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from ssr import robots
from ssr.errors import UserError
from ssr.terrain.field import TerrainField
from ssr.terrain.making import TILE_POOL, make_tile
from ssr.terrain.tile import Tile
from ssr.vision.heightmap import foot_map_points
from ssr.vision.support import (
    expected_deficiency,
    landing_rule,
    landing_rules,
    resting_deficiency,
    support_deficiency,
)

SOLE = robots.load("x2").sole
DOWN = make_tile("stairs_down", setting=(0.15, 0.30))
UP = make_tile("stairs_up", setting=(0.15, 0.30))
UPHILL = make_tile("slope", setting=(20.0,))


def field(*tiles: Tile) -> TerrainField:
    terrain = TerrainField(len(tiles), TILE_POOL)
    terrain.place(list(range(len(tiles))), list(tiles))
    return terrain


def heights_under(tile: Tile, x: float, y: float = 0.0, yaw: float = 0.0) -> torch.Tensor:
    """(50,) under a sole whose centre is at x, y."""
    centers = torch.tensor([[[x, y], [x, y]]])
    points = foot_map_points(centers, torch.full((1, 2), yaw), SOLE)
    return field(tile).heights(points)[0, 0]


def standing(tile: Tile, x: float, sole_height: float, yaw: float = 0.0) -> float:
    return float(support_deficiency(heights_under(tile, x, yaw=yaw), torch.tensor(sole_height)))


def imagined(tile: Tile, x: float, yaw: float = 0.0) -> float:
    return float(resting_deficiency(heights_under(tile, x, yaw=yaw)))


def deficiency_on(tile: Tile, heights: Tensor) -> Tensor:
    """ρ (...) of patches with heights (..., k) on a tile: the floor of a pit carries nobody."""
    lost = heights.amax(-1) <= field(tile).floor[0]
    return torch.where(lost, 1.0, resting_deficiency(heights))


# ---- worked by hand: rows of the patch lie 2.5 cm apart, from -11.25 to 11.25 cm ---------------------


def test_fully_on_a_tread_nothing_hangs() -> None:
    middle = DOWN.first_edge + 0.15  # the tread is 30 cm deep, the patch 22.5 cm long
    assert standing(DOWN, middle, -0.15) == 0.0
    assert imagined(DOWN, middle) == 0.0


def test_half_over_an_edge_half_hangs() -> None:
    assert standing(DOWN, DOWN.first_edge, 0.0) == pytest.approx(0.5)
    assert imagined(DOWN, DOWN.first_edge) == pytest.approx(0.5)
    assert imagined(UP, UP.first_edge) == pytest.approx(0.5)  # the heel hangs


def test_three_centimetres_of_overhang_leave_two_rows_of_ten() -> None:
    """The patch ends at 11.25 cm: rows at 8.75 and 11.25 cm lie beyond the edge at 8.25 cm."""
    assert standing(DOWN, DOWN.first_edge - 0.0825, 0.0) == pytest.approx(0.2)
    assert imagined(DOWN, DOWN.first_edge - 0.0825) == pytest.approx(0.2)


def test_on_a_slope_the_downhill_rows_hang() -> None:
    """tan 20° = 0.364: 3 cm are lost over 8.24 cm.

    With the sole at the height under its centre that leaves the rows at -8.75 and -11.25 cm; resting on the
    uphill end at 11.25 cm, all rows up to 3.0 cm: six of ten.
    """
    centre = float(np.tan(np.radians(20.0)) * 4.0)
    assert standing(UPHILL, 4.0, centre) == pytest.approx(0.2)
    assert imagined(UPHILL, 4.0) == pytest.approx(0.6)


def test_a_foot_along_the_edge_hangs_by_columns() -> None:
    """Turned by 90°, columns at -5, -2.5, 0, 2.5, 5 cm: three are beyond an edge 1.25 cm behind it."""
    x = DOWN.first_edge + 0.0125
    assert standing(DOWN, x, 0.0, yaw=np.pi / 2) == pytest.approx(0.6)
    assert standing(DOWN, x, 0.0, yaw=-np.pi / 2) == pytest.approx(0.6)


@pytest.mark.parametrize("drop, hanging", [(0.02, 0.0), (0.029, 0.0), (0.031, 0.5), (0.2, 0.5)])
def test_ground_within_three_centimetres_still_carries(drop: float, hanging: float) -> None:
    heights = torch.cat([torch.zeros(25), torch.full((25,), -drop)])
    assert float(support_deficiency(heights, torch.tensor(0.0))) == pytest.approx(hanging)


def test_a_lifted_foot_is_not_carried() -> None:
    assert standing(DOWN, DOWN.first_edge + 0.15, -0.15 + 0.05) == 1.0


# ---- expectation -------------------------------------------------------------------------------------

CASES = [
    (DOWN, DOWN.first_edge, 0.0),
    (DOWN, DOWN.first_edge + 0.15, 0.2),
    (UP, UP.first_edge + 0.07, -0.3),
    (make_tile("stairs_up", 19), 3.02, 0.1),
    (make_tile("gap", setting=(0.3, 0.5)), make_tile("gap", setting=(0.3, 0.5)).first_edge - 0.03, 0.1),
    (make_tile("gap", 15), make_tile("gap", 15).first_edge + 0.2, -0.2),
    (make_tile("platform", 10), make_tile("platform", 10).first_edge - 0.1, 0.25),
    (make_tile("discrete", 19), 3.3, -0.4),
    (UPHILL, 4.0, 0.0),
]


def expected(std: float, rule: str | None = None, cases=CASES) -> torch.Tensor:
    """(cases, 2): right and left foot at the same place."""
    terrain = field(*(tile for tile, _, _ in cases))
    mean = torch.tensor([[[x, 0.1], [x, 0.1]] for _, x, _ in cases])
    yaw = torch.tensor([[yaw, yaw] for _, _, yaw in cases])
    options = {} if rule is None else {"rule": rule}
    return expected_deficiency(terrain, mean, torch.full((len(cases), 2), std), yaw, SOLE, **options)


@pytest.mark.parametrize("std", [0.02, 0.05, 0.10, 0.20])
def test_the_expectation_is_what_100_000_landings_find(std: float) -> None:
    landings = torch.randn(100_000, 1, 2, generator=torch.Generator().manual_seed(11)) * std
    offsets = torch.tensor(SOLE.offsets().reshape(-1, 2)).float()
    ours = expected(std)
    for number, (tile, x, yaw) in enumerate(CASES):
        c, s = np.cos(yaw), np.sin(yaw)
        patch = offsets @ torch.tensor([[c, s], [-s, c]]).float() + torch.tensor([x, 0.1])
        heights = field(tile).heights((landings + patch)[None])[0]
        truth = float(deficiency_on(tile, heights).mean())
        assert ours[number].tolist() == pytest.approx([truth, truth], abs=0.02)


@pytest.mark.parametrize("rule", landing_rules())
def test_each_rule_is_the_weighted_mean_over_its_points(rule: str) -> None:
    points, weights = landing_rule(rule)
    assert weights.sum() == pytest.approx(1.0)
    assert points.mean(0) == pytest.approx([0.0, 0.0], abs=1e-9)
    ours = expected(0.08, rule)
    for number, (tile, x, yaw) in enumerate(CASES):
        for foot, side in ((0, 1.0), (1, -1.0)):
            at = points * (1.0, side) * 0.08 + (x, 0.1)
            centers = torch.tensor(at, dtype=torch.float32)[None]
            under = foot_map_points(centers, torch.full((1, len(at)), yaw), SOLE)
            deficiency = deficiency_on(tile, field(tile).heights(under)[0])
            mean = float(deficiency.double() @ torch.tensor(weights))
            assert float(ours[number, foot]) == pytest.approx(mean, abs=1e-3)


def test_an_unknown_rule_is_named_with_those_there_are() -> None:
    with pytest.raises(UserError, match=r"Unknown landing rule: 'simpson'\. Known: lattice34, lattice144"):
        expected(0.1, "simpson")


@pytest.mark.parametrize("rule", landing_rules())
def test_a_mirrored_world_gives_mirrored_expectations(rule: str) -> None:
    rng = np.random.default_rng(2)
    tiles = [make_tile("discrete", int(level), rng=rng) for level in rng.integers(0, 20, size=40)]
    mean = torch.tensor(rng.uniform((1.5, -0.8), (5.0, 0.8), size=(40, 2, 2))).float()
    std = torch.tensor(rng.uniform(0.01, 0.2, size=(40, 2))).float()
    yaw = torch.tensor(rng.uniform(-0.8, 0.8, size=(40, 2))).float()
    here = expected_deficiency(field(*tiles), mean, std, yaw, SOLE, rule=rule)
    there = expected_deficiency(
        field(*(tile.mirrored() for tile in tiles)),
        (mean * torch.tensor([1.0, -1.0])).flip(1),
        std.flip(1),
        -yaw.flip(1),
        SOLE,
        rule=rule,
    )
    assert here.std() > 0.05
    assert torch.allclose(here, there.flip(1), atol=2e-3)


def test_feet_that_are_not_needed_get_zero() -> None:
    terrain = field(DOWN, DOWN)
    mean = torch.full((2, 2, 2), 0.1)
    mean[..., 0] = DOWN.first_edge
    needed = torch.tensor([[True, False], [False, True]])
    values = expected_deficiency(
        terrain, mean, torch.full((2, 2), 0.03), torch.zeros(2, 2), SOLE, needed=needed
    )
    assert (values[needed] > 0.2).all() and (values[~needed] == 0.0).all()


def test_the_gpu_kernel_finds_the_same() -> None:
    """On Warp's CPU device, which runs the kernel a GPU would run."""
    from ssr.vision.landings_warp import deficiencies

    points, weights = landing_rule("lattice34")
    both = torch.tensor(np.stack([points, points * (1.0, -1.0)])).float()
    terrain = field(*(tile for tile, _, _ in CASES))
    mean = torch.tensor([[[x, 0.1], [x, 0.1]] for _, x, _ in CASES])
    yaw = torch.tensor([[yaw, yaw] for _, _, yaw in CASES])
    std = torch.full((len(CASES), 2), 0.07)
    patch = torch.tensor(SOLE.offsets().reshape(-1, 2)).float()
    everyone = torch.ones(len(CASES), 2, dtype=torch.bool)
    rho = deficiencies(terrain, mean, std, yaw, everyone, patch, both, 0.03)
    assert torch.allclose(rho @ torch.tensor(weights).float(), expected(0.07, "lattice34"), atol=2e-3)


@pytest.mark.parametrize("engine", ["compiled", "warp"])
def test_a_sole_wholly_over_a_pit_is_not_carried_by_its_floor(engine):
    """The highest ground under it is the floor, all of it as high: without this it would count as safe."""
    sole = robots.load("x2").sole
    terrain = TerrainField(2, TILE_POOL)
    gap, down = make_tile("gap", setting=(0.6, 0.5)), make_tile("stairs_down", setting=(0.2, 0.4))
    terrain.place([0, 1], [gap, down])
    middle = (gap.first_edge + 0.3, down.first_edge + 0.2 + 0.4 * 3)
    mean = torch.tensor([[[x, -0.1], [x, 0.1]] for x in middle])
    std, yaw = torch.full((2, 2), 0.01), torch.zeros(2, 2)
    if engine == "compiled":
        rho = expected_deficiency(terrain, mean, std, yaw, sole)
    else:
        from ssr.vision.landings_warp import deficiencies

        patch = torch.from_numpy(sole.offsets().reshape(-1, 2).astype(np.float32))
        points = torch.zeros(2, 1, 2)
        everyone = torch.ones(2, 2, dtype=torch.bool)
        rho = deficiencies(terrain, mean, std, yaw, everyone, patch, points, 0.03)[..., 0]
    assert torch.allclose(rho, torch.tensor([[1.0, 1.0], [0.0, 0.0]]), atol=1e-5)
