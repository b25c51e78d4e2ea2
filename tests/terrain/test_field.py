"""Many worlds at once: each has its own tile, and nothing of the one before."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ssr.terrain.field import TerrainField
from ssr.terrain.heights import numba_heights, warp_heights
from ssr.terrain.making import TILE_POOL, make_tile
from ssr.terrain.registry import kind_named, trained_kinds
from ssr.terrain.settings import TERRAIN_TYPES
from ssr.terrain.strip import STRIP_POOL, make_strip
from ssr.terrain.tile import ABYSS, FACET_FIELDS, Tile


def mixed_tiles(count: int, seed: int = 0) -> list[Tile]:
    rng = np.random.default_rng(seed)
    return [make_tile(trained_kinds()[i % 7], level=int(rng.integers(20)), rng=rng) for i in range(count)]


def everywhere(worlds: int, points: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(worlds, points, 2, generator=generator) * torch.tensor([22.0, 12.0]) - torch.tensor(
        [4.0, 6.0]
    )


def expected(tiles: list[Tile], points: torch.Tensor) -> np.ndarray:
    return np.stack([t.heights(p.double().numpy()) for t, p in zip(tiles, points, strict=True)])


@pytest.mark.parametrize("points", [1, 31, 32, 33, 280])
def test_every_world_is_asked_its_own_tile(points: int) -> None:
    tiles = mixed_tiles(21)
    field = TerrainField(21, TILE_POOL)
    field.place(torch.arange(21), tiles)
    where = everywhere(21, points)
    np.testing.assert_allclose(field.heights(where).numpy(), expected(tiles, where), atol=2e-6)


def test_points_may_come_in_any_shape() -> None:
    tiles = mixed_tiles(4)
    field = TerrainField(4, TILE_POOL)
    field.place(torch.arange(4), tiles)
    where = everywhere(4, 24)
    flat = field.heights(where)
    assert torch.equal(field.heights(where.view(4, 2, 3, 4, 2)), flat.view(4, 2, 3, 4))
    assert torch.equal(field.heights(where.double()), flat)
    every_other = field.heights(where[:, ::2])
    assert torch.equal(every_other, flat[:, ::2])
    out = torch.empty(4, 24)
    assert field.heights(where, out=out) is out
    assert torch.equal(out, flat)


def test_placing_again_leaves_nothing_of_the_old_tile() -> None:
    old, new = mixed_tiles(14, seed=1), mixed_tiles(14, seed=2)[::-1]
    used, fresh = TerrainField(14, TILE_POOL), TerrainField(14, TILE_POOL)
    used.place(torch.arange(14), old)
    used.place(torch.arange(14), new)
    fresh.place(torch.arange(14), new)
    assert torch.equal(used.boxes, fresh.boxes)
    for name in (
        "count",
        "has_pits",
        "type",
        "level",
        "length",
        "start",
        "first_edge",
        "last_edge",
        "end_height",
    ):
        assert torch.equal(getattr(used, name), getattr(fresh, name)), name
    where = everywhere(14, 500)
    assert torch.equal(used.heights(where), fresh.heights(where))


def test_placing_some_worlds_leaves_their_neighbours_alone() -> None:
    tiles, others = mixed_tiles(7, seed=3), mixed_tiles(7, seed=4)
    field = TerrainField(7, TILE_POOL)
    field.place(torch.arange(7), tiles)
    view = field.boxes
    field.place(torch.tensor([5, 1]), [others[0], others[6]])
    now = [tiles[0], others[6], *tiles[2:5], others[0], tiles[6]]
    where = everywhere(7, 200)
    np.testing.assert_allclose(field.heights(where).numpy(), expected(now, where), atol=2e-6)
    rows = np.stack([t.rows(TILE_POOL) for t in now])
    np.testing.assert_array_equal(view.numpy(), rows.astype(np.float32))
    field.place([], [])
    np.testing.assert_array_equal(view.numpy(), rows.astype(np.float32))


def test_the_field_knows_what_each_world_walks_on() -> None:
    tiles = [*mixed_tiles(7), make_tile("gap", setting=(0.9,))]
    field = TerrainField(8, TILE_POOL)
    field.place(torch.arange(8), tiles)
    assert field.has_pits.tolist() == [int(t.kind == "gap") for t in tiles]
    assert [TERRAIN_TYPES[k] for k in field.type] == [kind_named(t.kind).terrain_type for t in tiles]
    assert field.level.tolist() == [-1 if t.level is None else t.level for t in tiles]
    assert field.level[-1] == -1
    assert field.count.tolist() == [len(t.boxes) for t in tiles]
    for name in ("length", "half_width", "start", "first_edge", "last_edge", "end_height"):
        np.testing.assert_allclose(getattr(field, name).numpy(), [getattr(t, name) for t in tiles], rtol=1e-6)


def test_no_ground_and_no_number_are_the_abyss() -> None:
    field = TerrainField(2, TILE_POOL)
    field.place([0, 1], [make_tile("gap", level=19), make_tile("slope", level=19)])
    nan, inf = float("nan"), float("inf")
    odd = [[nan, 0.0], [0.0, nan], [inf, 0.0], [0.0, -inf], [-50.0, 0.0], [3.0, 9.0]]
    for position in (0, 3, 40):  # wherever it stands among its neighbours
        points = torch.full((2, 64, 2), 0.75)
        clean = field.heights(points)
        points[:, position : position + 6] = torch.tensor(odd)
        heights = field.heights(points)
        assert (heights[:, position : position + 6] == ABYSS).all()
        clean[:, position : position + 6] = ABYSS
        assert torch.equal(heights, clean)


@pytest.mark.parametrize("pool", [TILE_POOL, STRIP_POOL])
def test_both_kernels_give_the_same_heights(pool: int) -> None:
    """The kernel of the GPU, run on its CPU device, against the kernel of the CPU: bit for bit."""
    tiles = mixed_tiles(7)
    if pool == STRIP_POOL:
        tiles = [make_strip(t.kind, t.setting) for t in tiles]
    field = TerrainField(7, pool)
    field.place(torch.arange(7), tiles)
    points = everywhere(7, 300)
    points[:, 5] = float("nan")
    edges = torch.tensor([[t.first_edge, 0.0] for t in tiles])
    points[:, 7] = edges
    results = []
    for make in (numba_heights, warp_heights):
        out = torch.empty(7, 300)
        make(field.facets, field.facet_count)(points, out)
        results.append(out)
    assert torch.equal(*results)


def test_both_kernels_agree_on_facets_of_any_incline() -> None:
    generator = torch.Generator().manual_seed(3)
    facets = torch.zeros(5, 40, FACET_FIELDS)
    facets[..., :6] = torch.rand(5, 40, 6, generator=generator) * 10 - 5
    facets[..., 1], facets[..., 3] = facets[..., 0] + 2, facets[..., 2] + 2
    count = torch.tensor([40, 0, 1, 17, 40], dtype=torch.int32)
    points = torch.rand(5, 500, 2, generator=generator) * 12 - 6
    numba, warp = torch.empty(5, 500), torch.empty(5, 500)
    numba_heights(facets, count)(points, numba)
    warp_heights(facets, count)(points, warp)
    torch.testing.assert_close(numba, warp, atol=2e-6, rtol=0)
    assert (numba[1] == ABYSS).all()
    assert (numba[0] != ABYSS).any()


def test_a_tile_with_too_many_boxes_is_refused() -> None:
    field = TerrainField(1, TILE_POOL)
    with pytest.raises(ValueError, match="pool"):
        field.place([0], [make_strip("stairs_up", (0.2, 0.25))])
    with pytest.raises(ValueError, match="tiles"):
        field.place([0], [])
