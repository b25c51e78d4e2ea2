"""Velocity commands: along the tile while on it (Table 4), any direction on the apron (Table 5)."""

from __future__ import annotations

import math

import numpy as np
import torch
from numba import njit
from torch import Tensor

from ssr.task.clocks import run_down
from ssr.task.config import CommandConfig, TaskConfig
from ssr.task.frames import into_yaw, wrap
from ssr.task.saving import NamedTensors
from ssr.terrain.settings import TERRAIN_TYPES

BRISK = 0.4  #: m/s, the slowest walk asked of a beginner: slower ones pay for standing
STRAIGHT = 0.4  #: share of the heading range that a beginner meets
FAST = 0.75  #: share of a terrain's top speed that a fast episode asks for at least
ONWARD = 0.2  #: share of the heading range that a fast episode asks for
WIDENING = 3.0  #: commands are all of Table 4 at a third of the ramp, before the robot gets hard to walk with


def table_4(config: CommandConfig) -> tuple[np.ndarray, np.ndarray]:
    """Speed (types, 2) in m/s and heading (types, 2) in radians, by terrain type; float32."""
    speed = {"slope": config.slope_speed, "stairs": config.stairs_speed, "discrete": config.stairs_speed}
    heading = {
        "slope": config.slope_heading,
        "stairs": config.stairs_heading,
        "discrete": config.stairs_heading,
    }
    speeds = np.array([speed.get(t, config.gap_speed) for t in TERRAIN_TYPES], dtype=np.float32)
    headings = np.array([heading.get(t, config.gap_heading) for t in TERRAIN_TYPES], dtype=np.float32)
    return speeds, np.deg2rad(headings)


class Commands(NamedTensors):
    """What each world is asked to do. `direction` is +1, or -1 where a slope is walked backwards."""

    TENSORS = ("speed", "heading", "direction", "fast", "free", "still", "steps_left")

    def __init__(self, num_envs: int, config: TaskConfig, generator: torch.Generator) -> None:
        self.config, self.task, self.generator = config.commands, config, generator
        self.speed_range, self.heading_range = table_4(config.commands)
        c = config.commands
        self.free_range = np.array([c.omni_forward, c.omni_lateral, c.omni_yaw], dtype=np.float32)
        self._everywhere = np.arange(num_envs)
        self.now = np.zeros((num_envs, 3), np.float32)  #: u as it was last asked for, base frame
        self.speed = torch.zeros(num_envs)  #: m/s along the tile
        self.heading = torch.zeros(num_envs)  #: rad
        self.direction = torch.ones(num_envs)
        self.fast = torch.zeros(num_envs, dtype=torch.bool)  #: asked for a fast walk straight on, all episode
        self.free = torch.zeros(num_envs, 3)  #: u on the apron, base frame
        self.still = torch.zeros(num_envs, dtype=torch.bool)
        self.steps_left = torch.zeros(num_envs, dtype=torch.long)
        self.look_ahead = 0.0  #: m, see `fix`
        self.fixed = False  #: True once `fix` was called: no resampling
        self.breadth = 1.0  #: from brisk walking straight ahead (0) to all of Table 4 (1)

    def fix(self, speed: float, heading: float = 0.0, look_ahead: float = 0.0) -> None:
        """One command for every world from now on, as evaluation wants it.

        look_ahead: m. The way then leads to the tile's middle line that far ahead; 0 leads straight ahead.
        """
        self.fixed = True
        self.look_ahead = look_ahead
        self.speed.fill_(speed)
        self.heading.fill_(heading)
        self.direction.fill_(1.0)
        self.still.fill_(speed == 0.0)

    def widen(self, ramp: float) -> None:
        """New commands are drawn as broadly as this share of the way to the whole task allows."""
        self.breadth = min(1.0, WIDENING * ramp)

    def restart(self, env_ids: Tensor, terrain_type: Tensor) -> None:
        """New episodes: the side from which a tile is walked is drawn once per episode."""
        if self.fixed:
            return
        ids = env_ids.numpy()
        low = self.speed_range[terrain_type.numpy()[ids], 0]
        fast = self._uniform(len(ids)) < self.config.fast_fraction * self.breadth
        backwards = ~fast & (low < 0) & (self._uniform(len(ids)) < 0.5 * self.breadth)
        self.arrays.fast[ids] = fast
        self.arrays.direction[ids] = np.where(backwards, -1.0, 1.0)
        self.resample(env_ids, terrain_type)

    def resample(self, env_ids: Tensor, terrain_type: Tensor) -> None:
        ids, c, own = env_ids.numpy(), self.config, self.arrays
        if self.fixed or len(ids) == 0:
            return
        n, slowest = len(ids), (1 - self.breadth) * BRISK
        drawn = self._uniform(6 * n)
        _resample(
            ids, terrain_type.numpy(), own.direction, own.fast,
            drawn[:n], drawn[n : 2 * n], drawn[2 * n : 5 * n].reshape(n, 3), drawn[5 * n :],
            self.speed_range, self.heading_range, self.free_range,
            slowest, max(self.breadth, STRAIGHT), c.zero_fraction * self.breadth,
            own.speed, own.heading, own.free, own.still,
        )  # fmt: skip
        low_steps, high_steps = (self.task.control_steps(s) for s in c.resample_seconds)
        steps = torch.randint(low_steps, high_steps + 1, (n,), generator=self.generator)
        own.steps_left[ids] = steps.numpy()

    def follow(self, env_ids: Tensor, speed: Tensor, terrain_type: Tensor) -> None:
        """Ask worlds that begin in motion, at `speed` (m,) m/s along the tile, to go on like that.

        Fast episodes keep the speed that was drawn, all keep their heading: walking on while turning is part
        of the course.
        """
        if self.fixed:
            return
        low, high = torch.from_numpy(self.speed_range)[terrain_type[env_ids]].unbind(-1)
        speed = torch.minimum(torch.maximum(speed, low), high)
        moving = (speed.abs() > self.config.zero_threshold) & ~self.fast[env_ids]
        chosen = env_ids[moving]
        self.speed[chosen] = speed[moving]
        self.direction[chosen] = speed[moving].sign()
        self.still[chosen] = False

    def tick(self, terrain_type: Tensor) -> None:
        """One control step has passed."""
        due = run_down(self.arrays.steps_left)
        if len(due):
            self.resample(torch.from_numpy(due), terrain_type)

    def current(
        self, yaw: np.ndarray, lateral: np.ndarray, omnidirectional: Tensor, env_ids: Tensor | None = None
    ) -> np.ndarray:
        """`now`, renewed for these worlds, by default all.

        yaw (n,): where the bases head; lateral (n,): m from the tile's middle line.
        omnidirectional (n,) bool: worlds where `free` counts.
        """
        own, c = self.arrays, self.config
        _current(
            self._everywhere if env_ids is None else env_ids.numpy(),
            yaw, lateral, omnidirectional.numpy(), own.speed, own.heading, own.free, own.still,
            c.heading_gain, c.max_yaw_rate, self.look_ahead, self.now,
        )  # fmt: skip
        return self.now

    def _uniform(self, *shape: int) -> np.ndarray:
        return torch.rand(shape, generator=self.generator).numpy()


@njit(cache=True, nogil=True)
def _resample(
    worlds, terrain_type, direction, fast, for_speed, for_heading, for_free, for_still,
    speed_range, heading_range, free_range, slowest, straightness, still_share, speed, heading, free, still,
):  # fmt: skip
    """Commands from uniform draws in [0, 1): `for_...` (m,), and (m, 3) for the apron."""
    for k in range(len(worlds)):
        i = worlds[k]
        low, high = speed_range[terrain_type[i], 0], speed_range[terrain_type[i], 1]
        # Walked backwards, a slope has its negative speeds, counted from zero.
        fastest, floor = (high, max(low, 0.0)) if direction[i] > 0 else (-low, 0.0)
        floor = max(floor, FAST * fastest if fast[i] else slowest)
        speed[i] = (floor + (fastest - floor) * for_speed[k]) * direction[i]
        low, high = heading_range[terrain_type[i], 0], heading_range[terrain_type[i], 1]
        heading[i] = (low + (high - low) * for_heading[k]) * (ONWARD if fast[i] else straightness)
        for axis in range(3):
            low, high = free_range[axis, 0], free_range[axis, 1]
            free[i, axis] = low + (high - low) * for_free[k, axis]
        still[i] = for_still[k] < still_share and not fast[i]


@njit(cache=True, nogil=True)
def _current(
    worlds, yaw, lateral, omnidirectional, speed, heading, free, still, gain, fastest, look_ahead, out
):  # fmt: skip
    for i in worlds:
        if still[i]:
            out[i] = 0.0
        elif omnidirectional[i]:
            out[i] = free[i]
        else:
            # Along the tile, as the base sees it, and a turn towards the heading asked for.
            aside = -lateral[i] / look_ahead if look_ahead > 0.0 else 0.0
            forward = speed[i] / math.hypot(1.0, aside)
            out[i, 0], out[i, 1] = into_yaw(yaw[i], forward, aside * abs(forward))
            out[i, 2] = min(max(gain * wrap(heading[i] - yaw[i]), -fastest), fastest)
