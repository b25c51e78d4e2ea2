"""Unit quaternions (4,) inside rules and kernels; each function as its namesake in `ssr.rotation`."""

from __future__ import annotations

from math import atan2

import numpy as np

from ssr.kept import kept

inlined = kept(inline="always")


@inlined
def unrotate(q: np.ndarray, x: float, y: float, z: float) -> tuple[float, float, float]:
    """A vector in world axes to body axes."""
    w, a, b, c = q[0], -q[1], -q[2], -q[3]
    tx, ty, tz = 2.0 * (b * z - c * y), 2.0 * (c * x - a * z), 2.0 * (a * y - b * x)
    return (
        x + w * tx + b * tz - c * ty,
        y + w * ty + c * tx - a * tz,
        z + w * tz + a * ty - b * tx,
    )


@inlined
def yaw(q: np.ndarray) -> float:
    w, x, y, z = q[0], q[1], q[2], q[3]
    return atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


@inlined
def gravity(q: np.ndarray) -> tuple[float, float, float]:
    w, x, y, z = q[0], q[1], q[2], q[3]
    return 2.0 * (w * y - x * z), -2.0 * (w * x + y * z), 2.0 * (x * x + y * y) - 1.0
