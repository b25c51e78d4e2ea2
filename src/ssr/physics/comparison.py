"""The warp engine beside MuJoCo's own, and beside itself without its graph, from the same states."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ssr.physics.mujoco_engine import MujocoSimulator
from ssr.physics.warp_engine import MOVING, WarpSimulator
from ssr.robots.spec import RobotSpec
from ssr.terrain.making import TILE_POOL, make_tile
from ssr.terrain.settings import LEVELS

SETTLED = 10  #: control steps of noise, so that feet are on the ground
NOISE = 0.1  #: rad, of the targets meanwhile
SUBSTEPS = (1, 49)


def graph_against_launches(robot: RobotSpec, worlds: int, at: torch.device) -> float:
    """Largest distance of any coordinate between worlds stepped as one graph and launch by launch."""
    found = []
    for record in (True, False):
        simulator = WarpSimulator(robot, worlds, pool=TILE_POOL, device=at, record=record)
        _settle(simulator, robot)
        found.append(simulator.snapshot())
    return float((found[0] - found[1]).abs().max())


def against_mujoco(robot: RobotSpec, worlds: int, at: torch.device) -> dict[int, Tensor]:
    """(n,) m between the bases in both engines, by the number of substeps since they were the same."""
    ours = WarpSimulator(robot, worlds, pool=TILE_POOL, device=at)
    theirs = MujocoSimulator(robot, worlds, pool=TILE_POOL)
    _on_stairs(ours)
    _settle(theirs, robot)
    for name in MOVING:
        values = torch.from_numpy(theirs.batch.bind(name).copy())
        ours._now[name].copy_(values.view(ours._now[name].shape))
    targets, passed, found = _default(robot).repeat(worlds, 1), 0, {}
    for substeps in SUBSTEPS:
        for simulator in (ours, theirs):
            simulator.step(targets, substeps)
        passed += substeps
        found[passed] = (ours.state().base_position - theirs.state().base_position).norm(dim=-1)
    return found


def _default(robot: RobotSpec) -> Tensor:
    return torch.tensor(robot.values("default"), dtype=torch.float32)


def _on_stairs(simulator: Any) -> None:
    """Worlds with stairs of all levels."""
    worlds = simulator.num_envs
    tiles = [make_tile("stairs_up", level=k * LEVELS // worlds) for k in range(worlds)]
    simulator.place(torch.arange(worlds), tiles)


def _settle(simulator: Any, robot: RobotSpec) -> None:
    _on_stairs(simulator)
    default, generator = _default(robot), torch.Generator().manual_seed(0)
    for _ in range(SETTLED):
        noise = torch.randn(simulator.num_envs, len(default), generator=generator)
        simulator.step(default + NOISE * noise, 4)
