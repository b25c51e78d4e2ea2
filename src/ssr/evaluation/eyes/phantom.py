"""Phantoms: the strip that the camera is shown instead of the one underfoot, its obstacles moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ssr.evaluation.courses import Course
from ssr.terrain.tile import Box, Tile

TREAD = 0.32  #: m, of which a shift is a share where the ground has no treads
CLOSE = 1e-6  #: m, edges nearer to each other than this are one
STAIRS = ("stairs_up", "stairs_down")
DECEIVED = (*STAIRS, "gap", "platform")  #: kinds whose edges lie straight across the way


def tread_of(course: Course) -> float:
    """m, what shifts on this course are shares of."""
    return course.setting[1] if course.kind in STAIRS else TREAD


def shares_of(course: Course) -> tuple[float, ...]:
    """Shifts to show, as shares of a tread. Stairs repeat every tread: a quarter back is three on."""
    if course.kind not in DECEIVED:
        return (0.0,)
    return (0.0, 0.25, 0.5, 0.75) if course.kind in STAIRS else (-0.5, -0.25, 0.0, 0.25, 0.5)


def phantom(strip: Tile, course: Course, share: float) -> Tile:
    """The strip with all obstacles further on by a share of a tread.

    Stairs move along the line of their own nosings, so that they neither rise nor sink where the robot is.
    """
    tread = tread_of(course)
    if course.kind not in STAIRS:
        return _moved(strip, share * tread, 0.0)
    # One tread less is the same stairs, with a first riser lower than the others instead of higher.
    shift = (share - 1.0) * tread if share > 0 else share * tread
    grade = course.setting[0] / tread * (1 if course.kind == "stairs_up" else -1)
    return _moved(strip, shift, shift * grade)


def _moved(strip: Tile, shift: float, rise: float) -> Tile:
    """Everything from the first edge on moved by `shift` and lifted by `rise` (m); the ground before reaches
    as far as the first obstacle."""
    boxes = []
    for box in strip.boxes:
        near, far = box.center[0] - box.half[0], box.center[0] + box.half[0]
        if near > strip.first_edge - CLOSE:
            x, y, z = box.center
            box = replace(box, center=(x + shift, y, z + rise))
        elif abs(far - strip.first_edge) < CLOSE:
            box = _reaching(box, near, far + shift)
        boxes.append(box)
    first, last = strip.first_edge + shift, strip.last_edge + shift
    return replace(strip, boxes=tuple(boxes), first_edge=first, last_edge=last)


def _reaching(box: Box, near: float, far: float) -> Box:
    (_, y, z), (_, half_y, half_z) = box.center, box.half
    return Box(((near + far) / 2, y, z), ((far - near) / 2, half_y, half_z))


def edges_of(strip: Tile) -> np.ndarray:
    """(k, 2): where along x (m) the ground steps up or down by how much (m), from near to far.

    For strips of blocks that reach across their whole width; of others it says nothing.
    """
    if strip.kind not in DECEIVED:
        return np.zeros((0, 2))
    blocks = sorted((b.center[0] - b.half[0], b.center[2] + b.half[2]) for b in strip.boxes)
    near, top = np.array(blocks).T
    found = np.stack([near[1:], np.diff(top)], axis=1)
    return found[np.abs(found[:, 1]) > CLOSE]
