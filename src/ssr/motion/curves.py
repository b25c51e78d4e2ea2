"""From a footstep plan to smooth curves of soles, pelvis, torso and arms: the targets of the solver."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from ssr import rotation
from ssr.motion.footsteps import Plan
from ssr.motion.limbs import Limbs
from ssr.motion.posture import (
    GRAVITY,
    ankle_position,
    flight_height,
    knee_position,
    pitch_bounds,
    reachable_height,
    shoulder_position,
    smooth,
    upright,
)
from ssr.motion.soles import place, track
from ssr.motion.targets import FPS, Targets

GLIDE = 0.36  #: of a step's time, smoothing of the feet's height to that of the body
FORESIGHT = 1.5  #: s of past and future steps that the body's path depends on
NEAR = 0.04  #: s before and after a stance for which the leg must reach its sole, too
TRANSFER = 0.15  #: of a step's time, smoothing of the pressure's way along one sole and over to the other


def follow(plan: Plan, limbs: Limbs, base_over_soles: float) -> Targets:
    """The targets of `plan`. `base_over_soles` is how far the base stands ahead of the sole centres, m."""
    times = np.arange(round(plan.duration * FPS)) / FPS
    tracks = [track(plan, side, times) for side in range(2)]
    both = lambda name: np.stack([getattr(t, name) for t in tracks], axis=1)
    yaw, stance, flat = both("yaw"), both("stance"), both("flat")

    heading = smooth(yaw.mean(1), 0.15)
    forward = np.stack((np.cos(heading), np.sin(heading)), axis=1)
    stagger = smooth(((flat[:, 0] - flat[:, 1])[:, :2] * forward).sum(1), 0.06)  # right ahead of left, m
    leg_share = stagger / limbs.leg
    lean = smooth(np.interp(times, *np.transpose(plan.lean)), 0.1)
    base_quaternion = upright(heading + 0.10 * leg_share, lean)
    torso_quaternion = upright(heading - 0.12 * leg_share, lean)

    period = _period(plan)
    middle = smooth(flat.mean(1), GLIDE * period)
    carried = _over_pressure(_pressure(flat[..., :2], stance, period), limbs)
    base = np.empty((len(times), 3))
    base[:, :2] = carried + forward * base_over_soles
    nominal = middle[:, 2] + limbs.hip_height - plan.crouch * limbs.leg - limbs.hip[:, 2].mean()
    even = min(plan.evenness * period, 0.1)
    low = maximum_filter1d(stance, 1 + 2 * round(NEAR * FPS), axis=0)  # feet that just left or soon land
    bounds: list[tuple[np.ndarray, np.ndarray]] | list[None] = [None, None]
    for _ in range(3):  # base height, ankle angles and the roll of the feet depend on each other
        placed = [place(t, plan, limbs, bound) for t, bound in zip(tracks, bounds, strict=True)]
        position = np.stack([p[0] for p in placed], axis=1)
        quaternion = upright(yaw, np.stack([p[1] for p in placed], axis=1))
        cap = reachable_height(limbs, base[:, :2], base_quaternion, position, quaternion, low)
        lowest = minimum_filter1d(np.minimum(nominal, cap), size=1 + 2 * round(even * FPS), mode="nearest")
        base[:, 2] = smooth(lowest + flight_height(stance), even)
        hip = base[:, None] + rotation.rotate(base_quaternion[:, None], limbs.hip[None])
        knee = knee_position(hip, ankle_position(position, quaternion, limbs), quaternion, limbs)
        bounds = pitch_bounds(knee, position, quaternion, yaw, limbs)
        tracks = [t.held(*bound) for t, bound in zip(tracks, bounds, strict=True)]

    elbow, hand = _arms(limbs, base, base_quaternion, torso_quaternion, leg_share * plan.arm_swing)
    return Targets(
        base_position=base,
        base_quaternion=base_quaternion,
        torso_quaternion=torso_quaternion,
        sole_position=position,
        sole_quaternion=quaternion,
        knee_position=knee,
        elbow_position=elbow,
        hand_position=hand,
        stance=stance,
        boxes=plan.boxes,
    )


def _pressure(soles: np.ndarray, stance: np.ndarray, period: float) -> np.ndarray:
    """(T, 2) where the ground presses on soles (T, 2, 2) at x, y: under the loaded one, gliding over."""
    right = _load(stance)[:, None]
    return smooth(right * soles[:, 0] + (1.0 - right) * soles[:, 1], TRANSFER * period)


def _over_pressure(pressure: np.ndarray, limbs: Limbs) -> np.ndarray:
    """(T, 2) the path of a body that never falls away from its `pressure` (T, 2).

    A mass at height h on light legs is thrown off by ÿ = (y - p)·g/h. Its one path that stays bounded is p
    weighted by exp(-|t|·√(g/h)) over past and future: quick steps sway little, slow ones far.
    """
    rate = np.sqrt(GRAVITY / limbs.hip_height)
    reach = round(FORESIGHT * FPS)
    kernel = np.exp(-rate * np.abs(np.arange(-reach, reach + 1)) / FPS)
    padded = np.pad(pressure, ((reach, reach), (0, 0)), mode="edge")
    return np.stack([np.convolve(axis, kernel / kernel.sum(), mode="valid") for axis in padded.T], axis=1)


def _load(stance: np.ndarray) -> np.ndarray:
    """Share of the weight on the right foot: 1 or 0 on one foot, moving over while both stand."""
    right, left = stance[:, 0], stance[:, 1]
    single = right != left
    if not single.any():
        return np.full(len(stance), 0.5)
    frames = np.flatnonzero(single)
    load = np.interp(np.arange(len(stance)), frames, right[frames].astype(float))
    load[: frames[0]] = np.linspace(0.5, load[frames[0]], frames[0] + 1)[:-1] if frames[0] else load[:0]
    tail = len(stance) - 1 - frames[-1]
    load[frames[-1] + 1 :] = np.linspace(load[frames[-1]], 0.5, tail + 1)[1:]
    return load


def _period(plan: Plan) -> float:
    """Seconds from step to step, as they mostly are."""
    lifts = np.sort([step.lift for step in plan.steps])
    return float(np.median(np.diff(lifts))) if len(lifts) > 1 else 0.3


def _arms(
    limbs: Limbs, base: np.ndarray, base_q: np.ndarray, torso_q: np.ndarray, leg_share: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Elbows and hands: each arm swings with the opposite leg, elbows a little bent."""
    elbows, hands = [], []
    for side, sign in ((0, -1.0), (1, 1.0)):
        swing = 0.08 + 0.50 * leg_share * sign  # the right arm is forward when the left foot is
        flex = 0.45 + 0.35 * np.clip(swing, -0.3, 1.0)
        out = rotation.about(rotation.X, np.full_like(swing, sign * 0.22))
        upper = rotation.multiply(rotation.about(rotation.Y, -swing), out)
        lower = rotation.multiply(
            rotation.about(rotation.Y, -(swing + flex)), rotation.about(rotation.X, sign * 0.10)
        )
        shoulder = shoulder_position(limbs, base, base_q, torso_q, side)
        down = np.array([0.0, 0.0, -1.0])
        elbow = shoulder + rotation.rotate(rotation.multiply(torso_q, upper), limbs.upper_arm * down)
        hands.append(elbow + rotation.rotate(rotation.multiply(torso_q, lower), limbs.forearm * down))
        elbows.append(elbow)
    return np.stack(elbows, 1), np.stack(hands, 1)
