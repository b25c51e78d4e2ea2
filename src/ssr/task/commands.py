"""Velocity commands: along the tile while on it (Table 4), any direction on the apron (Table 5)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from torch import Tensor

from ssr.task.clocks import run_down
from ssr.task.config import CommandConfig, TaskConfig
from ssr.task.frames import into_yaw, wrap
from ssr.task.saving import NamedTensors
from ssr.terrain.registry import all_kinds
from ssr.terrain.settings import TERRAIN_TYPES

BRISK = 0.4  #: m/s, the slowest walk asked of a beginner: slower ones pay for standing
STRAIGHT = 0.4  #: share of the heading range that a beginner meets
FAST = 0.75  #: share of a terrain's top speed that a fast episode asks for at least
HEADINGS = {"slope": (-80.0, 80.0), "stairs": (-30.0, 30.0), "gap": (-15.0, 15.0)}  #: degrees, Table 4
HEADING_GAIN = 0.5  #: 1/s, of the heading controller
MAX_YAW_RATE = 1.0  #: rad/s, of the heading controller
RESAMPLE_SECONDS = (8.0, 10.0)  #: Table 4
ZERO_THRESHOLD = 0.15  #: ε (Table 7): a smaller ‖u‖ counts as standing
ONWARD = 0.2  #: share of the heading range that a fast episode asks for
WIDENING = 3.0  #: commands are all of Table 4 at a third of the ramp, before the robot gets hard to walk with


def table_4(config: CommandConfig) -> tuple[np.ndarray, np.ndarray]:
    """Speed (types, 2) in m/s and heading (types, 2) in radians, by terrain type; float32."""
    rows = {kind.terrain_type: kind.commands for kind in all_kinds()}
    speeds = [config.slope_speed if rows[t] == "slope" else config.obstacle_speed for t in TERRAIN_TYPES]
    headings = [HEADINGS[rows[t]] for t in TERRAIN_TYPES]
    return np.array(speeds, dtype=np.float32), np.deg2rad(np.array(headings, dtype=np.float32))


class Asked(NamedTuple):
    """What each of n worlds is asked to do."""

    speed: np.ndarray  #: (n,) m/s along the tile
    heading: np.ndarray  #: (n,) rad
    direction: np.ndarray  #: (n,) +1, or -1 where a slope is walked backwards
    fast: np.ndarray  #: (n,) bool: asked for a fast walk straight on, all episode
    free: np.ndarray  #: (n, 3) u on the apron, base frame
    still: np.ndarray  #: (n,) bool
    steps_left: np.ndarray  #: (n,) int64, until the next command


class Draws(NamedTuple):
    """Uniform in [0, 1), for m new commands."""

    speed: np.ndarray  #: (m,)
    heading: np.ndarray  #: (m,)
    free: np.ndarray  #: (m, 3)
    still: np.ndarray  #: (m,)


class Ranges(NamedTuple):
    """What commands are drawn from."""

    speed: np.ndarray  #: (types, 2) m/s
    heading: np.ndarray  #: (types, 2) rad
    free: np.ndarray  #: (3, 2) m/s, m/s, rad/s
    slowest: float  #: m/s asked for at least
    straightness: float  #: share of the heading range
    still_share: float


class Steering(NamedTuple):
    """How the heading is held."""

    gain: float  #: 1/s
    fastest: float  #: rad/s
    look_ahead: float  #: m, see `Commands.fix`


class Commands(NamedTensors):
    """What each world is asked to do, as `Asked`."""

    ARRAYS, TENSORS = Asked, Asked._fields

    def __init__(self, num_envs: int, config: TaskConfig, generator: torch.Generator) -> None:
        self.config, self.task, self.generator = config.commands, config, generator
        self.speed_range, self.heading_range = table_4(config.commands)
        c = config.commands
        self.free_range = np.array([c.slope_speed, c.lateral_speed, c.yaw_rate], dtype=np.float32)
        self._everywhere = np.arange(num_envs)
        self.now = np.zeros((num_envs, 3), np.float32)  #: u as it was last asked for, base frame
        self.speed = torch.zeros(num_envs)
        self.heading = torch.zeros(num_envs)
        self.direction = torch.ones(num_envs)
        self.fast = torch.zeros(num_envs, dtype=torch.bool)
        self.free = torch.zeros(num_envs, 3)
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
        n = len(ids)
        drawn = self._uniform(6 * n)
        draws = Draws(
            speed=drawn[:n],
            heading=drawn[n : 2 * n],
            free=drawn[2 * n : 5 * n].reshape(n, 3),
            still=drawn[5 * n :],
        )
        ranges = Ranges(
            speed=self.speed_range,
            heading=self.heading_range,
            free=self.free_range,
            slowest=(1 - self.breadth) * BRISK,
            straightness=max(self.breadth, STRAIGHT),
            still_share=c.zero_fraction * self.breadth,
        )
        _resample(ids, terrain_type.numpy(), tuple(draws), tuple(ranges), tuple(own))
        low_steps, high_steps = (self.task.control_steps(s) for s in RESAMPLE_SECONDS)
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
        moving = (speed.abs() > ZERO_THRESHOLD) & ~self.fast[env_ids]
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
        worlds = self._everywhere if env_ids is None else env_ids.numpy()
        steering = Steering(gain=HEADING_GAIN, fastest=MAX_YAW_RATE, look_ahead=self.look_ahead)
        asked = tuple(self.arrays)
        _current(worlds, yaw, lateral, omnidirectional.numpy(), asked, tuple(steering), self.now)
        return self.now

    def _uniform(self, *shape: int) -> np.ndarray:
        return torch.rand(shape, generator=self.generator).numpy()


@njit(cache=True, nogil=True)
def _resample(worlds, terrain_type, draws, ranges, asked):
    drawn, within, own = Draws(*draws), Ranges(*ranges), Asked(*asked)
    for k in range(len(worlds)):
        i = worlds[k]
        kind, fast = terrain_type[i], own.fast[i]
        low, high = within.speed[kind, 0], within.speed[kind, 1]
        # Walked backwards, a slope has its negative speeds, counted from zero.
        fastest, floor = (high, max(low, 0.0)) if own.direction[i] > 0 else (-low, 0.0)
        floor = max(floor, FAST * fastest if fast else within.slowest)
        own.speed[i] = (floor + (fastest - floor) * drawn.speed[k]) * own.direction[i]
        low, high = within.heading[kind, 0], within.heading[kind, 1]
        share = ONWARD if fast else within.straightness
        own.heading[i] = (low + (high - low) * drawn.heading[k]) * share
        for axis in range(3):
            low, high = within.free[axis, 0], within.free[axis, 1]
            own.free[i, axis] = low + (high - low) * drawn.free[k, axis]
        own.still[i] = drawn.still[k] < within.still_share and not fast


@njit(cache=True, nogil=True)
def _current(worlds, yaw, lateral, omnidirectional, asked, steering, out):
    own, c = Asked(*asked), Steering(*steering)
    for i in worlds:
        if own.still[i]:
            out[i] = 0.0
        elif omnidirectional[i]:
            out[i] = own.free[i]
        else:
            # Along the tile, as the base sees it, and a turn towards the heading asked for.
            aside = -lateral[i] / c.look_ahead if c.look_ahead > 0.0 else 0.0
            forward = own.speed[i] / math.hypot(1.0, aside)
            out[i, 0], out[i, 1] = into_yaw(yaw[i], forward, aside * abs(forward))
            out[i, 2] = min(max(c.gain * wrap(own.heading[i] - yaw[i]), -c.fastest), c.fastest)
