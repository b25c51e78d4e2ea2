"""The ground under a motion: boxes on the plane z = 0, and how high it is anywhere."""

from __future__ import annotations

import numpy as np

from ssr.terrain.tile import Box


def height(boxes: tuple[Box, ...], points: np.ndarray, floor: float = 0.0) -> np.ndarray:
    """Ground height under `points` (..., 2): the highest box top there, or `floor`."""
    x, y = points[..., 0], points[..., 1]
    out = np.full(x.shape, floor)
    for box in boxes:
        top = top_height(box, x)
        inside = (np.abs(y - box.center[1]) <= box.half[1]) & (np.abs(along(box, x)) <= box.half[0])
        out = np.where(inside & (top > out), top, out)
    return out


def along(box: Box, x: np.ndarray) -> np.ndarray:
    """Position on the box's top face, along its own x axis, of the top point above world x."""
    return (x - box.center[0] - box.half[2] * np.sin(box.pitch)) / np.cos(box.pitch)


def top_height(box: Box, x: np.ndarray) -> np.ndarray:
    """World z of the plane of the box's top face at world x."""
    return box.center[2] + box.half[2] * np.cos(box.pitch) - along(box, x) * np.sin(box.pitch)
