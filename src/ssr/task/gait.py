"""Clocks of the feet, in whole control steps: float clocks lose touchdowns on long runs."""

from __future__ import annotations

import math

import numpy as np
import torch
from numba import njit
from torch import Tensor

from ssr.physics.readout import Reading
from ssr.task.saving import NamedTensors

CONTACT_FORCE = 1.0  #: N, above which a foot counts as touching


class Gait(NamedTensors):
    """Contact, air and support clocks of n worlds, right foot before left."""

    TENSORS = (
        "contact", "first_contact", "air_steps", "landed_air_steps", "since_single_support",
        "falling_speed", "last_foot_speed", "base_height",
    )  # fmt: skip

    def __init__(self, num_envs: int) -> None:
        self.contact = torch.zeros(num_envs, 2, dtype=torch.bool)
        self.first_contact = torch.zeros(num_envs, 2, dtype=torch.bool)
        self.air_steps = torch.zeros(num_envs, 2, dtype=torch.long)  #: of this swing
        self.landed_air_steps = torch.zeros(num_envs, 2, dtype=torch.long)  #: of the swing that just ended
        self.since_single_support = torch.zeros(num_envs, dtype=torch.long)
        self.falling_speed = torch.zeros(num_envs, 2)  #: vertical foot velocity one step earlier
        self.last_foot_speed = torch.zeros(num_envs, 2)
        self.base_height = torch.zeros(num_envs)  #: base above the stance soles, held in flight

    def update(self, state: Reading) -> None:
        """One control step has passed."""
        _update(
            state.foot_force, state.foot_velocity, state.sole_position, state.base_position,
            *vars(self.arrays).values(),
        )  # fmt: skip

    def restart(self, env_ids: Tensor, base_height: np.ndarray) -> None:
        """New episodes start in the air, as far as the clocks know, `base_height` (m,) above their soles."""
        ids = env_ids.numpy()
        for array in vars(self.arrays).values():
            array[ids] = 0
        self.arrays.base_height[ids] = base_height


@njit(cache=True, nogil=True, error_model="numpy")
def _update(
    force, velocity, sole, base,
    contact, first_contact, air_steps, landed_air_steps, since_single_support,
    falling_speed, last_foot_speed, base_height,
):  # fmt: skip
    for i in range(len(base)):
        feet, ground = 0, 0.0
        for s in range(2):
            x, y, z = force[i, s, 0], force[i, s, 1], force[i, s, 2]
            touching = math.sqrt(x * x + y * y + z * z) > CONTACT_FORCE
            first_contact[i, s] = touching and not contact[i, s]
            contact[i, s] = touching
            landed_air_steps[i, s] = air_steps[i, s] if first_contact[i, s] else 0
            air_steps[i, s] = 0 if touching else air_steps[i, s] + 1
            falling_speed[i, s] = last_foot_speed[i, s]
            last_foot_speed[i, s] = velocity[i, s, 2]
            if touching:
                feet += 1
                ground += sole[i, s, 2]
        since_single_support[i] = 0 if feet == 1 else since_single_support[i] + 1
        if feet > 0:
            base_height[i] = base[i, 2] - ground / feet
