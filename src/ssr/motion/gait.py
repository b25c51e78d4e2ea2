"""How a clip walks: speed, cadence, step length, knees and hips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssr import rotation
from ssr.motion.clip import Clip
from ssr.motion.frames import support_height
from ssr.motion.limbs import Limbs
from ssr.motion.posture import smooth
from ssr.motion.targets import FPS

MOVING = 0.6  #: of a clip's steady speed, from which on it walks
APART = 0.03  #: m by which a foot must have passed the other for a step
WALKS = ("forward", "backward", "slope", "stairs", "step")  #: columns in which feet pass each other ahead


@dataclass(frozen=True, kw_only=True)
class ClipGait:
    """Means over the stretch of a clip in which it walks, from one step to another."""

    speed: float  #: m/s over the ground, along the path
    cadence: float  #: steps per second
    step_length: float  #: m
    knee: float  #: degrees from straight, both legs, stance and swing
    hip_height: float  #: share of its height over a straight leg


def gait(clip: Clip, limbs: Limbs, knees: list[int]) -> ClipGait | None:
    """The gait of `clip`, `knees` being the joint indices of both; None with fewer than three steps."""
    velocity = np.gradient(smooth(clip.base_position[:, :2], 0.15), 1.0 / FPS, axis=0)
    speed = np.linalg.norm(velocity, axis=-1)
    walking = speed > MOVING * np.percentile(speed, 75)
    ahead = clip.foot_position[:, 0, 0] - clip.foot_position[:, 1, 0]
    apart = np.flatnonzero((np.abs(ahead) > APART) & walking)
    passings = apart[1:][np.diff(np.sign(ahead[apart])) != 0]
    if len(passings) < 3:
        return None
    first, last, steps = passings[0], passings[-1], len(passings) - 1
    rows = slice(first, last)
    walked = float(np.linalg.norm(np.diff(clip.base_position[first : last + 1, :2], axis=0), axis=-1).sum())
    seconds = (last - first) / FPS
    hips = support_height(clip) + rotation.rotate(clip.base_quaternion, limbs.hip.mean(0))[:, 2]
    return ClipGait(
        speed=walked / seconds,
        cadence=steps / seconds,
        step_length=walked / steps,
        knee=float(np.degrees(np.abs(clip.joint_position[rows][:, knees]).mean())),
        hip_height=float(hips[rows].mean() / limbs.hip_height),
    )
