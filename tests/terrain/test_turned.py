"""Blocks turned about the vertical: heights, rays, pictures and mirror images are of the same thing."""

from __future__ import annotations

from dataclasses import replace
from math import cos, pi, sin

import mujoco
import numpy as np
import pytest
import torch
from test_geometry import mujoco_heights, triangle_heights

from ssr.terrain import draw
from ssr.terrain.field import TerrainField
from ssr.terrain.heights import numba_heights, warp_heights
from ssr.terrain.lines import edges, ruling
from ssr.terrain.making import TILE_POOL
from ssr.terrain.tile import ABYSS, Box, Tile
from ssr.viewer import meshes


def turned_tile(rng: np.random.Generator, count: int = 14) -> Tile:
    """`count` blocks of any yaw; every other one is pitched as well."""
    blocks = [
        Box(
            (rng.uniform(1.0, 6.0), rng.uniform(-1.5, 1.5), rng.uniform(-0.4, 0.0)),
            (rng.uniform(0.1, 0.6), rng.uniform(0.1, 0.6), 0.5),
            rng.uniform(0.15, 0.5) * rng.choice([-1, 1]) if k % 2 else 0.0,
            rng.uniform(-pi, pi),
        )
        for k in range(count)
    ]
    return Tile(
        kind="discrete",
        setting=(0.2,),
        boxes=(Box.spanning((-3.0, 12.0), (-5.0, 5.0), (-1.0, 0.0)), *blocks),
        length=8.0,
        half_width=2.0,
        start=0.75,
        first_edge=1.0,
        last_edge=6.0,
        end_height=0.0,
    )


def points_over(tile: Tile, rng: np.random.Generator, count: int = 400) -> np.ndarray:
    """(n, 2), half of them within 2 cm of a block's outline but none within 20 µm of an upward facet's."""
    points = np.stack([rng.uniform(0.0, 7.0, count), rng.uniform(-2.5, 2.5, count)], axis=-1)
    for point in points[: count // 2]:
        box = tile.boxes[rng.integers(1, len(tile.boxes))]
        near = box.half * rng.uniform(-1, 1, 3) * (1, 1, 0)
        axis = rng.integers(2)
        near[axis] = box.half[axis] * rng.choice([-1, 1]) + rng.uniform(-0.02, 0.02)
        c, s = cos(box.yaw), sin(box.yaw)
        point[:] = box.center[:2] + np.array([c * near[0] - s * near[1], s * near[0] + c * near[1]])
    x, y = points.T
    clear = np.ones(count, dtype=bool)
    for *_, cx, cy, c, s, along, across in tile.facets[tile.facets[:, 10] > 0]:
        u, v = abs(c * (x - cx) + s * (y - cy)), abs(c * (y - cy) - s * (x - cx))
        clear &= (abs(u - along) > 2e-5) & (abs(v - across) > 2e-5)
    return points[clear]


@pytest.mark.parametrize("seed", range(6))
def test_rays_down_meet_the_queried_height(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tile = turned_tile(rng)
    points = points_over(tile, rng)
    heights = tile.heights(points)
    assert len(np.unique(heights)) > 20
    assert np.abs(triangle_heights(tile, points) - heights).max() < 1e-9
    assert np.abs(mujoco_heights(tile, points) - heights).max() < 1e-9
    field = TerrainField(1, TILE_POOL)
    field.place([0], [tile])
    asked = torch.tensor(points, dtype=torch.float32)[None]
    for make in (numba_heights, warp_heights):
        queried = torch.empty(asked.shape[:-1])
        make(field.facets, field.facet_count)(asked, queried)
        assert np.abs(queried[0].numpy() - heights).max() < 2e-5  # where float32 meets a steep end face


def test_a_height_changes_within_ten_micrometres_of_a_turned_edge() -> None:
    tile = Tile(
        kind="flat", setting=(), boxes=(Box((9.0, 3.0, 0.0), (0.2, 0.4, 0.5), 0.0, 0.7),),
        length=1, half_width=1, start=0, first_edge=0, last_edge=1, end_height=0,
    )  # fmt: skip
    field = TerrainField(1, 1)
    field.place([0], [tile])
    outward = np.array([[cos(a), sin(a)] for a in (0.7, 0.7 + pi / 2, 0.7 + pi, 0.7 - pi / 2)])
    edges = np.array([9.0, 3.0]) + outward * np.array([[0.2], [0.4], [0.2], [0.4]])
    for away, height in ((-1e-5, 0.5), (0.0, 0.5), (1e-5, ABYSS)):
        points = edges + away * outward
        assert tile.heights(points).tolist() == [height] * 4
        assert field.heights(torch.tensor(points)[None])[0].tolist() == [height] * 4


def test_no_crack_where_turned_blocks_meet() -> None:
    """Treads of one flight, turned together, share their edges; no point of an edge lies on neither."""
    yaw = 0.31
    forward, left = np.array([cos(yaw), sin(yaw)]), np.array([-sin(yaw), cos(yaw)])
    middles = [np.array([20.0, -4.0]) + forward * 0.28 * k for k in range(8)]
    boxes = [Box((*at.tolist(), 0.0), (0.14, 1.0, 0.5 + 0.1 * k), 0.0, yaw) for k, at in enumerate(middles)]
    tile = Tile(
        kind="flat", setting=(), boxes=tuple(boxes), length=1, half_width=1, start=0, first_edge=0,
        last_edge=1, end_height=0,
    )  # fmt: skip
    field = TerrainField(1, 8)
    field.place([0], [tile])
    across = np.linspace(-0.99, 0.99, 301)[:, None] * left
    for k in range(7):
        seam = middles[k] + 0.14 * forward + across
        for nudge in (-1e-6, 0.0, 1e-6):
            heights = field.heights(torch.tensor(seam + nudge * forward)[None])[0].numpy()
            assert (np.abs(heights - (0.55 + 0.1 * k)) < 0.0501).all()


def test_the_mirror_image() -> None:
    rng = np.random.default_rng(5)
    tile = turned_tile(rng)
    points = points_over(tile, rng)
    mirrored = tile.mirrored()
    np.testing.assert_allclose(mirrored.heights(points * [1, -1]), tile.heights(points), atol=1e-12)
    assert mirrored.mirrored() == tile
    corners = {tuple(c) for box in tile.boxes for c in (box.corners() * [1, -1, 1]).round(9).tolist()}
    assert corners == {tuple(c) for box in mirrored.boxes for c in box.corners().round(9).tolist()}


def test_pictures_show_every_corner_where_it_is() -> None:
    tile = turned_tile(np.random.default_rng(6))
    model = draw._scene(tile).compile()
    for index, box in enumerate(tile.boxes[1:], start=1):
        axes = np.zeros(9)
        mujoco.mju_quat2Mat(axes, model.geom_quat[index])
        signs = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
        shown = (signs * model.geom_size[index]) @ axes.reshape(3, 3).T + model.geom_pos[index]
        np.testing.assert_allclose(shown, box.corners(), atol=1e-9)
        np.testing.assert_allclose(meshes.of_box(box).vertices, box.corners(), atol=1e-6)
    level = replace(tile, boxes=tuple(b for b in tile.boxes[1:] if b.pitch == 0.0))
    tops = np.concatenate([box.corners()[1::2] for box in level.boxes])
    apart = np.linalg.norm(edges(level).reshape(-1, 1, 3) - tops, axis=-1)
    assert apart.min(axis=0).max() < 2e-5 and apart.min(axis=1).max() < 2e-5
    for box in tile.boxes:
        alone = replace(tile, boxes=(box,))
        ruled = ruling(alone).mean(axis=1)
        assert len(ruled)
        np.testing.assert_allclose(alone.heights(ruled[:, :2]), ruled[:, 2], atol=1e-5)
