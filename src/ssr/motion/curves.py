"""From a footstep plan to smooth curves of soles, pelvis, torso and arms: the targets of the solver."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d, minimum_filter1d

from ssr.motion import rotation
from ssr.motion.footsteps import GRAVITY, Plan
from ssr.motion.limbs import Limbs
from ssr.motion.soles import place, track
from ssr.motion.targets import FPS, Targets

REACH = 0.985  #: of the straight leg, never exceeded by a standing leg


def follow(plan: Plan, limbs: Limbs, base_over_soles: float) -> Targets:
    """The targets of `plan`. `base_over_soles` is how far the base stands ahead of the sole centres, m."""
    times = np.arange(round(plan.duration * FPS)) / FPS
    tracks = [track(plan, side, times) for side in range(2)]
    both = lambda name: np.stack([getattr(t, name) for t in tracks], axis=1)
    yaw, stance, flat = both("yaw"), both("stance"), both("flat")

    heading = smooth(yaw.mean(1), 0.15)
    forward = np.stack((np.cos(heading), np.sin(heading)), axis=1)
    left = np.stack((-forward[:, 1], forward[:, 0]), axis=1)
    stagger = smooth(((flat[:, 0] - flat[:, 1])[:, :2] * forward).sum(1), 0.06)  # right ahead of left, m
    leg_share = stagger / limbs.leg
    lean = smooth(np.interp(times, *np.transpose(plan.lean)), 0.1)
    base_quaternion = _upright(heading + 0.10 * leg_share, lean)
    torso_quaternion = _upright(heading - 0.12 * leg_share, lean)

    sway = (0.5 - smooth(_load(stance), 0.06)) * 0.44 * limbs.hip_half_width  # towards the loaded foot
    middle = smooth(flat.mean(1), _glide(plan))
    base = np.empty((len(times), 3))
    base[:, :2] = middle[:, :2] + forward * base_over_soles + left * sway[:, None]
    nominal = middle[:, 2] + limbs.hip_height - plan.crouch * limbs.leg - limbs.hip[:, 2].mean()
    bounds: list[tuple[np.ndarray, np.ndarray] | None] = [None, None]
    for _ in range(3):  # base height, ankle angles and the roll of the feet depend on each other
        placed = [place(t, plan, limbs, bound) for t, bound in zip(tracks, bounds, strict=True)]
        position = np.stack([p[0] for p in placed], axis=1)
        quaternion = _upright(yaw, np.stack([p[1] for p in placed], axis=1))
        base[:, 2] = _base_height(nominal, limbs, base[:, :2], base_quaternion, position, quaternion, stance)
        hip = base[:, None] + rotation.rotate(base_quaternion[:, None], limbs.hip[None])
        knee = knee_position(hip, ankle_position(position, quaternion, limbs), quaternion, limbs)
        bounds = _pitch_bounds(knee, position, quaternion, yaw, limbs)
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


def smooth(x: np.ndarray, seconds: float) -> np.ndarray:
    """Gaussian smoothing along time, σ in seconds."""
    return gaussian_filter1d(x, seconds * FPS, axis=0, mode="nearest")


def ankle_position(sole: np.ndarray, quaternion: np.ndarray, limbs: Limbs) -> np.ndarray:
    """Ankle centres (T, 2, 3) of soles lying as given."""
    return sole + rotation.rotate(quaternion, np.array([-limbs.sole_ahead, 0.0, limbs.ankle_height]))


def knee_position(
    hip: np.ndarray, ankle: np.ndarray, sole_quaternion: np.ndarray, limbs: Limbs
) -> np.ndarray:
    """Where the knee is if the leg bends in the plane of the foot's heading, (..., 3)."""
    axis = ankle - hip
    distance = np.clip(np.linalg.norm(axis, axis=-1, keepdims=True), 1e-6, limbs.leg)
    axis = rotation.normalize(axis)
    along = (distance**2 + limbs.thigh**2 - limbs.shank**2) / (2.0 * distance)
    out = np.sqrt(np.maximum(limbs.thigh**2 - along**2, 0.0))
    ahead = rotation.rotate(sole_quaternion, rotation.X)
    ahead = rotation.normalize(ahead - (ahead * axis).sum(-1, keepdims=True) * axis)
    return hip + along * axis + out * ahead


def _upright(yaw: np.ndarray, pitch: np.ndarray) -> np.ndarray:
    return rotation.multiply(rotation.about(rotation.Z, yaw), rotation.about(rotation.Y, pitch))


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


def _glide(plan: Plan) -> float:
    """Smoothing (s) that turns the feet's stop and go into the nearly even glide of a body."""
    lifts = np.sort([step.lift for step in plan.steps])
    return 0.33 * float(np.median(np.diff(lifts))) if len(lifts) > 1 else 0.1


def _base_height(
    nominal: np.ndarray,
    limbs: Limbs,
    base_xy: np.ndarray,
    base_quaternion: np.ndarray,
    position: np.ndarray,
    quaternion: np.ndarray,
    stance: np.ndarray,
) -> np.ndarray:
    """The nominal height, lowered where a leg would not reach its foot, ballistic in flight."""
    ankle = ankle_position(position, quaternion, limbs)
    hip = rotation.rotate(base_quaternion[:, None], limbs.hip[None])
    across = np.linalg.norm(ankle[..., :2] - base_xy[:, None] - hip[..., :2], axis=-1)
    length = REACH * limbs.leg
    # A swinging foot may lag behind its curve, so it pulls the base down only a little.
    least = np.where(stance, 0.5, 0.93) * length
    rise = np.sqrt(np.maximum(length**2 - across**2, least**2))
    cap = (ankle[..., 2] + rise - hip[..., 2]).min(1)
    lowest = minimum_filter1d(np.minimum(nominal, cap), size=9, mode="nearest")
    return smooth(lowest + _flight(stance), 0.07)


def _pitch_bounds(
    knee: np.ndarray, position: np.ndarray, quaternion: np.ndarray, yaw: np.ndarray, limbs: Limbs
) -> list[tuple[np.ndarray, np.ndarray] | None]:
    """Per side the least and most foot pitch (T,) that the ankle allows, given where the shank points."""
    shank = knee - ankle_position(position, quaternion, limbs)
    local = rotation.unrotate(rotation.about(rotation.Z, yaw), shank)
    lean = smooth(np.arctan2(local[..., 0], local[..., 2]), 0.03)
    low, high = (lean + limit for limit in (limbs.ankle_range[0] + 0.06, limbs.ankle_range[1] - 0.06))
    return [(low[:, side], high[:, side]) for side in range(2)]


def _flight(stance: np.ndarray) -> np.ndarray:
    """Height gained over the straight line while no foot stands, (T,): the parabola of free fall."""
    air = np.concatenate(([False], ~stance.any(1), [False]))
    begins, ends = (
        np.flatnonzero(np.diff(air.astype(int)) == 1),
        np.flatnonzero(np.diff(air.astype(int)) == -1),
    )
    out = np.zeros(len(stance))
    for begin, end in zip(begins, ends, strict=True):
        t = np.arange(end - begin + 2)[1:-1] / FPS
        out[begin:end] = 0.5 * GRAVITY * t * ((end - begin + 1) / FPS - t)
    return out


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


def shoulder_position(
    limbs: Limbs, base: np.ndarray, base_q: np.ndarray, torso_q: np.ndarray, side: int
) -> np.ndarray:
    """Shoulder centre (T, 3): the base carries the waist, the torso the shoulder."""
    waist = base + rotation.rotate(base_q, limbs.waist)
    return waist + rotation.rotate(torso_q, limbs.shoulder[side] - limbs.waist)
