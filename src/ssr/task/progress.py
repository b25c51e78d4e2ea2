"""How far each world has come on its tile, and the level its next episode gets (A.1, curriculum)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from torch import Tensor

from ssr.physics.readout import Reading
from ssr.task.commands import Asked, Commands
from ssr.task.config import TaskConfig
from ssr.task.saving import NamedTensors
from ssr.terrain.curriculum import crossed as over
from ssr.terrain.curriculum import next_levels
from ssr.terrain.field import FieldArrays, TerrainField
from ssr.terrain.settings import LEVELS

STALLED = 0.25  #: share of the commanded distance below which a robot counts as standing still


class Advance(NamedTuple):
    """How far n worlds have come; (n,) each."""

    level: np.ndarray  #: int64
    steps: np.ndarray  #: int64, control steps of this episode
    start_x: np.ndarray  #: m
    covered: np.ndarray  #: m along the asked direction
    commanded: np.ndarray  #: m asked for so far
    crossed: np.ndarray  #: bool
    omnidirectional: np.ndarray  #: bool
    fresh: np.ndarray  #: bool: the next restart is this world's first
    reached_top: np.ndarray  #: bool: crossed the hardest tile once
    covered_before: np.ndarray  #: m, when standing still was last looked for
    commanded_before: np.ndarray
    stalled: np.ndarray  #: bool: was found standing still in this step


class Progress(NamedTensors):
    """Episode clocks, distances and levels of n worlds, as `Advance`."""

    ARRAYS, TENSORS = Advance, Advance._fields

    def __init__(self, num_envs: int, config: TaskConfig) -> None:
        self.config = config
        self.level = torch.full((num_envs,), config.terrain.first_level, dtype=torch.long)
        self.steps = torch.zeros(num_envs, dtype=torch.long)
        self.start_x = torch.zeros(num_envs)
        self.covered = torch.zeros(num_envs)
        self.commanded = torch.zeros(num_envs)
        self.covered_before = torch.zeros(num_envs)
        self.commanded_before = torch.zeros(num_envs)
        self.stalled = torch.zeros(num_envs, dtype=torch.bool)
        self.crossed = torch.zeros(num_envs, dtype=torch.bool)
        self.omnidirectional = torch.zeros(num_envs, dtype=torch.bool)
        self.fresh = torch.ones(num_envs, dtype=torch.bool)
        self.reached_top = torch.zeros(num_envs, dtype=torch.bool)
        self.failed = torch.zeros(num_envs, dtype=torch.bool)  #: the episode that just ended was too hard

    def forget(self) -> None:
        """The next restart neither promotes nor demotes."""
        self.fresh.fill_(True)

    def tick(self, state: Reading, field: TerrainField, commands: Commands) -> None:
        """One control step has passed."""
        period, stall_distance = self.config.control_period, self.config.bootstrap.stall_distance
        _tick(
            tuple(state), tuple(field.arrays), tuple(commands.arrays), period, stall_distance,
            tuple(self.arrays),
        )  # fmt: skip

    def next_levels(self, env_ids: Tensor, generator: torch.Generator) -> Tensor:
        """Promote, demote or keep the levels of worlds whose episode is over."""
        facts = (self.level, self.crossed, self.covered, self.commanded, self.fresh)
        level = next_levels(*facts, generator=generator, env_ids=env_ids, failed=self.failed)
        self.arrays.level[env_ids.numpy()] = level.numpy()
        return level

    def restart(self, env_ids: Tensor, start_x: np.ndarray) -> None:
        """New episodes that begin at `start_x` (m,) m."""
        ids = env_ids.numpy()
        for name in self.TENSORS:
            if name not in ("level", "start_x", "reached_top"):
                getattr(self.arrays, name)[ids] = 0
        self.arrays.start_x[ids] = start_x
        self.failed[env_ids] = False


@njit(cache=True, nogil=True)
def _tick(state, ground, asked, period, stall_distance, advance):
    now, tile, command, p = Reading(*state), FieldArrays(*ground), Asked(*asked), Advance(*advance)
    for i in range(len(now.finite)):
        x, forward, at_top = now.base_position[i, 0], command.direction[i] > 0, p.level[i] >= LEVELS - 1
        p.steps[i] += 1
        p.covered[i] = (x - p.start_x[i]) * command.direction[i]
        if not command.still[i] and not p.omnidirectional[i]:
            p.commanded[i] += abs(command.speed[i]) * period
        further = p.commanded[i] - p.commanded_before[i]
        p.stalled[i] = False
        if stall_distance > 0.0 and further >= stall_distance:
            p.stalled[i] = p.covered[i] - p.covered_before[i] < STALLED * further
            p.covered_before[i], p.commanded_before[i] = p.covered[i], p.commanded[i]
        p.crossed[i] |= now.finite[i] and over(x, tile.first_edge[i], tile.last_edge[i], not forward)
        p.reached_top[i] |= p.crossed[i] and at_top
        # Behind the hardest tile the robot is free to go anywhere on the apron.
        p.omnidirectional[i] |= at_top and p.crossed[i] and forward and x > tile.length[i]
