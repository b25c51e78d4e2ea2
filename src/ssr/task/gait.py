"""Clocks of the feet, in whole control steps: float clocks lose touchdowns on long runs."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ssr.per_world import per_world
from ssr.physics.readout import Reading
from ssr.task.saving import NamedTensors

CONTACT_FORCE = 1.0  #: N, above which a foot counts as touching


class FootClocks(NamedTuple):
    """n worlds, right foot before left."""

    contact: np.ndarray  #: (n, 2) bool
    first_contact: np.ndarray  #: (n, 2) bool
    air_steps: np.ndarray  #: (n, 2) int64, of this swing
    landed_air_steps: np.ndarray  #: (n, 2) int64, of the swing that just ended
    since_single_support: np.ndarray  #: (n,) int64
    falling_speed: np.ndarray  #: (n, 2) vertical foot velocity one step earlier, m/s
    last_foot_speed: np.ndarray  #: (n, 2)
    base_height: np.ndarray  #: (n,) base above the stance soles, held in flight, m


class Gait(NamedTensors):
    """Contact, air and support clocks of n worlds, as `FootClocks`."""

    ARRAYS, TENSORS = FootClocks, FootClocks._fields

    def __init__(self, num_envs: int, device: torch.device | None = None) -> None:
        self.device = device
        self.contact = self.full(num_envs, 2, dtype=torch.bool)
        self.first_contact = self.full(num_envs, 2, dtype=torch.bool)
        self.air_steps = self.full(num_envs, 2, dtype=torch.long)
        self.landed_air_steps = self.full(num_envs, 2, dtype=torch.long)
        self.since_single_support = self.full(num_envs, dtype=torch.long)
        self.falling_speed = self.full(num_envs, 2)
        self.last_foot_speed = self.full(num_envs, 2)
        self.base_height = self.full(num_envs)

    def update(self, state: Reading) -> None:
        """One control step has passed."""
        update(self.everywhere, state, self.arrays)

    def restart(self, worlds: Tensor, state: Reading) -> None:
        """New episodes start in the air, as far as the clocks know."""
        restart(self.given(worlds), state, self.arrays)


@per_world(Reading, FootClocks)
def update(now, c, i, k):
    feet, ground = int(0), float(0.0)
    for s in range(2):
        x = now.foot_force[i, s, 0]
        y = now.foot_force[i, s, 1]
        z = now.foot_force[i, s, 2]
        touching = sqrt(x * x + y * y + z * z) > CONTACT_FORCE
        landed = touching and not c.contact[i, s]
        c.first_contact[i, s] = landed
        c.contact[i, s] = touching
        c.landed_air_steps[i, s] = c.air_steps[i, s] if landed else 0
        c.air_steps[i, s] = 0 if touching else c.air_steps[i, s] + 1
        c.falling_speed[i, s] = c.last_foot_speed[i, s]
        c.last_foot_speed[i, s] = now.foot_velocity[i, s, 2]
        if touching:
            feet += 1
            ground += now.sole_position[i, s, 2]
    c.since_single_support[i] = 0 if feet == 1 else c.since_single_support[i] + 1
    if feet > 0:
        c.base_height[i] = now.base_position[i, 2] - ground / float(feet)


@per_world(Reading, FootClocks)
def restart(now, c, i, k):
    for s in range(2):
        c.contact[i, s] = False
        c.first_contact[i, s] = False
        c.air_steps[i, s] = 0
        c.landed_air_steps[i, s] = 0
        c.falling_speed[i, s] = 0.0
        c.last_foot_speed[i, s] = 0.0
    c.since_single_support[i] = 0
    c.base_height[i] = now.base_position[i, 2] - min(now.sole_position[i, 0, 2], now.sole_position[i, 1, 2])
