"""How far each world has come on its tile, and the level its next episode gets (A.1, curriculum)."""

from __future__ import annotations

import torch
from torch import Tensor

from ssr.physics.simulator import PhysicsState
from ssr.task.commands import Commands
from ssr.task.config import TaskConfig
from ssr.task.saving import NamedTensors
from ssr.terrain.curriculum import crossed, next_levels
from ssr.terrain.field import TerrainField
from ssr.terrain.settings import LEVELS


class Progress(NamedTensors):
    """Episode clocks, distances and levels of n worlds."""

    TENSORS = (
        "level", "steps", "start_x", "covered", "commanded", "crossed", "omnidirectional", "fresh",
        "reached_top",
    )  # fmt: skip

    def __init__(self, num_envs: int, config: TaskConfig) -> None:
        self.config = config
        self.level = torch.full((num_envs,), config.terrain.first_level, dtype=torch.long)
        self.steps = torch.zeros(num_envs, dtype=torch.long)  #: control steps of this episode
        self.start_x = torch.zeros(num_envs)
        self.covered = torch.zeros(num_envs)  #: m along the asked direction
        self.commanded = torch.zeros(num_envs)  #: m asked for so far
        self.crossed = torch.zeros(num_envs, dtype=torch.bool)
        self.omnidirectional = torch.zeros(num_envs, dtype=torch.bool)
        self.fresh = torch.ones(num_envs, dtype=torch.bool)  #: the next restart is this world's first
        self.reached_top = torch.zeros(num_envs, dtype=torch.bool)  #: crossed the hardest tile once

    @property
    def at_top(self) -> Tensor:
        return self.level >= LEVELS - 1

    def forget(self) -> None:
        """The next restart neither promotes nor demotes."""
        self.fresh.fill_(True)

    def tick(self, state: PhysicsState, field: TerrainField, commands: Commands) -> None:
        x = state.base_position[:, 0]
        forward = commands.direction > 0
        self.steps += 1
        self.covered = (x - self.start_x) * commands.direction
        walking = ~commands.still & ~self.omnidirectional
        self.commanded += commands.speed.abs() * self.config.control_period * walking
        self.crossed |= crossed(x, field.first_edge, field.last_edge, ~forward) & state.finite
        self.reached_top |= self.crossed & self.at_top
        # Behind the hardest tile the robot is free to go anywhere on the apron.
        self.omnidirectional |= self.at_top & self.crossed & forward & (x > field.length)

    def next_levels(self, env_ids: Tensor, commands: Commands, generator: torch.Generator) -> Tensor:
        """Promote, demote or keep the levels of worlds whose episode is over."""
        self.level[env_ids] = next_levels(
            self.level[env_ids],
            crossed=self.crossed[env_ids],
            progress=self.covered[env_ids],
            commanded_distance=self.commanded[env_ids],
            first_reset=self.fresh[env_ids],
            generator=generator,
        )
        return self.level[env_ids]

    def restart(self, env_ids: Tensor, base_position: Tensor) -> None:
        self.start_x[env_ids] = base_position[env_ids, 0]
        for name in ("steps", "covered", "commanded"):
            getattr(self, name)[env_ids] = 0
        for name in ("crossed", "omnidirectional", "fresh"):
            getattr(self, name)[env_ids] = False
