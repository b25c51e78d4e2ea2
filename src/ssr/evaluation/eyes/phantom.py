"""Phantoms: the strip that the camera is shown instead of the one underfoot, its obstacles moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ssr.evaluation.courses import Course
from ssr.terrain.kind import Phantom
from ssr.terrain.registry import kind_named
from ssr.terrain.tile import Box, Tile

CLOSE = 1e-6  #: m, edges nearer to each other than this are one


def phantom_of(course: Course) -> Phantom | None:
    """How it is shown further on; None: it cannot be."""
    make = course.terrain.phantom
    return None if make is None else make(course.setting)


def tread_of(course: Course) -> float:
    """m, what shifts on this course are shares of."""
    return (phantom_of(course) or Phantom()).tread


def repeats(course: Course) -> bool:
    """Edges come again after every tread, so that landings have a phase."""
    return (phantom_of(course) or Phantom()).repeats


def shares_of(course: Course) -> tuple[float, ...]:
    """Shifts to show, as shares of a tread. Where treads repeat, a quarter back is three on."""
    if phantom_of(course) is None:
        return (0.0,)
    return (0.0, 0.25, 0.5, 0.75) if repeats(course) else (-0.5, -0.25, 0.0, 0.25, 0.5)


def phantom(strip: Tile, course: Course, share: float) -> Tile:
    """The strip with all obstacles further on by a share of a tread.

    Stairs move along the line of their own nosings, so that they neither rise nor sink where the robot is.
    """
    how = phantom_of(course) or Phantom()
    if not how.repeats:
        return _moved(strip, share * how.tread, share * how.rise)
    # One tread less is the same stairs, with a first riser lower than the others instead of higher.
    shift = (share - 1.0) * how.tread if share > 0 else share * how.tread
    return _moved(strip, shift, shift * (how.rise / how.tread))


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
    if kind_named(strip.kind).phantom is None:
        return np.zeros((0, 2))
    blocks = sorted((b.center[0] - b.half[0], b.center[2] + b.half[2]) for b in strip.boxes)
    near, top = np.array(blocks).T
    found = np.stack([near[1:], np.diff(top)], axis=1)
    return found[np.abs(found[:, 1]) > CLOSE]
