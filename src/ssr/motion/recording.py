"""A recording: key points of a person over time, in metres, z up, whatever file they came from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter1d

from ssr import rotation
from ssr.errors import UserError
from ssr.motion.targets import FLIP, FPS

KEY_POINTS = (
    "pelvis", "neck",
    "right_hip", "left_hip", "right_knee", "left_knee", "right_ankle", "left_ankle", "right_toe", "left_toe",
    "right_shoulder", "left_shoulder", "right_elbow", "left_elbow", "right_hand", "left_hand",
)  # fmt: skip
LEG_RANGE = (0.4, 1.3)  #: m, what a person's hip-to-ankle length can be
MAX_SECONDS = 3600.0
MAX_SPEED = 25.0  #: m/s


@dataclass(frozen=True, kw_only=True)
class Block:
    """A solid under the motion: its outline seen from above (n, 2), convex, and the height of its top, m."""

    outline: np.ndarray
    top: float


@dataclass(frozen=True, kw_only=True)
class Recording:
    """`points` (T, 16, 3) in the order of KEY_POINTS, world frame, metres, z up."""

    name: str
    fps: float
    points: np.ndarray
    blocks: tuple[Block, ...] = ()  #: terrain, if it was recorded

    def __post_init__(self) -> None:
        if self.points.ndim != 3 or self.points.shape[1:] != (len(KEY_POINTS), 3):
            raise ValueError(f"points must be (T, {len(KEY_POINTS)}, 3), got {self.points.shape}")

    def point(self, name: str) -> np.ndarray:
        """(T, 3) of one key point."""
        return self.points[:, KEY_POINTS.index(name)]

    def pair(self, name: str) -> np.ndarray:
        """(T, 2, 3) of a key point on both sides, right before left."""
        return np.stack((self.point(f"right_{name}"), self.point(f"left_{name}")), axis=1)

    @property
    def seconds(self) -> float:
        return len(self.points) / self.fps

    def length(self, start: str, end: str) -> float:
        """Median distance (m) between two key points, mean of both sides."""
        return float(np.median(np.linalg.norm(self.pair(start) - self.pair(end), axis=-1), axis=0).mean())

    @property
    def leg(self) -> float:
        return self.length("hip", "knee") + self.length("knee", "ankle")

    def mirrored(self) -> Recording:
        """The recording in the sagittal mirror."""
        swap = [KEY_POINTS.index(_other_side(name)) for name in KEY_POINTS]
        blocks = tuple(replace(b, outline=b.outline[::-1] * FLIP[:2]) for b in self.blocks)
        return replace(self, points=self.points[:, swap] * FLIP, blocks=blocks)


def _other_side(name: str) -> str:
    side, _, part = name.partition("_")
    return {"right": f"left_{part}", "left": f"right_{part}"}.get(side, name)


def checked(recording: Recording, source: Path) -> Recording:
    """The recording, or one line that says why it cannot be a person walking."""
    if not np.isfinite(recording.points).all():
        frame = int(np.flatnonzero(~np.isfinite(recording.points).all((1, 2)))[0])
        raise UserError(f"{source}: frame {frame} is not finite. Cut the frame out or record again.")
    if not 10.0 <= recording.fps <= 1000.0:
        raise UserError(f"{source}: {recording.fps:g} frames per second; expected 10 to 1000.")
    if recording.seconds < 0.5 or recording.seconds > MAX_SECONDS:
        raise UserError(
            f"{source}: {recording.seconds:.2f} s of motion; expected 0.5 s to {MAX_SECONDS:.0f} s."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        leg = recording.leg
    if not LEG_RANGE[0] <= leg <= LEG_RANGE[1]:
        raise UserError(
            f"{source}: the leg is {leg:.3g} m long; expected {LEG_RANGE[0]} to {LEG_RANGE[1]} m. "
            "Give the unit with --unit METRES and the up-axis with --up."
        )
    speed = np.linalg.norm(np.diff(recording.point("pelvis"), axis=0), axis=-1) * recording.fps
    if speed.max() > MAX_SPEED:
        raise UserError(
            f"{source}: the pelvis moves at {speed.max():.3g} m/s at frame {int(speed.argmax())}; "
            f"expected at most {MAX_SPEED:.0f} m/s. The recording jumps there or its frame rate is wrong."
        )
    return recording


def without_opening_jump(recording: Recording) -> Recording:
    """Without leading frames in which some key point still jumps: files often open with parts of a T-pose."""
    opening = recording.points[: max(round(0.1 * recording.fps), 2)]
    speed = np.linalg.norm(np.diff(opening, axis=0), axis=-1).max(1) * recording.fps
    jumps = np.flatnonzero(speed > MAX_SPEED)
    return replace(recording, points=recording.points[jumps[-1] + 1 :]) if len(jumps) else recording


def at_tempo(recording: Recording, leg: float) -> Recording:
    """The recording in the time of a body whose legs are `leg` metres long.

    Bodies of one shape move alike when their Froude numbers v²/(g·leg) are equal. Lengths shrunk by s then
    ask for speeds, and times, shrunk by √s: steps quicken as a shorter pendulum does, and a leap falls at g.
    """
    return replace(recording, fps=recording.fps * float(np.sqrt(recording.leg / leg)))


def at_control_rate(recording: Recording) -> Recording:
    """Resampled to 50 Hz after smoothing (σ 20 ms), walking off along +x from the origin."""
    smooth = gaussian_filter1d(recording.points, 0.02 * recording.fps, axis=0, mode="nearest")
    times = np.arange(int(recording.seconds * FPS)) / FPS * recording.fps
    low = np.minimum(times.astype(int), len(smooth) - 2)
    share = (times - low)[:, None, None]
    points = smooth[low] * (1.0 - share) + smooth[low + 1] * share
    resampled = replace(recording, fps=FPS, points=points)
    return aligned(resampled, facing(resampled))


def facing(recording: Recording) -> np.ndarray:
    """(2,) where the person looks over the first half second."""
    across = (recording.pair("hip")[:, 1] - recording.pair("hip")[:, 0])[: int(0.5 * FPS)].mean(0)
    return np.array([across[1], -across[0]])


def aligned(recording: Recording, direction: np.ndarray) -> Recording:
    """Turned about z so that `direction` (2,) lies along +x, the first pelvis above the origin."""
    turn = rotation.about(rotation.Z, -np.arctan2(direction[1], direction[0]))
    origin = np.array([*recording.pair("hip").mean(1)[0, :2], 0.0])
    corner = lambda o: rotation.rotate(turn, np.pad(o, ((0, 0), (0, 1))) - origin)[:, :2]
    return replace(
        recording,
        points=rotation.rotate(turn, recording.points - origin),
        blocks=tuple(replace(b, outline=corner(b.outline)) for b in recording.blocks),
    )
