"""Velocity commands: along the tile while on it (Table 4), any direction on the apron (Table 5)."""

from __future__ import annotations

from math import hypot
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ssr.per_world import per_world
from ssr.task.clocks import run_down
from ssr.task.config import CommandConfig, TaskConfig
from ssr.task.frames import into_yaw, wrap
from ssr.task.saving import NamedTensors
from ssr.terrain.registry import all_kinds
from ssr.terrain.settings import SLOPE, TERRAIN_TYPES

BRISK = 0.4  #: m/s, the slowest walk asked of a beginner: slower ones pay for standing
STRAIGHT = 0.4  #: share of the heading range that a beginner meets
FAST = 0.75  #: share of a terrain's top speed that a fast episode asks for at least
HEADINGS = {"slope": (-80.0, 80.0), "stairs": (-30.0, 30.0), "gap": (-15.0, 15.0)}  #: degrees, Table 4
HEADING_GAIN = 0.5  #: 1/s, of the heading controller
MAX_YAW_RATE = 1.0  #: rad/s, of the heading controller
RESAMPLE_SECONDS = (8.0, 10.0)  #: Table 4
ZERO_THRESHOLD = 0.15  #: ε (Table 7): a smaller ‖u‖ counts as standing
ONWARD = 0.2  #: share of the heading range that a fast episode asks for
WIDE = 1 / 3  #: of the ramp, at which commands are all of Table 4, before the robot gets hard to walk with


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
    """Uniform in [0, 1) where nothing else is said, for m new commands."""

    speed: np.ndarray  #: (m,)
    heading: np.ndarray  #: (m,)
    free: np.ndarray  #: (m, 3)
    still: np.ndarray  #: (m,)
    steps: np.ndarray  #: (m,) whole, until the next command


class Ranges(NamedTuple):
    """What commands are drawn from."""

    speed: np.ndarray  #: (types, 2) m/s
    heading: np.ndarray  #: (types, 2) rad
    free: np.ndarray  #: (3, 2) m/s, m/s, rad/s
    slowest: float  #: m/s asked for at least
    straightness: float  #: share of the heading range
    still_share: float
    alone_share: float


class Steering(NamedTuple):
    """How the heading is held."""

    gain: float  #: 1/s
    fastest: float  #: rad/s
    look_ahead: float  #: m, see `Commands.fix`


class Commands(NamedTensors):
    """What each world is asked to do, as `Asked`."""

    ARRAYS, TENSORS = Asked, Asked._fields

    def __init__(
        self,
        num_envs: int,
        config: TaskConfig,
        generator: torch.Generator,
        device: torch.device | None = None,
    ) -> None:
        self.config, self.task, self.generator, self.device = config.commands, config, generator, device
        c, speeds = config.commands, table_4(config.commands)
        free = np.array([c.slope_speed, c.lateral_speed, c.yaw_rate], dtype=np.float32)
        tables: tuple[Any, ...] = (*speeds, free)
        if device is not None:
            tables = tuple(torch.from_numpy(table).to(device) for table in tables)
        self.speed_range, self.heading_range, self.free_range = tables
        self.now = self.given(self.full(num_envs, 3))  #: u as it was last asked for, base frame
        self.speed = self.full(num_envs)
        self.heading = self.full(num_envs)
        self.direction = self.full(num_envs, value=1)
        self.fast = self.full(num_envs, dtype=torch.bool)
        self.free = self.full(num_envs, 3)
        self.still = self.full(num_envs, dtype=torch.bool)
        self.steps_left = self.full(num_envs, dtype=torch.long)
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
        self.breadth = min(1.0, ramp / WIDE)

    def restart(self, worlds: Tensor, terrain_type: Tensor) -> None:
        """New episodes: the side from which a tile is walked is drawn once per episode."""
        if self.fixed:
            return
        chances = self._uniform(len(worlds)), self._uniform(len(worlds))
        turn_round(
            self.given(worlds), self.given(terrain_type), self.speed_range, *chances,
            self.config.fast_fraction * self.breadth, 0.5 * self.breadth, self.arrays,
        )  # fmt: skip
        self.resample(worlds, terrain_type)

    def roam(self, worlds: Tensor, terrain_type: Tensor, course: Tensor) -> Any:
        """Which (m,) bool of these new episodes are to be walked on the apron, in any direction. Those that
        begin in motion, along their course (m, 3) in m/s and rad/s, are asked to go on like that."""
        share = self.config.roaming_fraction * self.breadth
        roaming = self.given(self.full(len(worlds), dtype=torch.bool))
        if not self.fixed and share > 0.0:
            chance, kinds = self._uniform(len(worlds)), self.given(terrain_type)
            begun = self.given(course.contiguous())
            set_free(self.given(worlds), kinds, chance, share, begun, self.free_range, roaming, self.arrays)
        return roaming

    def resample(self, worlds: Tensor, terrain_type: Tensor) -> None:
        n, c = len(worlds), self.config
        if self.fixed or n == 0:
            return
        drawn = self._uniform(6 * n)
        draws = Draws(
            speed=drawn[:n],
            heading=drawn[n : 2 * n],
            free=drawn[2 * n : 5 * n].reshape(n, 3),
            still=drawn[5 * n :],
            steps=self._whole(n),
        )
        ranges = Ranges(
            speed=self.speed_range,
            heading=self.heading_range,
            free=self.free_range,
            slowest=(1 - self.breadth) * BRISK,
            straightness=max(self.breadth, STRAIGHT),
            still_share=c.zero_fraction * self.breadth,
            alone_share=c.alone_fraction,
        )
        ask(self.given(worlds), self.given(terrain_type), draws, ranges, self.arrays)

    def follow(self, worlds: Tensor, speed: Tensor, terrain_type: Tensor) -> None:
        """Ask worlds that begin in motion, at `speed` (m,) m/s along the tile, to go on like that.

        Fast episodes keep the speed that was drawn, all keep their heading: walking on while turning is part
        of the course.
        """
        if not self.fixed:
            kinds = self.given(terrain_type)
            go_on(self.given(worlds), kinds, self.given(speed), self.speed_range, self.arrays)

    def tick(self, terrain_type: Tensor) -> None:
        """One control step has passed."""
        if self.device is not None:
            self.steps_left -= 1
            self.resample(self.steps_left <= 0, terrain_type)
            return
        due = run_down(self.arrays.steps_left)
        if len(due):
            self.resample(torch.from_numpy(due), terrain_type)

    def current(self, yaw: Any, lateral: Any, omnidirectional: Tensor, worlds: Tensor | None = None) -> Any:
        """`now`, renewed for these worlds, by default all.

        yaw (n,): where the bases head; lateral (n,): m from the tile's middle line.
        omnidirectional (n,) bool: worlds where `free` counts.
        """
        chosen = self.everywhere if worlds is None else self.given(worlds)
        steering = Steering(gain=HEADING_GAIN, fastest=MAX_YAW_RATE, look_ahead=self.look_ahead)
        steer(chosen, yaw, lateral, self.given(omnidirectional), self.arrays, steering, self.now)
        return self.now

    def _uniform(self, *shape: int) -> Any:
        at = self.device or "cpu"
        return self.given(torch.rand(shape, generator=self.generator, device=at))

    def _whole(self, count: int) -> Any:
        """(count,) control steps until the next command."""
        low, high = (self.task.control_steps(seconds) for seconds in RESAMPLE_SECONDS)
        at, kind = self.device or "cpu", torch.long if self.device is None else torch.int32
        drawn = torch.randint(low, high + 1, (count,), generator=self.generator, device=at, dtype=kind)
        return self.given(drawn)


@per_world(None, None, None, None, None, None, Asked)
def turn_round(terrain_type, speed_range, fast_chance, back_chance, fast_share, back_share, own, i, k):
    """Whether an episode asks for a fast walk, or for one backwards where a slope allows it."""
    fast = fast_chance[k] < fast_share
    backwards = not fast and speed_range[int(terrain_type[i]), 0] < 0.0 and back_chance[k] < back_share
    own.fast[i] = fast
    own.direction[i] = -1.0 if backwards else 1.0


@per_world(None, None, None, None, None, None, Asked)
def set_free(terrain_type, chance, share, course, free_range, roaming, own, i, k):
    roaming[k] = chance[k] < share and int(terrain_type[i]) == SLOPE
    if roaming[k]:
        own.direction[i] = 1.0
        # The next command may come soon: it has nothing to do with how the episode began.
        own.steps_left[i] = max(int(float(own.steps_left[i]) * chance[k] / share), 1)
        if abs(course[k, 0]) + abs(course[k, 1]) + abs(course[k, 2]) > ZERO_THRESHOLD:
            own.still[i] = False
            for axis in range(3):
                own.free[i, axis] = min(max(course[k, axis], free_range[axis, 0]), free_range[axis, 1])


@per_world(None, Draws, Ranges, Asked)
def ask(terrain_type, drawn, within, own, i, k):
    kind = int(terrain_type[i])
    fast = own.fast[i]
    forward = own.direction[i] > 0.0
    low = within.speed[kind, 0]
    high = within.speed[kind, 1]
    # Walked backwards, a slope has its negative speeds, counted from zero.
    fastest = high if forward else -low
    floor = max(low, 0.0) if forward else 0.0
    floor = max(floor, FAST * fastest if fast else within.slowest)
    own.speed[i] = (floor + (fastest - floor) * drawn.speed[k]) * own.direction[i]
    left = within.heading[kind, 0]
    right = within.heading[kind, 1]
    share = ONWARD if fast else within.straightness
    own.heading[i] = (left + (right - left) * drawn.heading[k]) * share
    alone = drawn.speed[k] < within.alone_share  # a draw that counts on the tile only
    for axis in range(3):
        least = within.free[axis, 0]
        most = within.free[axis, 1]
        part = least + (most - least) * drawn.free[k, axis]
        if alone:
            bound = most if part > 0.0 else -least
            asked = int(4.0 * drawn.speed[k] / within.alone_share)  # 3: obliquely
            if asked != axis and (asked < 3 or axis == 2):
                part = float(0.0)
            elif bound > ZERO_THRESHOLD:  # less would ask to stand
                part += (1.0 - abs(part) / bound) * (ZERO_THRESHOLD if part > 0.0 else -ZERO_THRESHOLD)
        own.free[i, axis] = part
    own.still[i] = drawn.still[k] < within.still_share and not fast
    own.steps_left[i] = drawn.steps[k]


@per_world(None, None, None, Asked)
def go_on(terrain_type, speed, speed_range, own, i, k):
    kind = int(terrain_type[i])
    asked = min(max(speed[k], speed_range[kind, 0]), speed_range[kind, 1])
    if abs(asked) > ZERO_THRESHOLD and not own.fast[i]:
        own.speed[i] = asked
        own.direction[i] = 1.0 if asked > 0.0 else -1.0
        own.still[i] = False


@per_world(None, None, None, Asked, Steering)
def steer(yaw, lateral, omnidirectional, own, c, out, i, k):
    if own.still[i]:
        for axis in range(3):
            out[i, axis] = 0.0
    elif omnidirectional[i]:
        for axis in range(3):
            out[i, axis] = own.free[i, axis]
    else:
        # Along the tile, as the base sees it, and a turn towards the heading asked for.
        aside = float(0.0)
        if c.look_ahead > 0.0:
            aside = -lateral[i] / c.look_ahead
        forward = own.speed[i] / hypot(1.0, aside)
        x, y = into_yaw(yaw[i], forward, aside * abs(forward))
        out[i, 0] = x
        out[i, 1] = y
        out[i, 2] = min(max(c.gain * wrap(own.heading[i] - yaw[i]), -c.fastest), c.fastest)
