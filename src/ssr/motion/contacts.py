"""When a recorded foot stands, and where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_closing, binary_opening, gaussian_filter1d

from ssr.motion.recording import Recording
from ssr.motion.targets import FPS

STILL = 0.35  #: m/s, a point slower than this bears on the ground
FLAT = 0.23  #: m/s, with both heel and toe slower than this the foot lies flat
SHORTEST = 0.10  #: s, of a stance
MOST_TURN = 1.0  #: rad, of a foot against the hips
TURN_TIME = 0.06  #: s, over which a foot's turn against the hips is smoothed
LONGEST_GAP = 0.06  #: s, within one stance


@dataclass(frozen=True, kw_only=True)
class Stance:
    """One foot standing from frame `start` to before frame `end` (50 Hz), in the recording's frame."""

    side: int  #: 0 right, 1 left
    start: int
    end: int
    ankle: np.ndarray  #: (3,) where the ankle is while the foot lies flat
    yaw: float  #: rad, heading of the foot
    pitch: float  #: rad, how steeply the line from ankle to toe falls


def stances(recording: Recording) -> list[Stance]:
    """All stances of a recording at 50 Hz, in an order that the mirrored recording shares."""
    ankle, toe = recording.pair("ankle"), recording.pair("toe")
    speed_ankle, speed_toe = _speed(ankle), _speed(toe)
    yaws = foot_yaw(recording)
    falls = np.arcsin(np.clip((ankle - toe)[..., 2] / np.linalg.norm(ankle - toe, axis=-1), -1.0, 1.0))
    out: list[Stance] = []
    for side in range(2):
        still = np.minimum(speed_ankle[:, side], speed_toe[:, side]) < STILL
        still = binary_closing(np.pad(still, 8, mode="edge"), np.ones(round(LONGEST_GAP * FPS)))[8:-8]
        still = binary_opening(np.pad(still, 8, mode="edge"), np.ones(round(SHORTEST * FPS)))[8:-8]
        flat = np.maximum(speed_ankle[:, side], speed_toe[:, side]) < FLAT
        lift = np.median((ankle - toe)[flat, side, 2]) if flat.any() else 0.04
        for start, end in runs(still):
            if _hovers(ankle[:, side, 2], start, end):
                continue
            rows = np.arange(start, end)
            lying = rows[flat[start:end]]
            if len(lying) < 2:  # a foot that only touches with its toe: the ankle it would have when flat
                lying = rows[np.argsort(speed_toe[rows, side])[: max(len(rows) // 3, 1)]]
            place = np.median(ankle[lying, side], axis=0)
            place[2] = min(place[2], float(np.median(toe[lying, side, 2])) + lift + 0.03)
            out.append(
                Stance(
                    side=side,
                    start=start,
                    end=end,
                    ankle=place,
                    yaw=_mean_angle(yaws[lying, side]),
                    pitch=float(np.median(falls[lying, side])),
                )
            )
    return sorted(out, key=lambda s: (s.start, s.end, round(s.ankle[0], 6), round(s.ankle[2], 6)))


def foot_yaw(recording: Recording) -> np.ndarray:
    """(T, 2) heading of each foot, rad, unwrapped: that of the hips plus the foot's turn against them.

    A foot that hangs toe down has no heading of its own; the steeper it is, the more it takes the hips', and
    the less its frames count where the turn is smoothed.
    """
    hips = recording.pair("hip")
    across = gaussian_filter1d(hips[:, 1] - hips[:, 0], 0.05 * FPS, axis=0, mode="nearest")[:, :2]
    left = (across / np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-6))[:, None]
    ahead = np.stack((left[..., 1], -left[..., 0]), axis=-1)
    foot = recording.pair("toe") - recording.pair("ankle")
    level = foot[..., :2] / np.maximum(np.linalg.norm(foot, axis=-1, keepdims=True), 1e-6)
    turn = np.arctan2((level * left).sum(-1), np.maximum((level * ahead).sum(-1), 0.0) + 0.2)
    body = np.unwrap(np.arctan2(ahead[:, 0, 1], ahead[:, 0, 0]))
    share = (level**2).sum(-1)
    glide = lambda x: gaussian_filter1d(x, TURN_TIME * FPS, axis=0, mode="nearest")
    turn = glide(np.clip(turn, -MOST_TURN, MOST_TURN) * share**2) / np.maximum(glide(share**2), 1e-3)
    return body[:, None] + turn * share


def _hovers(height: np.ndarray, start: int, end: int) -> bool:
    """Whether a slow stretch is the top of a swing: the foot is lower shortly before and after."""
    near = round(SHORTEST * FPS)
    before, after = height[max(start - near, 0)], height[min(end + near - 1, len(height) - 1)]
    return bool(height[start:end].mean() > max(before, after) + 0.01)


def _speed(points: np.ndarray) -> np.ndarray:
    """(T, 2) m/s."""
    velocity = np.gradient(points, 1.0 / FPS, axis=0)
    return np.linalg.norm(gaussian_filter1d(velocity, 1.0, axis=0, mode="nearest"), axis=-1)


def runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """First frame of each run of True in (T,) `mask` and the frame after its last."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(int), [0]))))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _mean_angle(angles: np.ndarray) -> float:
    return float(np.arctan2(np.sin(angles).mean(), np.cos(angles).mean()))
