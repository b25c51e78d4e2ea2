"""Curves of one sole along a plan: standing, rolling over heel and toe, swinging clear of the ground."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from ssr import rotation
from ssr.motion import ground
from ssr.motion.footsteps import Plan
from ssr.motion.limbs import Limbs
from ssr.motion.targets import FPS
from ssr.terrain.tile import Box

HEEL_ROLL = 0.10  #: s, how long the foot rolls after touching down on an edge
RISE_SHARE = 0.35  #: of a swing, in which it gains (and later loses) the height that clears the ground
HIGHEST_BUMP, HIGHEST_SPEED = (
    0.25,
    0.5,
)  #: the most a swing is raised: share of the leg, m per second of swing
DEEPEST_DIP = 0.05  #: m, the most it is raised besides where it just left the ground or is about to meet it


@dataclass(frozen=True, kw_only=True)
class Track:
    """One foot over T frames: where it stands and how it rolls there; in the air, the glide in between."""

    flat: np.ndarray  #: (T, 3) sole centre on the foothold, without roll and swing height
    yaw: np.ndarray  #: (T,) rad
    surface: np.ndarray  #: (T,) rad, pitch of the ground underfoot
    roll: np.ndarray  #: (T,) rad, pitch against the surface: over the toe if positive, the heel if negative
    stance: np.ndarray  #: (T,) bool
    swings: tuple[tuple[int, int], ...]  #: last frame before and first frame after each flight of the foot

    def held(self, ankle_least: np.ndarray, ankle_most: np.ndarray) -> Track:
        """The same track, rolling further where the ankle could not bend enough.

        `ankle_least`, `ankle_most` (T,) bound the foot's pitch, rad.
        """
        pitch = np.clip(self.surface + self.roll, ankle_least, ankle_most)
        return replace(self, roll=np.where(self.stance, pitch - self.surface, self.roll))


def track(plan: Plan, side: int, times: np.ndarray) -> Track:
    """The footholds of one side as functions of time."""
    steps = [s for s in plan.steps if s.side == side]
    holds = [plan.start[side], *(s.hold for s in steps)]
    lands = [-1e9, *(s.land for s in steps)]
    lifts = [*(s.lift for s in steps), 1e9]
    own = lambda value, default: default if value is None else value
    n = len(times)
    flat, yaw, surface, roll = np.empty((n, 3)), np.empty(n), np.empty(n), np.zeros(n)
    stance, swings = np.zeros(n, dtype=bool), []
    for k, hold in enumerate(holds):
        on = (times >= lands[k]) & (times <= lifts[k])
        center = np.array([hold.x, hold.y, hold.z])
        flat[on], yaw[on], surface[on], stance[on] = center, hold.yaw, hold.pitch, True
        if k > 0:
            passed = np.clip((times[on] - lands[k]) / HEEL_ROLL, 0.0, 1.0)
            roll[on] += own(steps[k - 1].roll_land, plan.roll_land) * (1.0 - np.sin(0.5 * np.pi * passed))
        if k < len(steps):
            coming = np.clip((times[on] - lifts[k]) / plan.roll_time + 1.0, 0.0, 1.0)
            roll[on] += own(steps[k].roll_lift, plan.roll_lift) * coming**2
            after = holds[k + 1]
            air = np.flatnonzero((times > lifts[k]) & (times < lands[k + 1]))
            if len(air):
                share = ease((times[air] - lifts[k]) / (lands[k + 1] - lifts[k]))
                flat[air] = center + share[:, None] * (np.array([after.x, after.y, after.z]) - center)
                yaw[air] = hold.yaw + share * (after.yaw - hold.yaw)
                surface[air] = hold.pitch + share * (after.pitch - hold.pitch)
                swings.append((int(air[0]) - 1, int(air[-1]) + 1))
    return Track(flat=flat, yaw=yaw, surface=surface, roll=roll, stance=stance, swings=tuple(swings))


def place(
    foot: Track, plan: Plan, limbs: Limbs, pitch_bounds: tuple[np.ndarray, np.ndarray] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Sole centre (T, 3) and pitch (T,) of a track, swings included; bounds limit the pitch in the air."""
    position, pitch = rolled(foot, limbs)
    for before, after in foot.swings:
        _swing(foot, position, pitch, before, min(after, len(pitch) - 1), plan, limbs, pitch_bounds)
    return position, pitch


def ease(s: np.ndarray) -> np.ndarray:
    """0 to 1 with no velocity or acceleration at the ends."""
    s = np.clip(s, 0.0, 1.0)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s**2)


def rolled(foot: Track, limbs: Limbs) -> tuple[np.ndarray, np.ndarray]:
    """Sole centre and pitch when the sole rolls about its toe edge (roll > 0) or heel edge (roll < 0)."""
    edge = np.where(foot.roll > 0.0, limbs.sole_half[0], -limbs.sole_half[0])
    q = rotation.multiply(rotation.about(rotation.Z, foot.yaw), rotation.about(rotation.Y, foot.surface))
    pivot = edge[:, None] * rotation.X
    shift = pivot - rotation.rotate(rotation.about(rotation.Y, foot.roll), pivot)
    return foot.flat + rotation.rotate(q, shift), foot.surface + foot.roll


def _swing(
    foot: Track,
    position: np.ndarray,
    pitch: np.ndarray,
    a: int,
    b: int,
    plan: Plan,
    limbs: Limbs,
    pitch_bounds: tuple[np.ndarray, np.ndarray] | None,
) -> None:
    """Fill frames a+1 … b-1: a smooth curve that leaves and meets the rolls and clears the ground."""
    frames = np.arange(a + 1, b)
    s, span = (frames - a) / (b - a), (b - a) / FPS
    slope = lambda x, i, j: (x[j] - x[i]) * FPS * span
    before, after = max(a - 1, 0), min(b + 1, len(pitch) - 1)
    angle = _hermite(s, pitch[a], pitch[b], slope(pitch, before, a), slope(pitch, b, after))
    if pitch_bounds is not None:
        angle = np.clip(angle, pitch_bounds[0][frames], pitch_bounds[1][frames])
    # Up a step the foot rises before it travels, down a step it travels before it sinks.
    rise = foot.flat[b, 2] - foot.flat[a, 2]
    delay = float(np.clip(0.7 * rise / limbs.leg, -0.25, 0.25))
    travel = np.clip((s - max(delay, 0.0)) / (1.0 - abs(delay)), 0.0, 1.0)
    climb = np.clip((s - max(-delay, 0.0)) / (1.0 - abs(delay)), 0.0, 1.0)
    curves = ((_cubic, travel), (_cubic, travel), (_hermite, climb))
    path = np.stack(
        [
            curve(
                share,
                position[a, i],
                position[b, i],
                slope(position[:, i], before, a) * (1.0 - abs(delay)),
                slope(position[:, i], b, after) * (1.0 - abs(delay)),
            )
            for i, (curve, share) in enumerate(curves)
        ],
        axis=1,
    )
    position[frames], pitch[frames] = path, angle
    lift_clear(position, pitch, foot.yaw, a, b, plan.boxes, plan.clearance, limbs)


def lift_clear(
    position: np.ndarray,
    pitch: np.ndarray,
    yaw: np.ndarray,
    a: int,
    b: int,
    boxes: tuple[Box, ...],
    least: float,
    limbs: Limbs,
) -> None:
    """Raise frames a+1 … b-1 of a swing until the sole clears the ground by `least` metres in the middle."""
    frames = np.arange(max(a + 1, 0), min(b, len(pitch)))
    if not len(frames):
        return
    # How far into the swing, counted from its nearer end; a swing cut off by the clip's end has only one.
    since = np.minimum(frames - a if a >= 0 else np.inf, b - frames if b < len(pitch) else np.inf)
    bump = ease(since / max(RISE_SHARE * (b - a), 1.0))
    free = lambda: clearance(boxes, position[frames], pitch[frames], yaw[frames], limbs)
    need = np.where(bump > 0.2, least - free() / np.maximum(bump, 0.2), 0.0)
    most = min(HIGHEST_BUMP * limbs.leg, HIGHEST_SPEED * (b - a) / FPS)
    position[frames, 2] += bump * np.clip(float(need.max()), 0.0, most)
    # Right after lift-off and before touchdown a tilted sole may still dip in: raise just those frames.
    sunk = maximum_filter1d(np.clip(-free(), 0.0, DEEPEST_DIP), 5, mode="constant")
    position[frames, 2] += gaussian_filter1d(sunk, 1.0, mode="constant")


def _hermite(s: np.ndarray, a: float, b: float, va: float, vb: float) -> np.ndarray:
    """Quintic from a to b over s in 0..1 with end slopes va, vb and no acceleration at the ends."""
    return (
        a * (1 - 10 * s**3 + 15 * s**4 - 6 * s**5)
        + b * (10 * s**3 - 15 * s**4 + 6 * s**5)
        + va * (s - 6 * s**3 + 8 * s**4 - 3 * s**5)
        + vb * (-4 * s**3 + 7 * s**4 - 3 * s**5)
    )


def _cubic(s: np.ndarray, a: float, b: float, va: float, vb: float) -> np.ndarray:
    """Cubic from a to b over s in 0..1 with end slopes va, vb: its peak speed is lower than the quintic's."""
    return (
        a * (1 - 3 * s**2 + 2 * s**3)
        + b * (3 * s**2 - 2 * s**3)
        + va * (s - 2 * s**2 + s**3)
        + vb * (s**3 - s**2)
    )


def clearance(
    boxes: tuple[Box, ...], path: np.ndarray, pitch: np.ndarray, yaw: np.ndarray, limbs: Limbs
) -> np.ndarray:
    """Height of the lowest sole point above the ground under it, (T,)."""
    x = np.linspace(-1.0, 1.0, 9) * limbs.sole_half[0]
    y = np.array([-1.0, 0.0, 1.0]) * limbs.sole_half[1]
    points = np.stack(np.meshgrid(x, y, [0.0], indexing="ij"), -1).reshape(-1, 3)
    q = rotation.multiply(rotation.about(rotation.Z, yaw), rotation.about(rotation.Y, pitch))
    world = path[:, None] + rotation.rotate(q[:, None], points[None])
    return (world[..., 2] - ground.height(boxes, world[..., :2], shrink=0.01)).min(1)
