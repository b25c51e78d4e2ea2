"""Cameras and soles on blocks turned about the vertical."""

from __future__ import annotations

from math import cos, sin

import numpy as np
import pytest
import torch
from test_renderer import NEAR, check_agreement

from ssr import robots
from ssr.benchmarks.depth_scene import MujocoWorld, pose_scenes
from ssr.terrain.field import TerrainField
from ssr.terrain.making import TILE_POOL
from ssr.terrain.tile import Box, Tile
from ssr.vision.support import expected_deficiency, landing_rule, resting_deficiency

SOLE = robots.load("x2").sole


def blocks(rng: np.random.Generator) -> Tile:
    """Turned blocks on level ground, every other one pitched as well."""
    turned = [
        Box(
            (rng.uniform(1.0, 5.0), rng.uniform(-1.2, 1.2), -0.3),
            (rng.uniform(0.1, 0.5), rng.uniform(0.1, 0.5), 0.5),
            rng.uniform(-0.5, 0.5) if k % 2 else 0.0,
            rng.uniform(-3.0, 3.0),
        )
        for k in range(14)
    ]
    return Tile(
        kind="discrete",
        setting=(0.2,),
        boxes=(Box.spanning((-3.0, 12.0), (-5.0, 5.0), (-1.0, 0.0)), *turned),
        length=8.0,
        half_width=2.0,
        start=0.75,
        first_edge=1.0,
        last_edge=5.0,
        end_height=0.0,
    )


@pytest.mark.parametrize("backend", ["compiled", "warp"])
def test_images_are_what_mujoco_measures(backend: str) -> None:
    rng = np.random.default_rng(2)
    worlds = [world for _ in range(6) for world in [MujocoWorld(robots.load("x2"), blocks(rng))] * 8]
    scenes = pose_scenes(worlds, [world.random_pose(rng) for world in worlds], TILE_POOL)
    reference = []
    for world, pose in zip(worlds, scenes.qpos, strict=True):
        world.pose(pose)
        reference.append(world.depth()[0])
    ours = scenes.render(scenes.renderer(backend=backend)).numpy()
    outside = ~(ours == np.float32(NEAR)).all((1, 2))
    assert outside.sum() > 30
    check_agreement(ours[outside], np.stack(reference)[outside], 1e-3)


def test_expected_deficiency_is_that_of_the_points_it_looks_at() -> None:
    """Both kernels against heights under every sole of the rule, one by one."""
    from ssr.vision.landings_warp import deficiencies

    rng, count = np.random.default_rng(3), 40
    terrain = TerrainField(count, TILE_POOL)
    terrain.place(range(count), [blocks(rng) for _ in range(count)])
    mean = torch.tensor(rng.uniform((1.0, -1.0), (5.0, 1.0), (count, 2, 2)), dtype=torch.float32)
    std, yaw = torch.full((count, 2), 0.05), torch.tensor(rng.uniform(-1, 1, (count, 2)), dtype=torch.float32)
    points, weights = landing_rule("lattice34")
    both = torch.tensor(np.stack([points, points * (1, -1)]), dtype=torch.float32)
    patch = torch.tensor(SOLE.offsets().reshape(-1, 2), dtype=torch.float32)
    wanted = np.zeros((count, 2))
    for foot in range(2):
        for point, weight in zip(both[foot], weights, strict=True):
            turn = [[(cos(a), sin(a)), (-sin(a), cos(a))] for a in yaw[:, foot].tolist()]
            soles = patch @ torch.tensor(turn) + (mean[:, foot] + 0.05 * point)[:, None]
            wanted[:, foot] += weight * resting_deficiency(terrain.heights(soles)).numpy()
    assert (wanted > 0.05).mean() > 0.3
    found = expected_deficiency(terrain, mean, std, yaw, SOLE, rule="lattice34")
    np.testing.assert_allclose(found, wanted, atol=2e-3)
    everyone = torch.ones(count, 2, dtype=torch.bool)
    rho = deficiencies(terrain, mean, std, yaw, everyone, patch, both, 0.03)
    np.testing.assert_allclose(rho @ torch.tensor(weights, dtype=torch.float32), wanted, atol=2e-3)
