"""Rotations in NumPy, of one body or of whole motions at once; `tensors` and `kernels` have those few that
PyTorch and compiled kernels need. Quaternions are w, x, y, z, of unit length, and rotate from body to world.
"""

from __future__ import annotations

import numpy as np

X, Y, Z = np.eye(3)
MIRROR = np.array([1.0, -1.0, 1.0])  #: what the mirror plane y = 0 does to positions, velocities, gravity
MIRROR_QUATERNION = np.array([1.0, -1.0, 1.0, -1.0])  #: S R S, the frame of the mirror image


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Quaternion product a ∘ b, b first, shapes (..., 4)."""
    aw, ax, ay, az = np.moveaxis(np.asarray(a), -1, 0)
    bw, bx, by, bz = np.moveaxis(np.asarray(b), -1, 0)
    return np.stack(
        (
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ),
        axis=-1,
    )


def conjugate(q: np.ndarray) -> np.ndarray:
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """v (..., 3) from body to world axes."""
    w, u = q[..., :1], q[..., 1:]
    t = 2.0 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


def unrotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """v (..., 3) from world to body axes."""
    return rotate(conjugate(q), v)


def about(axis: np.ndarray, angle: np.ndarray | float) -> np.ndarray:
    """Rotation by `angle` (...) rad about the unit `axis` (3,)."""
    half = 0.5 * np.asarray(angle, dtype=float)[..., None]
    return np.concatenate((np.cos(half), np.sin(half) * axis), axis=-1)


def from_rpy(rpy: np.ndarray) -> np.ndarray:
    """Fixed-axis roll, pitch, yaw (3,), as URDF has them."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(np.asarray(rpy) / 2), np.sin(np.asarray(rpy) / 2)
    return np.array(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ]
    )


def z_towards(direction: np.ndarray) -> np.ndarray:
    """The shortest rotation that turns +z into `direction` (3,): capsules and cylinders lie along their z."""
    x, y, z = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    if z < -1 + 1e-12:
        return np.array([0.0, 1.0, 0.0, 0.0])
    quaternion = np.array([1.0 + z, -y, x, 0.0])
    return quaternion / np.linalg.norm(quaternion)


def from_vector(v: np.ndarray) -> np.ndarray:
    """Rotation vector (..., 3) rad to quaternion."""
    angle = np.linalg.norm(v, axis=-1, keepdims=True)
    factor = np.where(angle > 1e-9, np.sin(0.5 * angle) / np.maximum(angle, 1e-9), 0.5)
    return np.concatenate((np.cos(0.5 * angle), factor * v), axis=-1)


def to_vector(q: np.ndarray) -> np.ndarray:
    """Quaternion to rotation vector (..., 3) of at most π."""
    q = np.where(q[..., :1] < 0.0, -q, q)
    norm = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(norm, q[..., :1])
    return np.where(norm > 1e-9, angle / np.maximum(norm, 1e-9), 2.0) * q[..., 1:]


def from_matrix(m: np.ndarray) -> np.ndarray:
    """Rotation matrices (..., 3, 3), columns are the body axes, to quaternions."""
    d = np.einsum("...ii->...i", m)
    trace = d.sum(-1)
    # The four numerators; the largest one is the numerically safe pivot.
    squares = np.stack((1 + trace, *(1 + 2 * d[..., i] - trace for i in range(3))), axis=-1)
    o = lambda i, j, s: m[..., i, j] + s * m[..., j, i]
    rows = np.stack(
        (
            np.stack((squares[..., 0], o(2, 1, -1), o(0, 2, -1), o(1, 0, -1)), -1),
            np.stack((o(2, 1, -1), squares[..., 1], o(0, 1, 1), o(0, 2, 1)), -1),
            np.stack((o(0, 2, -1), o(0, 1, 1), squares[..., 2], o(1, 2, 1)), -1),
            np.stack((o(1, 0, -1), o(0, 2, 1), o(1, 2, 1), squares[..., 3]), -1),
        ),
        axis=-2,
    )
    pivot = squares.argmax(-1)[..., None, None]
    return normalize(np.take_along_axis(rows, pivot, axis=-2)[..., 0, :])


def matrix(q: np.ndarray) -> np.ndarray:
    """(..., 3, 3) rotation matrices; columns are the body axes."""
    w, x, y, z = np.moveaxis(np.asarray(q), -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def normalize(v: np.ndarray) -> np.ndarray:
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12)


def continuous(q: np.ndarray) -> np.ndarray:
    """The same rotations (T, 4), with signs chosen so that neighbours in time lie close."""
    flips = np.where((q[1:] * q[:-1]).sum(-1) < 0.0, -1.0, 1.0)
    return q * np.concatenate(([1.0], np.cumprod(flips)))[:, None]


def yaw(q: np.ndarray) -> np.ndarray:
    """Heading of the body x axis, rad."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    return np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def gravity(q: np.ndarray) -> np.ndarray:
    """Unit gravity (..., 3) in body axes; q need not be of unit length."""
    w, x, y, z = np.moveaxis(np.asarray(q), -1, 0)
    length = w * w + x * x + y * y + z * z
    down = (2 * (w * y - x * z), -2 * (w * x + y * z), 2 * (x * x + y * y) - length)
    return np.stack(down, axis=-1) / length[..., None]


def mirror(q: np.ndarray) -> np.ndarray:
    """The rotation seen in the sagittal mirror (world y negated)."""
    return q * MIRROR_QUATERNION


def axial_mirror(vector: np.ndarray) -> np.ndarray:
    """What the mirror makes of an axis of rotation."""
    return -MIRROR * np.asarray(vector)
