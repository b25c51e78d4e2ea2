"""Footstep plans: where and when each foot stands. Everything else of a planned motion follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ssr.motion import ground
from ssr.motion.limbs import Limbs
from ssr.motion.posture import GRAVITY
from ssr.terrain.tile import Box

LOOK_AHEAD = 0.4  #: s, a step is paced by the speed it leads to
SIDEWAYS_PACE, TURNING_PACE = 2.2, 0.5  #: m/s ahead whose tempo a m/s sideways and a rad/s of turning take
HUMAN_HIP_HEIGHT = 0.90  #: m, the reference for speed and cadence


@dataclass(frozen=True, kw_only=True)
class Foothold:
    """A sole lying flat: its centre, heading and the pitch of the surface (toe down positive), m and rad."""

    x: float
    y: float
    z: float = 0.0
    yaw: float = 0.0
    pitch: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Footstep:
    """One foot leaves the ground at `lift` and stands on `hold` from `land` on, seconds."""

    side: int  #: 0 right, 1 left
    lift: float
    land: float
    hold: Foothold
    roll_lift: float | None = None  #: rad, this step's own foot pitch at lift-off and touchdown
    roll_land: float | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A whole motion of `duration` seconds as footsteps, with the style that shapes the rest."""

    name: str
    column: str  #: the column of Table 11 it belongs to
    duration: float
    start: tuple[Foothold, Foothold]  #: right, left at time 0
    steps: tuple[Footstep, ...]
    boxes: tuple[Box, ...] = ()
    lean: tuple[tuple[float, float], ...] = ((0.0, 0.03),)  #: (time s, forward pitch of the torso rad)
    roll_land: float = -0.12  #: rad, foot pitch at touchdown: negative lands on the heel
    roll_lift: float = 0.35  #: rad, foot pitch at lift-off: positive leaves over the toe
    roll_time: float = 0.20  #: s, how long the foot rolls before lift-off
    clearance: float = 0.04  #: m, least swing height above the ground
    crouch: float = 0.012  #: share of the leg's length kept bent
    evenness: float = 0.12  #: share of a step's time over which the hips' height is evened out
    arm_swing: float = 1.0


def cadence(speed: float, limbs: Limbs) -> float:
    """Steps per second: a person's at the same Froude number, faster as shorter legs swing faster."""
    ratio = np.sqrt(HUMAN_HIP_HEIGHT / limbs.hip_height)
    return float((1.05 + 0.75 * abs(speed) * ratio) * ratio)


def duty(speed: float, limbs: Limbs) -> float:
    """Share of the gait cycle a foot stands: long when slow, 0.6 at a brisk walk."""
    froude = abs(speed) / np.sqrt(GRAVITY * limbs.hip_height)
    return float(np.clip(0.70 - 0.22 * froude, 0.58, 0.70))


def ground_width(limbs: Limbs) -> float:
    """Lateral distance between the sole centres: a little inside the hips, as people walk."""
    return 1.7 * limbs.hip_half_width


def walk(
    name: str,
    column: str,
    limbs: Limbs,
    *,
    velocity: Callable[[float], tuple[float, float, float]],
    duration: float,
    boxes: tuple[Box, ...] = (),
    pause: float = 0.5,
    stride_noise: float = 0.0,
    first_side: int = 0,
    rng: np.random.Generator | None = None,
    start: float = 0.0,
    **style: object,
) -> Plan:
    """Walk from x = `start` with the body velocity (v_x, v_y, ω_z) of time, standing still at both ends.

    Footholds lie where the path will be in the middle of the coming stance, half the ground width to either
    side, so every speed and turn is met on average; one that would straddle an edge moves to its nearer side.
    """
    path = _Path(velocity, duration, pause)
    half = 0.5 * ground_width(limbs)
    rng = rng or np.random.default_rng(0)

    def hold(time: float, side: int, noise: float = 0.0, widen: float = 0.0) -> Foothold:
        x, y, yaw = path(time)
        lateral = (half + widen) * (1.0 if side else -1.0) + 0.3 * noise
        x += start - lateral * np.sin(yaw) + noise * np.cos(yaw)
        y += lateral * np.cos(yaw) + noise * np.sin(yaw)
        return on_ground(boxes, float(x), float(y), float(yaw), limbs.sole_half[0] + 0.01)

    steps: list[Footstep] = []
    time, side = pause, first_side
    while time < duration - pause:
        vx, vy, omega = velocity(time + LOOK_AHEAD)
        pace = np.hypot(vx, SIDEWAYS_PACE * vy) + TURNING_PACE * abs(omega)
        period = 1.0 / cadence(pace, limbs)
        swing = 2.0 * period * (1.0 - duty(pace, limbs))
        land = time + swing
        stance_middle = land + 0.5 * (2.0 * period - swing)
        noise = stride_noise * float(rng.standard_normal())
        widen = 0.5 * abs(vy) * period  # the trailing foot of a side step stops short of the leading one
        steps.append(Footstep(side=side, lift=time, land=land, hold=hold(stance_middle, side, noise, widen)))
        time, side = time + period, 1 - side
    for _ in range(2):  # close the stance: both feet side by side where the path ends
        period = 1.0 / cadence(0.2, limbs)
        swing = 2.0 * period * 0.33
        steps.append(Footstep(side=side, lift=time, land=time + swing, hold=hold(np.inf, side)))
        time, side = time + period, 1 - side
    return Plan(
        name=name,
        column=column,
        duration=max(duration, max(s.land for s in steps) + pause),
        start=(hold(0.0, 0), hold(0.0, 1)),
        steps=tuple(steps),
        boxes=boxes,
        **style,  # type: ignore[arg-type]
    )


def on_ground(boxes: tuple[Box, ...], x: float, y: float, yaw: float, half: float) -> Foothold:
    """The foothold at x, y, moved along x so that a sole of half length `half` straddles no edge."""
    for edge in ground.edges(boxes):
        if abs(x - edge) < half:
            x = edge + (half if x >= edge else -half)
    z, pitch = ground.surface(boxes, x, y)
    return Foothold(x=x, y=y, z=z, yaw=yaw, pitch=pitch)


class _Path:
    """The pose (x, y, yaw) of the body's path over time, by integrating its velocity."""

    def __init__(
        self, velocity: Callable[[float], tuple[float, float, float]], duration: float, pause: float
    ):
        self.step = 0.01
        times = np.arange(0.0, duration + 4.0, self.step)
        v = np.array([velocity(t) if pause <= t <= duration - pause else (0.0, 0.0, 0.0) for t in times])
        yaw = np.concatenate(([0.0], np.cumsum(v[:-1, 2]) * self.step))
        world = np.stack(
            (v[:, 0] * np.cos(yaw) - v[:, 1] * np.sin(yaw), v[:, 0] * np.sin(yaw) + v[:, 1] * np.cos(yaw)), 1
        )
        position = np.concatenate((np.zeros((1, 2)), np.cumsum(world[:-1], 0) * self.step))
        self.poses = np.concatenate((position, yaw[:, None]), axis=1)

    def __call__(self, time: float) -> tuple[float, float, float]:
        x, y, yaw = self.poses[int(min(time / self.step + 0.5, len(self.poses) - 1))]
        return float(x), float(y), float(yaw)
