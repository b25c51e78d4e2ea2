"""Drawing the dynamics of Table 10. `ramp` from 0 to 1 widens each range from neutral to full."""

from __future__ import annotations

import torch
from torch import Tensor

from ssr.errors import unknown
from ssr.physics.simulator import Dynamics
from ssr.task.config import RandomizationConfig, Range


def effective_friction(drawn: Tensor, rule: str) -> Tensor:
    """What acts between sole and ground (PhysX averages with the ground's 1.0)."""
    if rule == "average":
        return (drawn + 1.0) / 2.0
    if rule == "direct":
        return drawn
    raise unknown("friction rule", rule, ("average", "direct"))


def draw_dynamics(
    count: int, bodies: int, joints: int, config: RandomizationConfig, ramp: float, generator: torch.Generator
) -> Dynamics:
    def draw(span: Range, neutral: float, *shape: int) -> Tensor:
        low, high = (neutral + ramp * (end - neutral) for end in span)
        return low + (high - low) * torch.rand(count, *shape, generator=generator)

    return Dynamics(
        base_added_mass=draw(config.added_mass, 0.0),
        base_com_offset=draw(config.base_com, 0.0, 3),
        link_mass_scale=draw(config.link_mass, 1.0, bodies),
        link_com_offset=draw(config.link_com, 0.0, bodies, 3),
        motor_strength=draw(config.motor_strength, 1.0, joints),
        kp_scale=draw(config.gains, 1.0, joints),
        kd_scale=draw(config.gains, 1.0, joints),
        friction=effective_friction(draw(config.friction, 1.0), config.friction_rule),
    )
