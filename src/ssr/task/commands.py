"""Velocity commands: along the tile while on it (Table 4), any direction on the apron (Table 5)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ssr.task.config import CommandConfig, TaskConfig
from ssr.task.frames import wrap
from ssr.task.saving import NamedTensors
from ssr.terrain.settings import TERRAIN_TYPES

BRISK = 0.4  #: m/s, the slowest walk asked of a beginner: slower ones pay for standing
STRAIGHT = 0.2  #: share of the heading range that a beginner meets


def table_4(config: CommandConfig) -> tuple[Tensor, Tensor]:
    """Speed (types, 2) in m/s and heading (types, 2) in radians, by terrain type."""
    speed = {"slope": config.slope_speed, "stairs": config.stairs_speed, "discrete": config.stairs_speed}
    heading = {
        "slope": config.slope_heading,
        "stairs": config.stairs_heading,
        "discrete": config.stairs_heading,
    }
    speeds = torch.tensor([speed.get(t, config.gap_speed) for t in TERRAIN_TYPES])
    headings = torch.tensor([heading.get(t, config.gap_heading) for t in TERRAIN_TYPES])
    return speeds, headings * (math.pi / 180.0)


class Commands(NamedTensors):
    """What each world is asked to do. `direction` is +1, or -1 where a slope is walked backwards."""

    TENSORS = ("speed", "heading", "direction", "free", "still", "steps_left")

    def __init__(self, num_envs: int, config: TaskConfig, generator: torch.Generator) -> None:
        self.config, self.task, self.generator = config.commands, config, generator
        self.speed_range, self.heading_range = table_4(config.commands)
        self.speed = torch.zeros(num_envs)  #: m/s along the tile
        self.heading = torch.zeros(num_envs)  #: rad
        self.direction = torch.ones(num_envs)
        self.free = torch.zeros(num_envs, 3)  #: u on the apron, base frame
        self.still = torch.zeros(num_envs, dtype=torch.bool)
        self.steps_left = torch.zeros(num_envs, dtype=torch.long)
        self.fixed = False  #: True once `fix` was called: no resampling
        self.ramp = 1.0  #: from brisk walking straight ahead (0) to all of Table 4 (1)

    def fix(self, speed: float, heading: float = 0.0) -> None:
        """One command for every world from now on, as evaluation wants it."""
        self.fixed = True
        self.speed.fill_(speed)
        self.heading.fill_(heading)
        self.direction.fill_(1.0)
        self.still.fill_(speed == 0.0)

    def restart(self, env_ids: Tensor, terrain_type: Tensor) -> None:
        """New episodes: the side from which a tile is walked is drawn once per episode."""
        if self.fixed:
            return
        low = self.speed_range[terrain_type[env_ids], 0]
        backwards = (low < 0) & (self._uniform(len(env_ids)) < 0.5 * self.ramp)
        self.direction[env_ids] = torch.where(backwards, -1.0, 1.0)
        self.resample(env_ids, terrain_type)

    def resample(self, env_ids: Tensor, terrain_type: Tensor) -> None:
        if self.fixed or len(env_ids) == 0:
            return
        n, kind, c = len(env_ids), terrain_type[env_ids], self.config
        low, high = self.speed_range[kind].unbind(-1)
        forward = self.direction[env_ids] > 0
        span = torch.where(forward, high, -low)
        floor = torch.where(forward, low.clamp(min=0.0), torch.zeros(n)).clamp(min=(1 - self.ramp) * BRISK)
        self.speed[env_ids] = (floor + (span - floor) * self._uniform(n)) * self.direction[env_ids]
        low, high = self.heading_range[kind].unbind(-1)
        self.heading[env_ids] = (low + (high - low) * self._uniform(n)) * max(self.ramp, STRAIGHT)
        ranges = torch.tensor([c.omni_forward, c.omni_lateral, c.omni_yaw])
        self.free[env_ids] = ranges[:, 0] + (ranges[:, 1] - ranges[:, 0]) * torch.rand(
            n, 3, generator=self.generator
        )
        self.still[env_ids] = self._uniform(n) < c.zero_fraction * self.ramp
        low_steps, high_steps = (self.task.control_steps(s) for s in c.resample_seconds)
        self.steps_left[env_ids] = torch.randint(low_steps, high_steps + 1, (n,), generator=self.generator)

    def follow(self, env_ids: Tensor, speed: Tensor, terrain_type: Tensor) -> None:
        """Ask worlds that begin in motion, at `speed` (m,) m/s along the tile, to go on like that."""
        if self.fixed:
            return
        low, high = self.speed_range[terrain_type[env_ids]].unbind(-1)
        speed = torch.minimum(torch.maximum(speed, low), high)
        moving = speed.abs() > self.config.zero_threshold
        chosen = env_ids[moving]
        self.speed[chosen] = speed[moving]
        self.direction[chosen] = speed[moving].sign()
        self.heading[chosen] = 0.0
        self.still[chosen] = False

    def tick(self, terrain_type: Tensor) -> None:
        """One control step has passed."""
        self.steps_left -= 1
        due = torch.nonzero(self.steps_left <= 0).squeeze(-1)
        self.resample(due, terrain_type)

    def current(self, yaw: Tensor, omnidirectional: Tensor) -> Tensor:
        """u (n, 3) in the base frame for the base headings `yaw`."""
        forward, lateral = self.speed * torch.cos(yaw), -self.speed * torch.sin(yaw)
        turn = (self.config.heading_gain * wrap(self.heading - yaw)).clamp(
            -self.config.max_yaw_rate, self.config.max_yaw_rate
        )
        u = torch.stack([forward, lateral, turn], dim=-1)
        u = torch.where(omnidirectional[:, None], self.free, u)
        return u * ~self.still[:, None]

    def _uniform(self, n: int) -> Tensor:
        return torch.rand(n, generator=self.generator)
