"""How far each world has come on its tile, and the level its next episode gets (A.1, curriculum)."""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ssr.per_world import per_world
from ssr.physics.readout import Reading
from ssr.task.commands import Asked, Commands
from ssr.task.config import TaskConfig
from ssr.task.saving import NamedTensors
from ssr.terrain.curriculum import crossed as over
from ssr.terrain.curriculum import next_levels
from ssr.terrain.field import FieldArrays, TerrainField
from ssr.terrain.settings import LEVELS

FREE_WALK = 0.1  #: m/s; who is asked for less on the apron is asked to turn
AT_START = 0.05  #: m from a tile's start, or from that of who walks it backwards, that still is there
TUMBLED = 1.3  #: times the commanded distance, over a whole tile
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
    fresh: np.ndarray  #: bool: the next restart neither promotes nor demotes
    reached_top: np.ndarray  #: bool: crossed the hardest tile once
    covered_before: np.ndarray  #: m, when standing still was last looked for
    commanded_before: np.ndarray
    stalled: np.ndarray  #: bool: was found standing still in this step


class Progress(NamedTensors):
    """Episode clocks, distances and levels of n worlds, as `Advance`."""

    ARRAYS, TENSORS = Advance, Advance._fields

    def __init__(self, num_envs: int, config: TaskConfig, device: torch.device | None = None) -> None:
        self.config, self.device = config, device
        truths = lambda value=0: self.full(num_envs, value=value, dtype=torch.bool)
        self.level = self.full(num_envs, value=config.terrain.first_level, dtype=torch.long)
        self.steps = self.full(num_envs, dtype=torch.long)
        self.start_x = self.full(num_envs)
        self.covered = self.full(num_envs)
        self.commanded = self.full(num_envs)
        self.covered_before = self.full(num_envs)
        self.commanded_before = self.full(num_envs)
        self.stalled, self.crossed, self.omnidirectional = truths(), truths(), truths()
        self.fresh, self.reached_top = truths(1), truths()
        self.failed = truths()  #: the episode that just ended was too hard

    @property
    def tumbled(self) -> Tensor:
        """(n,) bool: has come much farther than was asked for, as who tumbles down a flight does."""
        return self.covered > TUMBLED * self.commanded

    def ground(self, field: TerrainField) -> FieldArrays:
        """The field as rules take it."""
        return field.arrays if self.device is None else field.tensors

    def forget(self) -> None:
        """The next restart neither promotes nor demotes."""
        self.fresh.fill_(True)

    def tick(self, state: Reading, field: TerrainField, commands: Commands) -> None:
        """One control step has passed."""
        period, stall_distance = self.config.control_period, self.config.bootstrap.stall_distance
        asked, ground = commands.arrays, self.ground(field)
        tick(self.everywhere, state, ground, asked, period, stall_distance, self.arrays)

    def next_levels(self, worlds: Tensor, generator: torch.Generator) -> Tensor:
        """Promote, demote or keep the levels of worlds whose episode is over."""
        facts = (self.level, self.crossed, self.covered, self.commanded, self.fresh)
        level = next_levels(*facts, generator=generator, worlds=worlds, failed=self.failed)
        if self.device is None:
            self.arrays.level[worlds.numpy()] = level.numpy()
        else:
            self.level.copy_(torch.where(worlds, level, self.level))
        return level

    def restart(self, worlds: Tensor, state: Reading, field: TerrainField) -> None:
        """New episodes that begin where these worlds are; behind its tile a robot is free to go anywhere."""
        ground = self.ground(field)
        restart(self.given(worlds), state, ground, self.arrays, self.given(self.failed))


@per_world(Reading, FieldArrays, Asked, None, None, Advance)
def tick(now, tile, command, period, stall_distance, p, i, k):
    x = now.base_position[i, 0]
    forward = command.direction[i] > 0.0
    at_top = p.level[i] >= LEVELS - 1
    p.steps[i] = p.steps[i] + 1
    if not p.omnidirectional[i]:
        p.covered[i] = (x - p.start_x[i]) * command.direction[i]
        if not command.still[i]:
            p.commanded[i] = p.commanded[i] + abs(command.speed[i]) * period
    elif not command.still[i]:
        u = command.free[i]
        v = now.local_velocity[i]
        asked_for = hypot(u[0], u[1])
        if asked_for > FREE_WALK:
            p.commanded[i] = p.commanded[i] + asked_for * period
            p.covered[i] = p.covered[i] + (v[0] * u[0] + v[1] * u[1]) / asked_for * period
    further = p.commanded[i] - p.commanded_before[i]
    p.stalled[i] = False
    if stall_distance > 0.0 and further >= stall_distance:
        p.stalled[i] = p.covered[i] - p.covered_before[i] < STALLED * further
        p.covered_before[i] = p.covered[i]
        p.commanded_before[i] = p.commanded[i]
    here = now.finite[i] and over(x, tile.first_edge[i], tile.last_edge[i], not forward)
    p.crossed[i] = p.crossed[i] or here
    p.reached_top[i] = p.reached_top[i] or (p.crossed[i] and at_top and not p.fresh[i])
    # Behind the hardest tile the robot is free to go anywhere on the apron.
    behind = at_top and p.crossed[i] and forward and x > tile.length[i]
    p.omnidirectional[i] = p.omnidirectional[i] or behind


@per_world(Reading, FieldArrays, Advance)
def restart(now, tile, p, failed, i, k):
    p.start_x[i] = now.base_position[i, 0]
    p.steps[i] = 0
    p.covered[i] = 0.0
    p.commanded[i] = 0.0
    p.crossed[i] = False
    p.omnidirectional[i] = p.start_x[i] > tile.length[i]
    # Who begins among the obstacles or behind them has not shown what its level asks for.
    before = abs(p.start_x[i] - tile.start[i]) < AT_START
    behind = abs(p.start_x[i] - (tile.length[i] - tile.start[i])) < AT_START
    p.fresh[i] = not (before or behind)
    p.covered_before[i] = 0.0
    p.commanded_before[i] = 0.0
    p.stalled[i] = False
    failed[i] = False
