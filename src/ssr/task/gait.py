"""Clocks of the feet, in whole control steps: float clocks lose touchdowns on long runs."""

from __future__ import annotations

import torch
from torch import Tensor

from ssr.physics.simulator import PhysicsState
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

    def update(self, state: PhysicsState) -> None:
        contact = state.foot_force.norm(dim=-1) > CONTACT_FORCE
        self.first_contact = contact & ~self.contact
        self.landed_air_steps = torch.where(
            self.first_contact, self.air_steps, torch.zeros_like(self.air_steps)
        )
        self.air_steps = torch.where(contact, torch.zeros_like(self.air_steps), self.air_steps + 1)
        single = contact.sum(-1) == 1
        self.since_single_support = torch.where(
            single, torch.zeros_like(self.since_single_support), self.since_single_support + 1
        )
        self.falling_speed = self.last_foot_speed
        self.last_foot_speed = state.foot_velocity[..., 2]
        self.contact = contact
        feet = contact.sum(-1)
        ground = (state.sole_position[..., 2] * contact).sum(-1) / feet.clamp(min=1)
        self.base_height = torch.where(feet > 0, state.base_position[:, 2] - ground, self.base_height)

    def restart(self, env_ids: Tensor, base_height: Tensor) -> None:
        """New episodes start in the air, as far as the clocks know, `base_height` (m,) above their soles."""
        for name in ("contact", "first_contact"):
            getattr(self, name)[env_ids] = False
        for name in ("air_steps", "landed_air_steps", "since_single_support"):
            getattr(self, name)[env_ids] = 0
        self.falling_speed[env_ids] = 0.0
        self.last_foot_speed[env_ids] = 0.0
        self.base_height[env_ids] = base_height
