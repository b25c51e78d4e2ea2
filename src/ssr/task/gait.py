"""Clocks of the feet, in whole control steps: float clocks lose touchdowns on long runs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from torch import Tensor

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

    def __init__(self, num_envs: int) -> None:
        self.contact = torch.zeros(num_envs, 2, dtype=torch.bool)
        self.first_contact = torch.zeros(num_envs, 2, dtype=torch.bool)
        self.air_steps = torch.zeros(num_envs, 2, dtype=torch.long)
        self.landed_air_steps = torch.zeros(num_envs, 2, dtype=torch.long)
        self.since_single_support = torch.zeros(num_envs, dtype=torch.long)
        self.falling_speed = torch.zeros(num_envs, 2)
        self.last_foot_speed = torch.zeros(num_envs, 2)
        self.base_height = torch.zeros(num_envs)

    def update(self, state: Reading) -> None:
        """One control step has passed."""
        _update(tuple(state), tuple(self.arrays))

    def restart(self, env_ids: Tensor, base_height: np.ndarray) -> None:
        """New episodes start in the air, as far as the clocks know, `base_height` (m,) above their soles."""
        ids = env_ids.numpy()
        for array in self.arrays:
            array[ids] = 0
        self.arrays.base_height[ids] = base_height


@njit(cache=True, nogil=True, error_model="numpy")
def _update(state, clocks):
    now, c = Reading(*state), FootClocks(*clocks)
    for i in range(len(now.base_position)):
        feet, ground = 0, 0.0
        for s in range(2):
            x, y, z = now.foot_force[i, s, 0], now.foot_force[i, s, 1], now.foot_force[i, s, 2]
            touching = math.sqrt(x * x + y * y + z * z) > CONTACT_FORCE
            c.first_contact[i, s] = touching and not c.contact[i, s]
            c.contact[i, s] = touching
            c.landed_air_steps[i, s] = c.air_steps[i, s] if c.first_contact[i, s] else 0
            c.air_steps[i, s] = 0 if touching else c.air_steps[i, s] + 1
            c.falling_speed[i, s] = c.last_foot_speed[i, s]
            c.last_foot_speed[i, s] = now.foot_velocity[i, s, 2]
            if touching:
                feet += 1
                ground += now.sole_position[i, s, 2]
        c.since_single_support[i] = 0 if feet == 1 else c.since_single_support[i] + 1
        if feet > 0:
            c.base_height[i] = now.base_position[i, 2] - ground / feet
