"""Unit quaternions (w, x, y, z) and what the mirror plane y = 0 does to them."""

from __future__ import annotations

import numpy as np

Array = np.ndarray

MIRROR = np.array([1.0, -1.0, 1.0])  #: positions, velocities, gravity
MIRROR_QUATERNION = np.array([1.0, -1.0, 1.0, -1.0])  #: S R S, the frame of the mirror image


def from_rpy(rpy: Array) -> Array:
    """Fixed-axis roll, pitch, yaw (URDF)."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(np.asarray(rpy) / 2), np.sin(np.asarray(rpy) / 2)
    return np.array(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ]
    )


def z_towards(direction: Array) -> Array:
    """The shortest rotation that turns +z into `direction` (capsules and cylinders lie along their z)."""
    x, y, z = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    if z < -1 + 1e-12:
        return np.array([0.0, 1.0, 0.0, 0.0])
    quaternion = np.array([1.0 + z, -y, x, 0.0])
    return quaternion / np.linalg.norm(quaternion)


def compose(a: Array, b: Array) -> Array:
    """b first, then a."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return np.array(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ]
    )


def matrix(quaternion: Array) -> Array:
    """(3, 3) rotation matrix."""
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def axial_mirror(vector: Array) -> Array:
    """What the mirror makes of an axis of rotation."""
    return -MIRROR * np.asarray(vector)
