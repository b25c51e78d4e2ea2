"""Geometry of the body that planned and recorded motion share: joints from poses, heights the legs allow."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from ssr import rotation
from ssr.motion.limbs import Limbs
from ssr.motion.targets import FPS

REACH = 0.995  #: of the straight leg, never exceeded by a standing leg: a knee bent by 11°
ADDUCTION_SHARE = 0.6  #: of a hip's inward range that aiming uses
GRAVITY = 9.81


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


def shoulder_position(
    limbs: Limbs, base: np.ndarray, base_q: np.ndarray, torso_q: np.ndarray, side: int
) -> np.ndarray:
    """Shoulder centre (T, 3): the base carries the waist, the torso the shoulder."""
    waist = base + rotation.rotate(base_q, limbs.waist)
    return waist + rotation.rotate(torso_q, limbs.shoulder[side] - limbs.waist)


def upright(yaw: np.ndarray, pitch: np.ndarray) -> np.ndarray:
    return rotation.multiply(rotation.about(rotation.Z, yaw), rotation.about(rotation.Y, pitch))


def reachable_height(
    limbs: Limbs,
    base_xy: np.ndarray,
    base_quaternion: np.ndarray,
    position: np.ndarray,
    quaternion: np.ndarray,
    stance: np.ndarray,
) -> np.ndarray:
    """(T,) the highest the base may be for both legs to reach their soles."""
    ankle = ankle_position(position, quaternion, limbs)
    hip = rotation.rotate(base_quaternion[:, None], limbs.hip[None])
    across = np.linalg.norm(ankle[..., :2] - base_xy[:, None] - hip[..., :2], axis=-1)
    length = REACH * limbs.leg
    # A swinging foot may lag behind its curve, so it pulls the base down only a little.
    least = np.where(stance, 0.5, 0.93) * length
    rise = np.sqrt(np.maximum(length**2 - across**2, least**2))
    return (ankle[..., 2] + rise - hip[..., 2]).min(1)


def sideways_shift(
    limbs: Limbs, hip: np.ndarray, ankle: np.ndarray, left: np.ndarray, stance: np.ndarray
) -> np.ndarray:
    """(T,) metres to the left the base must move so that standing legs lean in no more than hips allow.

    hip, ankle: (T, 2, 3); left: (T, 3) unit vector. A bent leg is short, so little offset is much lean.
    """
    offset = ((ankle - hip) * left[:, None]).sum(-1) * np.array([1.0, -1.0])  # inward, right and left leg
    most = np.tan(ADDUCTION_SHARE * limbs.adduction) * np.maximum(hip[..., 2] - ankle[..., 2], 0.05)
    excess = np.where(stance, np.maximum(offset - most, 0.0), 0.0)
    return smooth(maximum_filter1d(excess[:, 0], 9) - maximum_filter1d(excess[:, 1], 9), 0.06)


def flight_height(stance: np.ndarray) -> np.ndarray:
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


def pitch_bounds(
    knee: np.ndarray, position: np.ndarray, quaternion: np.ndarray, yaw: np.ndarray, limbs: Limbs
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Per side the least and most foot pitch (T,) that the ankle allows, given where the shank points."""
    shank = knee - ankle_position(position, quaternion, limbs)
    local = rotation.unrotate(rotation.about(rotation.Z, yaw), shank)
    lean = smooth(np.arctan2(local[..., 0], local[..., 2]), 0.03)
    low, high = (lean + limit for limit in (limbs.ankle_range[0] + 0.06, limbs.ankle_range[1] - 0.06))
    return [(low[:, side], high[:, side]) for side in range(2)]
