"""Drawing the dynamics of Table 10. `ramp` from 0 to 1 widens each range from neutral to full."""

from __future__ import annotations

from math import prod
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from ssr.errors import unknown
from ssr.physics.simulator import Dynamics
from ssr.task.config import RandomizationConfig

Drawn = TypeVar("Drawn", np.ndarray, Tensor)
FRICTION_RULES = ("average", "direct")

PUSH_INTERVAL = 12.0  #: s (Table 10)


def effective_friction(drawn: Drawn, rule: str) -> Drawn:
    """What acts between sole and ground (PhysX averages with the ground's 1.0)."""
    if rule == "average":
        return (drawn + 1.0) / 2.0
    if rule == "direct":
        return drawn
    raise unknown("friction rule", rule, FRICTION_RULES)


def draw_dynamics(
    count: int, bodies: int, joints: int, config: RandomizationConfig, ramp: float, generator: torch.Generator
) -> Dynamics:
    """Of `count` worlds, where the generator is."""
    spans = {
        "base_added_mass": (config.added_mass, 0.0, ()),
        "base_com_offset": (config.base_com, 0.0, (3,)),
        "link_mass_scale": (config.link_mass, 1.0, (bodies,)),
        "link_com_offset": (config.link_com, 0.0, (bodies, 3)),
        "motor_strength": (config.motor_strength, 1.0, (joints,)),
        "kp_scale": (config.gains, 1.0, (joints,)),
        "kd_scale": (config.gains, 1.0, (joints,)),
        "friction": (config.friction, 1.0, ()),
    }
    sizes = [count * prod(shape) for _, _, shape in spans.values()]
    at = generator.device
    chance = torch.rand(sum(sizes), generator=generator, device=at)
    uniform: Any = chance.numpy() if at.type == "cpu" else chance  # of few numbers arrays are made faster
    drawn, begin = {}, 0
    for size, (name, (span, neutral, shape)) in zip(sizes, spans.items(), strict=True):
        low, high = neutral + ramp * (span[0] - neutral), neutral + ramp * (span[1] - neutral)
        part = uniform[begin : begin + size].reshape(count, *shape)
        drawn[name] = low + (high - low) * part
        begin += size
    drawn["friction"] = effective_friction(drawn["friction"], config.friction_rule)
    return Dynamics(**{name: torch.as_tensor(values) for name, values in drawn.items()})
