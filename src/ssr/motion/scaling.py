"""From a person's key points to the robot's: limbs scaled, standing feet pinned to the ground."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import maximum_filter1d

from ssr import rotation
from ssr.motion import footing, soles
from ssr.motion import ground as terrain
from ssr.motion.contacts import Stance, foot_yaw, runs, stances
from ssr.motion.ground import Ground
from ssr.motion.limbs import Limbs
from ssr.motion.posture import (
    ankle_position,
    knee_position,
    pitch_bounds,
    reachable_height,
    shoulder_position,
    sideways_shift,
    smooth,
    upright,
)
from ssr.motion.recording import Recording, aligned
from ssr.motion.targets import FPS, Targets
from ssr.terrain.tile import Box

ROLL_RANGE = (-0.22, 0.55)  #: rad, how far a standing foot may roll over heel and toe
ROLL_REST = 0.05  #: rad, less recorded pitch than this is a flat foot
SWING_PITCH = (-0.45, 0.90)  #: rad
CLEARANCE = 0.02  #: m, least height of a sole in mid-swing
TORSO_SHARE = 0.85  #: of a person's lean; the robot's waist neither pitches nor rolls
BODY_GAP = 0.09  #: m, hands stay this far outside the hips
FOOT_GAP = 0.02  #: m, soles stay this far on their own side of the body
INWARD = 0.17  #: of the leg, how far inside its hip a foot may stand
PIVOT = 0.30  #: rad, a standing foot turns only with what its person's foot turns beyond this
NEAR = 0.08  #: s before and after a stance in which the foot is still low
MARKER_BEND = 0.025  #: of the leg, the most that a fitted skeleton's bent knees lower the hips
TOUCH_SHARE = 0.4  #: of a swing, over which its foot keeps the tilt of leaving and takes that of landing
LYING = 0.35  #: rad, a foot tilted less than this lies on the ground


@dataclass(frozen=True, kw_only=True)
class SolePaths:
    """Both soles over time before the legs are known."""

    hold: np.ndarray  #: (T, 2, 3) sole centre of the foothold stood on (anything in the air)
    surface: np.ndarray  #: (T, 2) rad
    yaw: np.ndarray  #: (T, 2)
    pitch: np.ndarray  #: (T, 2) recorded foot pitch, toe down positive
    raw: np.ndarray  #: (T, 2, 3) scaled ankle centres
    stance: np.ndarray  #: (T, 2) bool


def scaled(recording: Recording, limbs: Limbs, ground: Ground = "auto") -> Targets:
    """The targets of a recording at 50 Hz for a robot with these limbs."""
    scale = limbs.leg / recording.leg
    stood = stances(recording)
    found = footing.find(stood, ground, recording.blocks)
    uphill = footing.uphill(stood, found)
    if uphill is not None:  # stairs and slopes then lie along x, as boxes do
        recording = aligned(recording, uphill)
        stood = stances(recording)
        found = footing.find(stood, ground, recording.blocks)
    hips = recording.pair("hip")
    base_quaternion, torso_quaternion = _body(recording)
    drift = _ground_drift(stood, found, len(hips))

    feet = _feet(recording, limbs, scale, stood, found, drift)
    centers = np.array([feet.hold[(s.start + s.end) // 2, s.side] for s in stood]).reshape(-1, 3)
    incline = None if found.incline is None else (found.incline[0] * scale, found.incline[1])
    yaws = np.array([feet.yaw[_around(s, len(hips)), s.side] for s in stood])
    boxes = footing.boxes(centers, yaws, limbs.sole_half, incline)
    if incline is not None:  # a sole across the bend at the foot of a ramp lies on its edges
        sunk = soles.clearance(boxes, centers, found.pitch, np.array([s.yaw for s in stood]), limbs)
        for s, depth in zip(stood, sunk, strict=True):
            feet.hold[s.start : s.end, s.side, 2] += max(-float(depth), 0.0)

    base = scale * hips.mean(1)
    base[:, 2] += limbs.ankle_height - scale * (found.ankle + drift)
    base -= rotation.rotate(base_quaternion, limbs.hip.mean(0))
    nominal = base[:, 2].copy()
    bounds: list[tuple[np.ndarray, np.ndarray]] | None = None
    for _ in range(3):  # base height, ankle angles and the roll of the feet depend on each other
        position, pitch = _place(feet, limbs, boxes, bounds)
        quaternion = upright(feet.yaw, pitch)
        cap = reachable_height(limbs, base[:, :2], base_quaternion, position, quaternion, feet.stance)
        cap = np.where(feet.stance.any(1), cap, np.inf)
        if bounds is None:
            nominal += _unbent(cap - nominal, limbs)
        excess = maximum_filter1d(np.maximum(nominal - cap, 0.0), size=7, mode="nearest")
        base[:, 2] = nominal - smooth(excess, 0.05)
        hip = base[:, None] + rotation.rotate(base_quaternion[:, None], limbs.hip[None])
        ankle = ankle_position(position, quaternion, limbs)
        left = rotation.rotate(base_quaternion, rotation.Y)
        shift = left * sideways_shift(limbs, hip, ankle, left, feet.stance)[:, None]
        base[:, :2] += shift[:, :2]
        knee = knee_position(hip + shift[:, None], ankle, quaternion, limbs)
        bounds = pitch_bounds(knee, position, quaternion, feet.yaw, limbs)

    elbow, hand = _arms(recording, limbs, base, base_quaternion, torso_quaternion)
    return Targets(
        base_position=base,
        base_quaternion=base_quaternion,
        torso_quaternion=torso_quaternion,
        sole_position=position,
        sole_quaternion=quaternion,
        knee_position=knee,
        elbow_position=elbow,
        hand_position=hand,
        stance=feet.stance,
        boxes=boxes,
    )


def _body(recording: Recording) -> tuple[np.ndarray, np.ndarray]:
    """Orientation of base and torso: one lean for both, headings from hips and shoulders."""
    hips, shoulders = recording.pair("hip"), recording.pair("shoulder")
    up = _back(recording)
    up = rotation.normalize(TORSO_SHARE * up + (1.0 - TORSO_SHARE) * rotation.Z)
    out = []
    for pair in (hips, shoulders):
        left = smooth(rotation.normalize(pair[:, 1] - pair[:, 0]), 0.03)
        left = rotation.normalize(left - (left * up).sum(-1, keepdims=True) * up)
        matrix = np.stack((np.cross(left, up), left, up), axis=-1)
        out.append(rotation.continuous(rotation.from_matrix(matrix)))
    return out[0], out[1]


def _unbent(room: np.ndarray, limbs: Limbs) -> float:
    """Metres by which the hips may be higher than recorded; room: (T,) by which legs could, inf in flight.

    Skeletons fitted to markers keep a bend in knees that people straighten, and a stiff sole lifts the heel
    less. So the hips rise until the standing legs are straight half of the time; no crouch is undone.
    """
    standing = room[np.isfinite(room)]
    return float(np.clip(np.median(standing), 0.0, MARKER_BEND * limbs.leg)) if len(standing) else 0.0


def _ground_drift(stood: list[Stance], found: footing.Footing, frames: int) -> np.ndarray:
    """(T,) how much too high the recording lies over its ground: recorded floors tilt and sink a little."""
    if not stood:
        return np.zeros(frames)
    error = np.array([s.ankle[2] for s in stood]) - found.height - found.ankle
    middle = np.array([0.5 * (s.start + s.end) for s in stood])
    weight = np.exp(-0.5 * ((np.arange(frames)[:, None] - middle) / (0.35 * FPS)) ** 2) + 1e-9
    return (weight * error).sum(1) / weight.sum(1)


def _feet(
    recording: Recording,
    limbs: Limbs,
    scale: float,
    stood: list[Stance],
    found: footing.Footing,
    drift: np.ndarray,
) -> SolePaths:
    ankle, toe = recording.pair("ankle"), recording.pair("toe")
    frames = len(ankle)
    across = recording.pair("hip")[:, 1] - recording.pair("hip")[:, 0]
    left = rotation.normalize(smooth(across * np.array([1.0, 1.0, 0.0]), 0.15))
    # The robot's hips are wider (or narrower) than the person's scaled ones; so is its track.
    widen = limbs.hip_half_width - 0.5 * scale * float(np.median(np.linalg.norm(across, axis=-1)))
    outward = np.stack((-left, left), axis=1)
    middle = scale * recording.pair("hip").mean(1)
    inmost = max(limbs.hip_half_width - INWARD * limbs.leg, limbs.sole_half[1] + FOOT_GAP)
    inside = lambda place, rows, side: (
        inmost - ((place[..., :2] - middle[rows, :2]) * outward[rows, side, :2]).sum(-1)
    )
    raw = scale * ankle + outward * widen
    for side in range(2):
        short = smooth(np.maximum(inside(raw[:, side], slice(None), side), 0.0), 0.03)
        raw[:, side] += outward[:, side] * short[:, None]
    raw[..., 2] += limbs.ankle_height - scale * (found.ankle + drift[:, None])

    foot = toe - ankle
    angle = -np.arcsin(np.clip(foot[..., 2] / np.maximum(np.linalg.norm(foot, axis=-1), 1e-6), -1.0, 1.0))
    stance = np.zeros((frames, 2), dtype=bool)
    hold, surface = np.zeros((frames, 2, 3)), np.zeros((frames, 2))
    yaw = foot_yaw(recording)
    heading = yaw.copy()
    rest = np.median(np.concatenate([angle[s.start : s.end, s.side] for s in stood])) if stood else 0.0
    for k, s in enumerate(stood):
        rows, side = slice(s.start, s.end), s.side
        # The stance's heading, in the unwrapped count of its own frames.
        mean = s.yaw + 2 * np.pi * np.round((np.median(yaw[rows, side]) - s.yaw) / (2 * np.pi))
        heading[rows, side] = mean + _pivot(yaw[rows, side] - mean, angle[rows, side] - rest)
        ahead = limbs.sole_ahead * np.array([np.cos(mean), np.sin(mean)])
        sideways = np.median(outward[rows, side], axis=0)[:2]
        place = scale * s.ankle[:2] + sideways * widen
        lacking = float(np.percentile(inside(place, rows, side), 80))
        hold[rows, side] = (*(place + sideways * max(lacking, 0.0) + ahead), scale * found.height[k])
        surface[rows, side], stance[rows, side] = found.pitch[k], True
    for side in range(2):
        for a, b in swings(stance[:, side]):
            bridge = _bridge(heading[:, side] - yaw[:, side], a, b)
            heading[a + 1 : b, side] = yaw[a + 1 : b, side] + bridge
    return SolePaths(hold=hold, surface=surface, yaw=heading, pitch=angle - rest, raw=raw, stance=stance)


def _around(s: Stance, frames: int) -> np.ndarray:
    """(5,) frames of a stance, of lifting off before and of landing after it."""
    near = round(NEAR * FPS)
    return np.clip([s.start - near, s.start, (s.start + s.end) // 2, s.end - 1, s.end + near], 0, frames - 1)


def _pivot(turn: np.ndarray, tilt: np.ndarray) -> np.ndarray:
    """(T,) how far a standing foot turns on the spot, of the person's `turn`; not while it is rolling."""
    lying = np.flatnonzero(np.abs(tilt) < LYING)
    if not len(lying):
        return np.zeros_like(turn)
    beyond = np.sign(turn) * np.maximum(np.abs(turn) - PIVOT, 0.0)
    return smooth(np.interp(np.arange(len(turn)), lying, beyond[lying]), 0.03)


def swings(stance: np.ndarray) -> list[tuple[int, int]]:
    """Last standing frame before and first standing frame after each swing; -1 and T where there is none."""
    edges = np.flatnonzero(np.diff(np.concatenate(([1], stance.astype(int), [1]))))
    return [(int(a) - 1, int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _bridge(correction: np.ndarray, a: int, b: int, share: float = 1.0) -> np.ndarray:
    """Corrections for frames a+1 … b-1, gliding from the one at a to the one at b.

    With a `share` below 1 each end's fades out over that share of the swing.
    """
    frames = len(correction)
    zero = np.zeros_like(correction[0])
    start = correction[a] if a >= 0 else correction[b] if b < frames else zero
    end = correction[b] if b < frames else start
    passed = (np.arange(1, b - a) / (b - a)).reshape(-1, *([1] * (correction.ndim - 1)))
    return start * (1.0 - soles.ease(passed / share)) + end * (1.0 - soles.ease((1.0 - passed) / share))


def _free_pitch(ankle: np.ndarray, limbs: Limbs, boxes: tuple[Box, ...]) -> tuple[np.ndarray, np.ndarray]:
    """(T,) least and most pitch of a swinging foot whose ankle (T, 3) is where the person's was.

    A person's foot bends at its ball, so it can point down and still pass close to the ground. A stiff sole
    that did so would have to be raised, and its knee bent, by as much as its toe hangs lower.
    """
    room = ankle[:, 2] - terrain.height(boxes, ankle[:, :2]) - limbs.ankle_height - CLEARANCE
    tilt = lambda length: np.arcsin(np.clip(room / length, 0.0, 1.0))
    toe, heel = limbs.sole_half[0] + limbs.sole_ahead, limbs.sole_half[0] - limbs.sole_ahead
    return np.maximum(SWING_PITCH[0], -tilt(heel)), np.minimum(SWING_PITCH[1], tilt(toe))


def _place(
    feet: SolePaths, limbs: Limbs, boxes: tuple[Box, ...], bounds: list[tuple[np.ndarray, np.ndarray]] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Sole centres (T, 2, 3) and pitches (T, 2): rolling in stance, along the recorded path in the air."""
    position, pitch = np.empty_like(feet.raw), np.empty_like(feet.pitch)
    for side in range(2):
        stance = feet.stance[:, side]
        recorded = smooth(np.clip(feet.pitch[:, side], *_free_pitch(feet.raw[:, side], limbs, boxes)), 0.03)
        roll = _roll(feet.pitch[:, side] - feet.surface[:, side], stance)
        angle = np.where(stance, feet.surface[:, side] + roll, recorded)
        if bounds is not None:
            angle = np.clip(angle, *bounds[side])
        gaps = swings(stance)
        correction = angle - recorded
        for a, b in gaps:
            angle[a + 1 : b] = recorded[a + 1 : b] + _bridge(correction, a, b, TOUCH_SHARE)
            if bounds is not None:
                low, high = bounds[side]
                angle[a + 1 : b] = np.clip(angle[a + 1 : b], low[a + 1 : b], high[a + 1 : b])
        track = soles.Track(
            flat=feet.hold[:, side],
            yaw=feet.yaw[:, side],
            surface=feet.surface[:, side],
            roll=angle - feet.surface[:, side],
            stance=stance,
            swings=(),
        )
        standing, _ = soles.rolled(track, limbs)
        q = upright(feet.yaw[:, side], angle)
        free = feet.raw[:, side] + rotation.rotate(q, np.array([limbs.sole_ahead, 0.0, -limbs.ankle_height]))
        out = np.where(stance[:, None], standing, free)
        correction = out - free
        for a, b in gaps:
            out[a + 1 : b] = free[a + 1 : b] + _bridge(correction, a, b)
            soles.lift_clear(out, angle, feet.yaw[:, side], a, b, boxes, CLEARANCE, limbs)
        position[:, side], pitch[:, side] = out, angle
    return position, pitch


def _roll(tilt: np.ndarray, stance: np.ndarray) -> np.ndarray:
    """(T,) how far a standing sole rolls over toe or heel, of the person's `tilt` against the ground.

    Smoothed within each stance, so that a foot lifts off at the rate it was rolling with.
    """
    roll = np.clip(np.sign(tilt) * np.maximum(np.abs(tilt) - ROLL_REST, 0.0), *ROLL_RANGE)
    edge = round(0.08 * FPS)
    for a, b in runs(stance):
        if b - a > edge:
            extended = np.pad(roll[a:b], edge, mode="reflect", reflect_type="odd")
            roll[a:b] = np.clip(smooth(extended, 0.02)[edge:-edge], *ROLL_RANGE)
    return np.where(stance, roll, 0.0)


def _arms(
    recording: Recording, limbs: Limbs, base: np.ndarray, base_q: np.ndarray, torso_q: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Elbows and hands: the person's arm directions against the torso on the robot's own arm lengths."""
    shoulder, elbow, hand = (recording.pair(n) for n in ("shoulder", "elbow", "hand"))
    person = _torso_frame(recording)
    elbows, hands = [], []
    for side, sign in ((0, -1.0), (1, 1.0)):
        upper = rotation.unrotate(person, rotation.normalize(elbow[:, side] - shoulder[:, side]))
        lower = rotation.unrotate(person, rotation.normalize(hand[:, side] - elbow[:, side]))
        # Robot bodies are wide: elbows stay a little outside the shoulder, hands outside the hips.
        upper = rotation.normalize(_outside(upper, sign, 0.21))
        outer = limbs.hip_half_width + BODY_GAP - limbs.shoulder[side, 1] * sign
        reach = outer - limbs.upper_arm * upper[:, 1] * sign
        below = np.clip(
            -(limbs.upper_arm * upper + limbs.forearm * lower)[:, 2] / limbs.upper_arm - 0.6, 0, 1
        )
        least = np.clip(reach / limbs.forearm, -0.9, 0.5) * below - 0.9 * (1.0 - below)
        lower = rotation.normalize(_outside(lower, sign, least))
        start = shoulder_position(limbs, base, base_q, torso_q, side)
        middle = start + rotation.rotate(torso_q, limbs.upper_arm * smooth(upper, 0.02))
        elbows.append(middle)
        hands.append(middle + rotation.rotate(torso_q, limbs.forearm * smooth(lower, 0.02)))
    return np.stack(elbows, 1), np.stack(hands, 1)


def _outside(direction: np.ndarray, sign: float, least: np.ndarray | float) -> np.ndarray:
    """The direction with its outward part (towards +y for sign 1) at least `least`."""
    out = direction.copy()
    out[:, 1] = sign * np.maximum(sign * direction[:, 1], least)
    return out


def _torso_frame(recording: Recording) -> np.ndarray:
    """(T, 4) the person's own torso: up along the back, left across the shoulders."""
    shoulders, up = recording.pair("shoulder"), _back(recording)
    left = smooth(rotation.normalize(shoulders[:, 1] - shoulders[:, 0]), 0.03)
    left = rotation.normalize(left - (left * up).sum(-1, keepdims=True) * up)
    return rotation.from_matrix(np.stack((np.cross(left, up), left, up), axis=-1))


def _back(recording: Recording) -> np.ndarray:
    """(T, 3) unit vector along the back, pelvis to neck."""
    return rotation.normalize(smooth(recording.point("neck") - recording.point("pelvis"), 0.05))
