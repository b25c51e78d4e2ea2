"""The ground that every tile and strip shares, and what a kind builds it from.

A training tile is 8 m × 4 m with obstacles between 1.5 m and 5.5 m, then an 8 m × 8 m apron. Solid ground
reaches past every boundary, so that neither feet nor sight rays fall off the world. Metres, tile frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import atan2, ceil, cos, sin

import numpy as np

from ssr.terrain.tile import Box, LooseBox, Point

TILE_LENGTH = 8.0
HALF_WIDTH = 2.0
START = 0.75
START_SPREAD = 0.5  #: robots begin up to so much farther from the first edge: more than one tread of training
OBSTACLES_FROM = 1.5
OBSTACLES_TO = 5.5
ROOM = OBSTACLES_TO - OBSTACLES_FROM  #: what a tile has for its obstacles
APRON = 8.0  #: length of the square behind the tile, |y| ≤ APRON / 2
MARGIN = 1.5  #: solid ground beyond the apron and its sides
OVERLAP = 0.5  #: what is strewn, is strewn so far beyond a tile's sides
ENTRY = -3.0  #: where the ground begins, behind the robot
THICKNESS = 1.0  #: least depth of solid below any surface
LANDING = 0.8  #: least footing between two obstacles of a tile

PROMOTION_MARGIN = 0.5  #: how far past the last edge the base must be

Edges = Sequence[tuple[float, float]]  #: where obstacles begin and end along x, in order


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Where a kind builds: the measures of the tile or strip."""

    length: float  #: of the tile proper; the apron lies beyond it
    half_width: float = HALF_WIDTH  #: |y| beyond it is out of bounds

    @property
    def half_ground(self) -> float:
        """Solid ground reaches to |y| = this."""
        return max(APRON / 2, self.half_width) + MARGIN

    @property
    def spread(self) -> float:
        """Obstacles that do not reach across are strewn over |y| ≤ this."""
        return self.half_width + OVERLAP

    @property
    def end(self) -> float:
        """x where the solid ground ends."""
        return self.length + APRON + MARGIN


@dataclass(frozen=True, kw_only=True)
class Obstacles:
    """What a kind has built."""

    boxes: Sequence[Box]  #: all of the ground, the first one under the robot's start
    first_edge: float
    last_edge: float
    end_height: float = 0.0  #: z of the apron
    loose: Sequence[LooseBox] = ()
    sights: Sequence[Box] = ()
    way: Sequence[Point] = ()
    half_width: float = 0.0  #: what is out of bounds lies at least so far from y = 0


def edgeless(boxes: Sequence[Box], plot: Plot, end_height: float = 0.0) -> Obstacles:
    """Ground without edges counts as crossed 0.5 m inside the tile's ends."""
    last = plot.length - PROMOTION_MARGIN
    return Obstacles(boxes=boxes, first_edge=PROMOTION_MARGIN, last_edge=last, end_height=end_height)


def evenly(spacing: float, extent: float, length: float) -> list[tuple[float, float]]:
    """Obstacles of one extent, one every `spacing` metres, over at least `length` metres."""
    starts = [OBSTACLES_FROM + i * spacing for i in range(ceil(length / spacing - 1e-9))]
    return [(start, start + extent) for start in starts]


def thrown_pair(rng: np.random.Generator, lengths: tuple[float, float]) -> list[tuple[float, float]]:
    """Two obstacles of these lengths, thrown into a tile's room with a landing between them."""
    spare = ROOM - sum(lengths) - LANDING
    before, between = np.sort(rng.uniform(0, spare, size=2))
    first = OBSTACLES_FROM + before
    second = first + lengths[0] + LANDING + (between - before)
    return [(float(first), float(first + lengths[0])), (float(second), float(second + lengths[1]))]


def flight(tread: float) -> list[tuple[float, float]]:
    """As many whole treads as a tile has room for."""
    count = int(ROOM / tread + 1e-9)
    return [(OBSTACLES_FROM + i * tread, OBSTACLES_FROM + (i + 1) * tread) for i in range(count)]


def ramp(near: Point, far: Point, half: float, friction: float | None = None) -> Box:
    """A pitched block across |y| ≤ half whose top runs from `near` (x, z) to `far`."""
    (x0, z0), (x1, z1) = near, far
    angle = atan2(z1 - z0, x1 - x0)
    middle = (
        (x0 + x1) / 2 + THICKNESS / 2 * sin(angle),
        0.0,
        (z0 + z1) / 2 - THICKNESS / 2 * cos(angle),
    )
    extent = ((x1 - x0) / 2 / cos(angle), half, THICKNESS / 2)
    return Box(middle, extent, -angle, friction=friction)


def columns(
    steps: Sequence[tuple[float, float]],
    plot: Plot,
    end: float | None = None,
    bottom: float | None = None,
) -> list[Box]:
    """Blocks across the whole width, one after the other: each step (x, top) holds until the next, or `end`.

    They share their bottom, `THICKNESS` below the lowest top if not given, so that nothing is hollow.
    """
    floor = min(top for _, top in steps) - THICKNESS if bottom is None else bottom
    across = (-plot.half_ground, plot.half_ground)
    stops = [*(x for x, _ in steps[1:]), plot.end if end is None else end]
    return [
        Box.spanning((x, stop), across, (floor, top)) for (x, top), stop in zip(steps, stops, strict=True)
    ]


def steps_between(edges: Edges, top: float, plot: Plot) -> Obstacles:
    """Level ground that lies at `top` between each pair of edges: pits or platforms."""
    steps = [step for a, b in edges for step in ((a, top), (b, 0.0))]
    boxes = columns([(ENTRY, 0.0), *steps], plot)
    return Obstacles(boxes=boxes, first_edge=edges[0][0], last_edge=edges[-1][1])
