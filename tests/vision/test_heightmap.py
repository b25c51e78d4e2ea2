"""Height maps sample the ground around the base and under the soles, and mirror with the world."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ssr import robots
from ssr.symmetry.layout import Mirror, apply
from ssr.terrain.field import TerrainField
from ssr.terrain.making import TILE_POOL, make_tile
from ssr.vision.heightmap import (
    base_map_points,
    depth_below,
    foot_map_points,
    maps_of,
    samples_of,
)

SOLE = robots.load("x2").sole


def test_the_base_map_reaches_from_half_a_metre_behind_to_1_2_m_ahead() -> None:
    points = base_map_points(torch.tensor([[2.0, -0.3, 0.7]]), torch.zeros(1))[0]
    assert points.shape == (180, 2)
    grid = points.view(18, 10, 2) - torch.tensor([2.0, -0.3])
    assert torch.allclose(grid[:, 0, 0], torch.arange(18) * 0.1 - 0.5, atol=1e-6)
    assert torch.allclose(grid[0, :, 1], torch.arange(10) * 0.1 - 0.45, atol=1e-6)


def test_the_base_map_turns_with_the_base() -> None:
    points = base_map_points(torch.zeros(1, 3), torch.tensor([np.pi / 2]).float())[0].view(18, 10, 2)
    assert points[17, 0].tolist() == pytest.approx([0.45, 1.2], abs=1e-6)  # ahead is +y, right is +x


def test_the_foot_map_covers_the_sole_every_2_5_cm() -> None:
    centers = torch.tensor([[[1.0, -0.1, 0.0], [1.2, 0.1, 0.0]]])
    points = foot_map_points(centers, torch.zeros(1, 2), SOLE)
    assert points.shape == (1, 2, 50, 2)
    grid = points[0, 1].view(10, 5, 2)
    assert torch.allclose(grid.diff(dim=0)[..., 0], torch.tensor(0.025), atol=1e-6)
    assert torch.allclose(grid.diff(dim=1)[..., 1], torch.tensor(0.025), atol=1e-6)
    assert torch.allclose(points[0].mean(1), centers[0, :, :2], atol=1e-6)


def test_heights_are_written_as_depth_below_the_reference_clipped_at_one_metre() -> None:
    depths = [depth_below(0.1, height) for height in (0.0, 0.2, -0.3, -5.0, 4.0)]
    assert depths == pytest.approx([0.1, -0.1, 0.4, 1.0, -1.0])


def test_both_maps_are_the_depths_at_their_points() -> None:
    field = TerrainField(3, TILE_POOL)
    rng = np.random.default_rng(1)
    field.place([0, 1, 2], [make_tile(kind, 12, rng=rng) for kind in ("stairs_up", "discrete", "gap")])
    env_ids = torch.tensor([1, 2])
    base, yaw = torch.tensor([[2.1, 0.3, 0.8], [1.9, -0.2, 0.7]]), torch.tensor([0.4, -0.3])
    soles = torch.tensor([[[2.1, 0.2, 0.1], [2.3, 0.4, 0.2]], [[1.8, -0.3, 0.0], [2.0, -0.1, 0.05]]])
    foot_yaw = torch.tensor([[0.3, 0.5], [-0.2, 0.0]])
    for k, world in enumerate(env_ids.tolist()):
        maps = np.zeros(280, np.float32)
        maps_of(
            field.arrays.facets[world], field.arrays.facet_count[world],
            base[k].numpy(), float(yaw[k]), soles[k].numpy(), foot_yaw[k].numpy(),
            tuple(samples_of(SOLE, 0.6)), maps,
        )  # fmt: skip
        points = torch.zeros(3, 280, 2)
        points[world, :180] = base_map_points(base[k : k + 1], yaw[k : k + 1])[0]
        feet = foot_map_points(soles[k : k + 1], foot_yaw[k : k + 1], SOLE)[0]
        points[world, 180:] = feet.reshape(-1, 2)
        ground = field.heights(points)[world]
        expected = (base[k, 2] - 0.6 - ground[:180]).clamp(-1, 1)
        np.testing.assert_allclose(maps[:180], expected, atol=1e-6)
        below = soles[k, :, 2:] - ground[180:].view(2, 50)
        np.testing.assert_allclose(maps[180:], below.clamp(-1, 1).flatten(), atol=1e-6)


def test_mirroring_the_world_reverses_the_maps_columns() -> None:
    rng = np.random.default_rng(4)
    tile = make_tile("discrete", 15, rng=rng)
    here, there = TerrainField(1, TILE_POOL), TerrainField(1, TILE_POOL)
    here.place([0], [tile])
    there.place([0], [tile.mirrored()])
    position, yaw = torch.tensor([[2.6, 0.4, 0.7]]), torch.tensor([0.35])
    flipped = position * torch.tensor([1.0, -1.0, 1.0])
    seen = here.heights(base_map_points(position, yaw))
    mirrored = there.heights(base_map_points(flipped, -yaw))
    assert seen.std() > 0.02
    agree = (apply(Mirror.grid(18, 10), seen) - mirrored).abs() < 1e-5
    assert agree.float().mean() > 0.99
