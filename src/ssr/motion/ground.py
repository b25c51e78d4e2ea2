"""The ground under a motion: boxes on the plane z = 0, and how high it is anywhere."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ssr.terrain.tile import Box

#: How the ground under a recording is found: flat, blocks of some heights, one incline, or whichever fits.
Ground = Literal["auto", "flat", "levels", "slope"]


def height(boxes: tuple[Box, ...], points: np.ndarray, shrink: float = 0.0) -> np.ndarray:
    """Ground height under `points` (..., 2): the highest box top, or 0. Boxes are `shrink` m narrower."""
    x, y = points[..., 0], points[..., 1]
    out = np.zeros(x.shape)
    for box in boxes:
        top = top_height(box, x)
        inside = (
            np.minimum(box.half[0] - np.abs(along(box, x)), box.half[1] - np.abs(y - box.center[1])) >= shrink
        )
        out = np.where(inside & (top > out), top, out)
    return out


def depth(boxes: tuple[Box, ...], points: np.ndarray) -> np.ndarray:
    """How deep `points` (..., 3) lie in the ground, m: the shortest way out, up or through a box's side."""
    x, y, z = np.moveaxis(points, -1, 0)
    out = np.maximum(-z, 0.0)
    for box in boxes:
        side = np.minimum(box.half[0] - np.abs(along(box, x)), box.half[1] - np.abs(y - box.center[1]))
        out = np.maximum(out, np.minimum(side, top_height(box, x) - z))
    return out


def along(box: Box, x: np.ndarray) -> np.ndarray:
    """Position on the box's top face, along its own x axis, of the top point above world x."""
    return (x - box.center[0] - box.half[2] * np.sin(box.pitch)) / np.cos(box.pitch)


def top_height(box: Box, x: np.ndarray) -> np.ndarray:
    """World z of the plane of the box's top face at world x."""
    return box.center[2] + box.half[2] * np.cos(box.pitch) - along(box, x) * np.sin(box.pitch)


def surface(boxes: tuple[Box, ...], x: float, y: float) -> tuple[float, float]:
    """Height and pitch of the ground at a point."""
    z = float(height(boxes, np.array([x, y])))
    for box in boxes:
        on = abs(y - box.center[1]) <= box.half[1] and abs(float(along(box, np.array(x)))) <= box.half[0]
        if on and abs(float(top_height(box, np.array(x))) - z) < 1e-9:
            return z, box.pitch
    return z, 0.0


def edges(boxes: tuple[Box, ...]) -> list[float]:
    """World x where a box's top begins or ends, where the ground there has a step or a bend."""
    out = set()
    for box in boxes:
        for end in (-1.0, 1.0):
            x = box.center[0] + box.half[2] * np.sin(box.pitch) + end * box.half[0] * np.cos(box.pitch)
            left, right = (surface(boxes, x + d, box.center[1]) for d in (-1e-3, 1e-3))
            if abs(left[0] - right[0]) > 5e-3 or abs(left[1] - right[1]) > 1e-3:
                out.add(round(float(x), 6))
    return sorted(out)
