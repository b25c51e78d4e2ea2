"""The one place that chooses a physics engine."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ssr.errors import UserError, unknown
from ssr.physics.mujoco_engine import MujocoSimulator
from ssr.physics.simulator import Simulator
from ssr.physics.world import PhysicsConfig
from ssr.robots.spec import RobotSpec
from ssr.terrain.tile import LooseBox

ENGINES = {"mujoco": ("cpu",)}  #: which kinds of device each engine simulates on


def check(engine: str) -> None:
    if engine not in ENGINES:
        raise unknown("physics engine", engine, ENGINES)


def device_beside(learner: str, engine: str) -> str:
    """Where worlds of this engine live while networks learn on device `learner`: there if it can simulate
    there, otherwise on the CPU."""
    check(engine)
    return learner if torch.device(learner).type in ENGINES[engine] else "cpu"


def make_simulator(
    robot: RobotSpec,
    num_envs: int,
    *,
    pool: int,
    config: PhysicsConfig | None = None,
    threads: int = 0,
    device: torch.device | str = "cpu",
    loose: Sequence[LooseBox] = (),
) -> Simulator:
    """n worlds of one robot over `pool` boxes each, in the engine that `config` names, with what is read of
    them on `device`. threads: of a CPU engine; 0 means one per core. loose: bodies that lie about in every
    world, as links behind the robot's."""
    config = config or PhysicsConfig()
    check(config.engine)
    if torch.device(device).type not in ENGINES[config.engine]:
        possible = " or ".join(ENGINES[config.engine])
        raise UserError(f"The {config.engine} engine simulates on {possible}, not on {device}.")
    return MujocoSimulator(robot, num_envs, pool=pool, config=config, threads=threads, loose=loose)
