"""The wide map of exact heights about the base that HPL's oracle walks by."""

from __future__ import annotations

from functools import cache

import numpy as np

from ssr.kept import kept
from ssr.terrain.heights import heights_under
from ssr.vision.heightmap import depth_below

SCAN = (19, 11)  #: rows forward, columns leftward, 0.1 m apart
SCAN_SIZE = SCAN[0] * SCAN[1]
X = (-0.5, 1.3)  #: m
Y = (-0.5, 0.5)  #: m
SCALE = 5.0  #: as that of the privileged state's height maps


@cache
def scan_offsets() -> np.ndarray:
    """(209, 2) m, sample points from the base, along it."""
    x, y = np.linspace(*X, SCAN[0]), np.linspace(*Y, SCAN[1])
    return np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2).astype(np.float32)


@kept(error_model="numpy")
def scans_of(facets, count, base, yaw, offsets, drop, out):
    """Scans of n worlds into out (n, 209): scaled depths below `drop` m under the base.

    base (n, 3), yaw (n,); facets, count: of a `TerrainField`.
    """
    points = np.empty((len(offsets), 2), dtype=np.float32)
    for i in range(len(out)):
        c, s = np.float32(np.cos(yaw[i])), np.float32(np.sin(yaw[i]))
        for j in range(len(offsets)):
            x, y = offsets[j, 0], offsets[j, 1]
            points[j, 0] = base[i, 0] + c * x - s * y
            points[j, 1] = base[i, 1] + s * x + c * y
        heights_under(facets[i], count[i], points, out[i])
        for j in range(len(offsets)):
            out[i, j] = SCALE * depth_below(base[i, 2] - drop, out[i, j])
