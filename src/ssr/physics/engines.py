"""The one place that chooses a physics engine."""

from __future__ import annotations

import torch

from ssr.errors import UserError, unknown
from ssr.physics.mujoco_engine import MujocoSimulator
from ssr.physics.simulator import Simulator
from ssr.physics.world import PhysicsConfig
from ssr.robots.spec import RobotSpec

ENGINES = ("mujoco",)  #: mujoco: CPU threads


def make_simulator(
    robot: RobotSpec,
    num_envs: int,
    *,
    pool: int,
    config: PhysicsConfig | None = None,
    threads: int = 0,
    device: torch.device | str = "cpu",
) -> Simulator:
    """n worlds of one robot over `pool` boxes each, in the engine that `config` names, with what is read of
    them on `device`. threads: of a CPU engine; 0 means one per core."""
    config = config or PhysicsConfig()
    if config.engine not in ENGINES:
        raise unknown("physics engine", config.engine, ENGINES)
    if torch.device(device).type != "cpu":
        raise UserError(f"The mujoco engine simulates on the CPU, not on {device}: choose device cpu.")
    return MujocoSimulator(robot, num_envs, pool=pool, config=config, threads=threads)
