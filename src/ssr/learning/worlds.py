"""The environment and the learner of one rank, from a configuration."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from ssr.errors import UserError
from ssr.learning import own_robot, registry
from ssr.learning.algorithm import Algorithm
from ssr.learning.config import TrainConfig
from ssr.learning.distribution import device_of
from ssr.learning.ranks import ALONE, Ranks
from ssr.learning.references import ReferenceStarts
from ssr.motion import store
from ssr.motion.dataset import MotionDataset
from ssr.physics.engines import chosen, device_beside
from ssr.physics.world import PhysicsConfig
from ssr.task.env import TraversalEnv
from ssr.task.starts import References
from ssr.task.transition import Observation, Transition
from ssr.terrain.field import TerrainField

RANK_SEED = 100_003  #: apart, so that no two ranks ever see the same worlds


class Environment(Protocol):
    """What learning needs of an environment; `ssr.task.env.TraversalEnv` is one."""

    num_envs: int
    field: TerrainField
    device: torch.device  #: where it takes actions

    @property
    def levels(self) -> Tensor:
        """(n,) level of each world's tile; may be written to before `reset`."""

    @property
    def reached_top(self) -> Tensor:
        """(n,) bool: the world has crossed the hardest tile once."""

    @property
    def engine(self) -> str:
        """The name of the physics engine: states of one mean nothing to another."""

    @property
    def overflows(self) -> int:
        """How often so far the contacts or constraints of a world did not fit into the room for them."""

    def reset(self) -> Observation: ...
    def step(self, action: Tensor) -> Transition: ...
    def restart(self, ended: Tensor) -> Observation: ...
    def observation(self) -> Observation: ...
    def set_bootstrap(self, value: float) -> None: ...
    def set_ramp(self, value: float) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...


def make(
    config: TrainConfig, ranks: Ranks = ALONE, run: Path | None = None
) -> tuple[TraversalEnv, Algorithm]:
    """This rank's worlds and its copy of the learner, seeded by the configuration and the rank. Worlds of the
    warp engine stay with their task on its device.

    run: whose robot it is, if it carries one. A robot without motion, which learns without style, begins
    every episode in its default pose.
    """
    if config.env.num_envs < ranks.size:
        raise UserError(
            f"{config.env.num_envs} worlds on {ranks.size} ranks: give at least one world per rank."
        )
    robot, method = own_robot.robot_of(config, run), registry.method(config.algorithm)
    motion = cache(lambda: MotionDataset.load(robot, stride=config.style.stride))
    seed = config.seed + RANK_SEED * ranks.rank
    torch.manual_seed(seed)
    referred = config.task.reference_starts > 0.0
    if config.ablation.no_style and not store.of(robot).is_file():
        referred = False
    num_envs, device = ranks.part(config.env.num_envs), device_of(config)
    there = torch.device(device_beside(device, config.env.engine))
    references: References | None = None
    kind = TraversalEnv
    if chosen(config.env.engine, device) == "warp":
        from ssr.task.resident_env import ResidentEnv  # importing Warp takes longer than all the rest

        kind = ResidentEnv
    if referred:
        starts = ReferenceStarts(motion())
        references = starts if kind is TraversalEnv else starts.on(there)
    env = kind(
        robot,
        num_envs,
        config.task,
        camera=config.camera if method.sees(config) else None,
        scan=method.scans(config),
        seed=seed,
        threads=config.env.threads,
        physics=PhysicsConfig(engine=config.env.engine),
        device=str(there),
        references=references,
    )
    algorithm = method.build(
        config=config,
        robot=robot,
        num_envs=num_envs,
        field=env.field,
        motion=motion,
        ranks=ranks,
        device=device,
    )
    return env, algorithm
