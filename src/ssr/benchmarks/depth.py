"""How fast depth images are made, and what a camera costs the whole task."""

from __future__ import annotations

import os
from collections.abc import Callable
from statistics import median
from typing import Annotated

import numpy as np
import torch

from ssr.benchmarks.blocks import Rounds, alternate, median_ratio
from ssr.benchmarks.depth_scene import MujocoWorld, Scenes, pose_scenes
from ssr.errors import UserError
from ssr.ranges import Within, checked
from ssr.robots import load
from ssr.terrain.making import TILE_POOL, make_tile
from ssr.terrain.registry import trained_kinds
from ssr.vision.camera import CameraConfig
from ssr.vision.renderer import DepthRenderer

POSES = 8  #: of the robot on each tile
LEVELS = (3, 9, 15, 19)
REPEATS = 100  #: times the fast renderer draws all images in one timed block
ENV_WORLDS = 256
ENV_BLOCK = 48  #: control steps per timed block
TEN_HERTZ = 5  #: control steps from frame to frame


@checked
def run(
    rounds: Rounds = 7,
    robot: str = "x2",
    threads: Annotated[int, Within(0, 1024)] = 0,
    alternatives: bool = False,
) -> dict[str, float]:
    """Depth frames per second, 36×36 pixels, terrain and all links, the same scenes for every renderer.

    Args:
        rounds: alternated blocks; figures are medians over them.
        robot: whose links are in the way.
        threads: of the chosen renderer; 0 means one per core. Warp on a CPU has one by nature.
        alternatives: also time the ways that were tried and not taken.
    """
    torch.set_num_threads(1)
    threads = threads or os.cpu_count() or 1
    worlds, scenes = _scenes(robot)
    work = {
        "plain_warp": drawing(scenes, scenes.renderer(backend="warp"), 1),
        "chosen": drawing(scenes, scenes.renderer(threads=threads), REPEATS),
        "chosen_one_thread": drawing(scenes, scenes.renderer(), REPEATS),
        "mujoco": _mujoco(worlds, scenes),
    }
    if alternatives:
        from ssr.benchmarks.depth_alternatives import other_ways

        work |= other_ways(scenes, threads)
    for once in work.values():
        once()
    rates = alternate(work, rounds)
    return {
        **{f"{name}_fps": round(median(values), 1) for name, values in rates.items()},
        "ratio": round(median_ratio(rates, "chosen", "plain_warp"), 3),
        "env_with_camera_ratio": round(env_ratio(rounds, robot), 4),
        "threads": threads,
    }


def drawing(scenes: Scenes, renderer: DepthRenderer, repeats: int) -> Callable[[], int]:
    def draw() -> int:
        for _ in range(repeats):
            scenes.render(renderer)
        return repeats * len(scenes.tiles)

    return draw


def _scenes(robot: str) -> tuple[list[MujocoWorld], Scenes]:
    """Poses of a walking robot on every kind of terrain but flat ground."""
    rng = np.random.default_rng(0)
    worlds, qpos = [], []
    for kind in trained_kinds()[1:]:
        for level in LEVELS:
            world = MujocoWorld(load(robot), make_tile(kind, level, rng=rng))
            worlds += [world] * POSES
            qpos += [world.random_pose(rng, spread=0.3) for _ in range(POSES)]
    return worlds, pose_scenes(worlds, qpos, TILE_POOL)


def _mujoco(worlds: list[MujocoWorld], scenes: Scenes) -> Callable[[], int]:
    """`mj_multiRay` of every image; kinematics included, as our renderers compose link poses too."""

    def cast() -> int:
        for world, pose in zip(worlds, scenes.qpos, strict=True):
            world.pose(pose)
            world.depth()
        return len(worlds)

    return cast


def env_ratio(rounds: int = 7, robot: str = "x2") -> float:
    """Throughput of the task with a 10 Hz camera over its throughput without one."""
    try:
        from ssr.task.env import TraversalEnv
    except ImportError as error:
        raise UserError(f"The task is not available ({error}); reinstall the package.") from error

    def stepping(camera: CameraConfig | None) -> Callable[[], int]:
        env = TraversalEnv(load(robot), ENV_WORLDS, camera=camera, seed=0)
        env.reset()
        generator = torch.Generator().manual_seed(0)

        def step() -> int:
            for _ in range(ENV_BLOCK):
                noise = torch.randn(ENV_WORLDS, env.layouts.action.size, generator=generator)
                env.restart(env.step(0.3 * noise).ended)
            return ENV_BLOCK * ENV_WORLDS

        step()
        return step

    work = {"env_with_camera": stepping(CameraConfig(period=TEN_HERTZ)), "env": stepping(None)}
    return median_ratio(alternate(work, rounds), "env_with_camera", "env")
