"""From a footstep plan to smooth curves of soles, pelvis, torso and arms: the targets of the solver."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d, minimum_filter1d

from ssr.motion import ground, rotation
from ssr.motion.footsteps import Foothold, Plan
from ssr.motion.limbs import Limbs
from ssr.motion.targets import FPS, Targets

HEEL_ROLL, TOE_ROLL = 0.10, 0.20  #: s, how long the foot rolls from the heel and over the toe
REACH = 0.985  #: of the straight leg, never exceeded by a standing leg


def follow(plan: Plan, limbs: Limbs, base_over_soles: float) -> Targets:
    """The targets of `plan`. `base_over_soles` is how far the base stands ahead of the sole centres, m."""
    times = np.arange(round(plan.duration * FPS)) / FPS
    feet = [_foot(plan, side, times, limbs) for side in range(2)]
    position = np.stack([f[0] for f in feet], axis=1)
    pitch = np.stack([f[1] for f in feet], axis=1)
    yaw = np.stack([f[2] for f in feet], axis=1)
    stance = np.stack([f[3] for f in feet], axis=1)
    flat = np.stack([f[4] for f in feet], axis=1)  # where the foothold is, without the roll of the foot
    quaternion = rotation.multiply(rotation.about(rotation.Z, yaw), rotation.about(rotation.Y, pitch))

    heading = smooth(yaw.mean(1), 0.15)
    forward = np.stack((np.cos(heading), np.sin(heading)), axis=1)
    stagger = smooth(((flat[:, 0] - flat[:, 1])[:, :2] * forward).sum(1), 0.06)  # right ahead of left, m
    load = smooth(_load(stance), 0.06)
    leg_share = stagger / limbs.leg
    base_quaternion = _upright(heading + 0.10 * leg_share, smooth(np.full_like(heading, plan.lean), 0.1))
    torso_quaternion = _upright(heading - 0.12 * leg_share, np.full_like(heading, plan.lean))

    base = np.empty((len(times), 3))
    left = np.stack((-forward[:, 1], forward[:, 0]), axis=1)
    sway = (0.5 - load) * 0.22 * limbs.hip_half_width * 2.0  # towards the loaded foot
    base[:, :2] = smooth(flat[..., :2].mean(1), 0.12) + forward * base_over_soles + left * sway[:, None]
    base[:, 2] = _base_height(plan, limbs, base[:, :2], heading, position, quaternion, stance, flat, load)

    hip = base[:, None] + rotation.rotate(base_quaternion[:, None], limbs.hip[None])
    ankle = ankle_position(position, quaternion, limbs)
    elbow, hand = _arms(limbs, base, base_quaternion, torso_quaternion, leg_share * plan.arm_swing)
    return Targets(
        base_position=base,
        base_quaternion=base_quaternion,
        torso_quaternion=torso_quaternion,
        sole_position=position,
        sole_quaternion=quaternion,
        knee_position=knee_position(hip, ankle, quaternion, limbs),
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
    """Share of the weight on the right foot: 1 or 0 on one foot, moving over while both stand, held in flight."""
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


def _base_height(plan, limbs, base_xy, heading, position, quaternion, stance, flat, load):  # type: ignore[no-untyped-def]
    """As high as the standing legs allow, gliding between the heights of the footholds."""
    support = load * flat[:, 0, 2] + (1.0 - load) * flat[:, 1, 2]
    nominal = smooth(support, 0.12) + limbs.hip_height - plan.crouch * limbs.leg - limbs.hip[:, 2].mean()
    ankle = ankle_position(position, quaternion, limbs)
    turn = rotation.about(rotation.Z, heading)[:, None]
    hip = rotation.rotate(turn, limbs.hip[None])
    across = np.linalg.norm(ankle[..., :2] - base_xy[:, None] - hip[..., :2], axis=-1)
    length = REACH * limbs.leg
    rise = np.sqrt(np.maximum(length**2 - across**2, (0.5 * length) ** 2))
    cap = np.where(stance, ankle[..., 2] + rise - hip[..., 2], np.inf).min(1)
    lowest = minimum_filter1d(np.minimum(nominal, cap), size=5, mode="nearest")
    return smooth(lowest, 0.06)


def _arms(limbs: Limbs, base: np.ndarray, base_q: np.ndarray, torso_q: np.ndarray, leg_share: np.ndarray):  # type: ignore[no-untyped-def]
    """Elbows and hands: each arm swings with the opposite leg, elbows a little bent."""
    elbows, hands = [], []
    for side, sign in ((0, -1.0), (1, 1.0)):
        swing = 0.08 + 0.50 * leg_share * (sign if side else -1.0)  # right arm forward when the left foot is
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


def _foot(plan: Plan, side: int, times: np.ndarray, limbs: Limbs):  # type: ignore[no-untyped-def]
    """One foot over time: sole centre (T, 3), pitch, yaw, stance, and the foothold glide (T, 3)."""
    steps = [s for s in plan.steps if s.side == side]
    holds = [plan.start[side], *(s.hold for s in steps)]
    lands = [-1e9, *(s.land for s in steps)]
    lifts = [*(s.lift for s in steps), 1e9]
    n = len(times)
    position, flat = np.empty((n, 3)), np.empty((n, 3))
    pitch, yaw, stance = np.empty(n), np.empty(n), np.zeros(n, dtype=bool)
    for k, hold in enumerate(holds):
        on = (times >= lands[k]) & (times <= lifts[k])
        t = times[on]
        roll = _roll(plan, t, lands[k], lifts[k])
        position[on], pitch[on] = _rolled(hold, roll, limbs)
        flat[on], yaw[on], stance[on] = _center(hold), hold.yaw, True
        if k + 1 < len(holds):
            swing = (times > lifts[k]) & (times < lands[k + 1])
            window = (lifts[k], lands[k + 1])
            position[swing], pitch[swing] = _swing(plan, hold, holds[k + 1], window, times[swing], limbs)
            share = _ease((times[swing] - window[0]) / (window[1] - window[0]))
            flat[swing] = _center(hold) + share[:, None] * (_center(holds[k + 1]) - _center(hold))
            yaw[swing] = hold.yaw + share * (holds[k + 1].yaw - hold.yaw)
    return position, pitch, yaw, stance, flat


def _center(hold: Foothold) -> np.ndarray:
    return np.array([hold.x, hold.y, hold.z])


def _ease(s: np.ndarray) -> np.ndarray:
    """0 to 1 with no velocity or acceleration at the ends."""
    s = np.clip(s, 0.0, 1.0)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s**2)


def _roll(plan: Plan, t: np.ndarray, land: float, lift: float) -> np.ndarray:
    """Pitch of the foot against its surface while it stands: touchdown roll, flat, lift-off roll."""
    down = plan.roll_land * (1.0 - np.sin(0.5 * np.pi * np.clip((t - land) / HEEL_ROLL, 0.0, 1.0)))
    up = plan.roll_lift * (np.clip((t - lift + TOE_ROLL) / TOE_ROLL, 0.0, 1.0)) ** 2
    return np.where(t < land + HEEL_ROLL, down, up)


def _rolled(hold: Foothold, roll: np.ndarray, limbs: Limbs) -> tuple[np.ndarray, np.ndarray]:
    """Sole centre and pitch when the sole on `hold` rolls about its toe (roll > 0) or heel (roll < 0) edge."""
    edge = np.where(roll > 0.0, limbs.sole_half[0], -limbs.sole_half[0])
    q = rotation.multiply(
        rotation.about(rotation.Z, np.full_like(roll, hold.yaw)),
        rotation.about(rotation.Y, np.full_like(roll, hold.pitch)),
    )
    pivot = edge[:, None] * rotation.X
    shift = pivot - rotation.rotate(rotation.about(rotation.Y, roll), pivot)
    return _center(hold) + rotation.rotate(q, shift), hold.pitch + roll


def _swing(plan, before, after, window, t, limbs):  # type: ignore[no-untyped-def]
    """Sole centre and pitch in the air: a Hermite curve between the rolls, lifted until it clears the ground."""
    lift, land = window
    duration = land - lift
    ends, speeds, pitches, rates = [], [], [], []
    for hold, time, roll in ((before, lift, plan.roll_lift), (after, land, plan.roll_land)):
        rate = 2.0 * plan.roll_lift / TOE_ROLL if time == lift else -plan.roll_land * 0.5 * np.pi / HEEL_ROLL
        step = 1e-4
        p, angle = _rolled(hold, np.array([roll - step * rate, roll, roll + step * rate]), limbs)
        ends.append(p[1])
        speeds.append((p[2] - p[0]) / (2 * step))
        pitches.append(angle[1])
        rates.append(rate)
    s = (t - lift) / duration
    pitch = _hermite(s, pitches[0], pitches[1], rates[0] * duration, rates[1] * duration)
    rise = after.z - before.z
    # Up a step the foot rises before it travels, down a step it travels before it sinks.
    delay = np.clip(rise / (0.5 * limbs.leg), -1.0, 1.0) * 0.35
    warped = np.clip((s - max(delay, 0.0)) / (1.0 - abs(delay)), 0.0, 1.0)
    early = np.clip((s - max(-delay, 0.0)) / (1.0 - abs(delay)), 0.0, 1.0)
    path = np.empty((len(t), 3))
    for axis in range(3):
        share = warped if axis < 2 else early
        slow = duration * (1.0 - abs(delay))
        path[:, axis] = _hermite(
            share, ends[0][axis], ends[1][axis], speeds[0][axis] * slow, speeds[1][axis] * slow
        )
    bump = 64.0 * (s * (1.0 - s)) ** 3
    yaw = before.yaw + _ease(s) * (after.yaw - before.yaw)
    lowest = _lowest_clearance(plan, path, pitch, yaw, limbs)
    middle = bump > 0.15
    need = np.where(
        middle, (plan.clearance * np.minimum(bump / 0.5, 1.0) - lowest) / np.maximum(bump, 0.15), 0.0
    )
    path[:, 2] += bump * max(float(need.max(initial=0.0)), 0.0)
    return path, pitch


def _hermite(s: np.ndarray, a: float, b: float, va: float, vb: float) -> np.ndarray:
    """Quintic from a to b over s in 0..1 with end slopes va, vb and no acceleration at the ends."""
    return (
        a * (1 - 10 * s**3 + 15 * s**4 - 6 * s**5)
        + b * (10 * s**3 - 15 * s**4 + 6 * s**5)
        + va * (s - 6 * s**3 + 8 * s**4 - 3 * s**5)
        + vb * (-4 * s**3 + 7 * s**4 - 3 * s**5)
    )


def _lowest_clearance(plan, path, pitch, yaw, limbs):  # type: ignore[no-untyped-def]
    """Height of the lowest sole point above the ground under it, (T,)."""
    x = np.linspace(-1.0, 1.0, 9) * limbs.sole_half[0]
    y = np.array([-1.0, 0.0, 1.0]) * limbs.sole_half[1]
    points = np.stack(np.meshgrid(x, y, [0.0], indexing="ij"), -1).reshape(-1, 3)
    q = rotation.multiply(rotation.about(rotation.Z, yaw), rotation.about(rotation.Y, pitch))
    world = path[:, None] + rotation.rotate(q[:, None], points[None])
    return (world[..., 2] - ground.height(plan.boxes, world[..., :2])).min(1)
