from __future__ import annotations

import numpy as np
import pytest
import torch

from ssr import robots
from ssr.benchmarks.depth_scene import MujocoWorld, Scenes, pose_scenes
from ssr.terrain.making import TILE_POOL, make_tile
from ssr.terrain.registry import trained_kinds

LEVELS = (0, 10, 19)


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    torch.set_num_threads(1)


class Gallery:
    """Random poses of one robot on every kind of terrain at three levels, and how MuJoCo sees them."""

    def __init__(self, robot: str, poses: int) -> None:
        rng = np.random.default_rng(7)
        self.worlds, qpos = [], []
        for kind in trained_kinds():
            for level in LEVELS:
                tile = make_tile(kind, None if kind == "flat" else level, rng=rng)
                world = MujocoWorld(robots.load(robot), tile)
                self.worlds += [world] * poses
                qpos += [world.random_pose(rng) for _ in range(poses)]
        self.scenes: Scenes = pose_scenes(self.worlds, qpos, TILE_POOL)

    def mujoco(self) -> tuple[np.ndarray, np.ndarray]:
        """Depths (n, 36, 36) and which pixels show the robot."""
        seen = []
        for world, pose in zip(self.worlds, self.scenes.qpos, strict=True):
            world.pose(pose)
            seen.append(world.depth())
        depth, robot = zip(*seen, strict=True)
        return np.stack(depth), np.stack(robot)


@pytest.fixture(scope="session")
def x2_gallery() -> Gallery:
    return Gallery("x2", poses=10)


@pytest.fixture(scope="session")
def dr02_gallery() -> Gallery:
    return Gallery("dr02", poses=3)
