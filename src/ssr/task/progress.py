"""How far each world has come on its tile, and the level its next episode gets (A.1, curriculum)."""

from __future__ import annotations

import numpy as np
import torch
from numba import njit
from torch import Tensor

from ssr.physics.readout import Reading
from ssr.task.commands import Commands
from ssr.task.config import TaskConfig
from ssr.task.saving import NamedTensors
from ssr.terrain.curriculum import crossed as over
from ssr.terrain.curriculum import next_levels
from ssr.terrain.field import TerrainField
from ssr.terrain.settings import LEVELS

STALLED = 0.25  #: share of the commanded distance below which a robot counts as standing still


class Progress(NamedTensors):
    """Episode clocks, distances and levels of n worlds."""

    TENSORS = (
        "level", "steps", "start_x", "covered", "commanded", "crossed", "omnidirectional", "fresh",
        "reached_top", "covered_before", "commanded_before", "stalled",
    )  # fmt: skip

    def __init__(self, num_envs: int, config: TaskConfig) -> None:
        self.config = config
        self.level = torch.full((num_envs,), config.terrain.first_level, dtype=torch.long)
        self.steps = torch.zeros(num_envs, dtype=torch.long)  #: control steps of this episode
        self.start_x = torch.zeros(num_envs)
        self.covered = torch.zeros(num_envs)  #: m along the asked direction
        self.commanded = torch.zeros(num_envs)  #: m asked for so far
        self.covered_before = torch.zeros(num_envs)  #: m, when standing still was last looked for
        self.commanded_before = torch.zeros(num_envs)
        self.stalled = torch.zeros(num_envs, dtype=torch.bool)  #: was found standing still in this step
        self.crossed = torch.zeros(num_envs, dtype=torch.bool)
        self.omnidirectional = torch.zeros(num_envs, dtype=torch.bool)
        self.fresh = torch.ones(num_envs, dtype=torch.bool)  #: the next restart is this world's first
        self.reached_top = torch.zeros(num_envs, dtype=torch.bool)  #: crossed the hardest tile once
        self.failed = torch.zeros(num_envs, dtype=torch.bool)  #: the episode that just ended was too hard

    def forget(self) -> None:
        """The next restart neither promotes nor demotes."""
        self.fresh.fill_(True)

    def tick(self, state: Reading, field: TerrainField, commands: Commands) -> None:
        """One control step has passed."""
        tile, asked = field.arrays, commands.arrays
        _tick(
            state.base_position, state.finite, tile.first_edge, tile.last_edge, tile.length,
            asked.direction, asked.speed, asked.still,
            self.config.control_period, self.config.bootstrap.stall_distance,
            *vars(self.arrays).values(),
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
def _tick(
    base, finite, first_edge, last_edge, length, direction, speed, still, period, stall_distance,
    level, steps, start_x, covered, commanded, crossed, omnidirectional, fresh, reached_top,
    covered_before, commanded_before, stalled,
):  # fmt: skip
    for i in range(len(base)):
        x, forward, at_top = base[i, 0], direction[i] > 0, level[i] >= LEVELS - 1
        steps[i] += 1
        covered[i] = (x - start_x[i]) * direction[i]
        if not still[i] and not omnidirectional[i]:
            commanded[i] += abs(speed[i]) * period
        asked = commanded[i] - commanded_before[i]
        stalled[i] = False
        if stall_distance > 0.0 and asked >= stall_distance:
            stalled[i] = covered[i] - covered_before[i] < STALLED * asked
            covered_before[i], commanded_before[i] = covered[i], commanded[i]
        crossed[i] |= finite[i] and over(x, first_edge[i], last_edge[i], not forward)
        reached_top[i] |= crossed[i] and at_top
        # Behind the hardest tile the robot is free to go anywhere on the apron.
        omnidirectional[i] |= at_top and crossed[i] and forward and x > length[i]
