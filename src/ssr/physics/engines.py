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

ENGINES = {"mujoco": ("cpu",), "warp": ("cpu", "cuda")}  #: which kinds of device each engine simulates on
AUTO = "auto"  #: instead of an engine's name: the fastest on the device


def check(engine: str) -> None:
    if engine != AUTO and engine not in ENGINES:
        raise unknown("physics engine", engine, (*ENGINES, AUTO))


def chosen(engine: str, device: torch.device | str) -> str:
    """The name of an engine, where `engine` may leave the choice to the device."""
    check(engine)
    if engine != AUTO:
        return engine
    return "warp" if torch.device(device).type == "cuda" else "mujoco"


def device_beside(learner: str, engine: str) -> str:
    """Where worlds of this engine live while networks learn on device `learner`: there if it can simulate
    there, otherwise on the CPU."""
    possible = ENGINES[chosen(engine, learner)]
    return learner if torch.device(learner).type in possible else "cpu"


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
    """n worlds of one robot over `pool` boxes each, simulated on `device` in the engine that `config` names.
    threads: of the mujoco engine; 0 means one per core. loose: bodies that lie about in every world, as links
    behind the robot's."""
    config = config or PhysicsConfig()
    engine = chosen(config.engine, device)
    if torch.device(device).type not in ENGINES[engine]:
        possible = " or ".join(ENGINES[engine])
        raise UserError(f"The {engine} engine simulates on {possible}, not on {device}.")
    if engine == "warp":
        from ssr.physics.warp_engine import WarpSimulator  # importing Warp takes longer than all the rest

        return WarpSimulator(robot, num_envs, pool=pool, config=config, device=device, loose=loose)
    return MujocoSimulator(robot, num_envs, pool=pool, config=config, threads=threads, loose=loose)
