"""Open-riser stairs: narrow slabs with nothing between them, walls and handrails on both sides."""

from __future__ import annotations

from math import atan2, cos

import numpy as np

from ssr.terrain.ground import ENTRY, THICKNESS, Edges, Obstacles, Plot, columns, evenly, flight
from ssr.terrain.kind import Parameter, Setting, TerrainKind
from ssr.terrain.registry import register
from ssr.terrain.tile import Box

RISE = Parameter(name="step height", unit=" m", easiest=0.08, hardest=0.2, lowest=-0.3, highest=0.3)
TREAD = Parameter(name="step length", unit=" m", easiest=0.4, hardest=0.25, lowest=0.2, highest=1.0)
HALF_CLEAR = 0.65  #: m from the middle to a wall: 1.3 m between the walls
SLAB = 0.04  #: m, thickness of a tread
BELOW = 1.2  #: m from the lowest tread down to the floor that shows through a flight that falls
WALL, RAIL = 0.1, 0.06  #: m, thickness
PARAPET = (-0.3, 0.55)  #: m, a wall's lower and upper side, from the line of the steps
GRIP = 0.85  #: m, height of the handrails' middle above that line


def _build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    rise, first, last = setting[0], edges[0][0], edges[-1][0]
    end = len(edges) * rise
    floor = 0.0 if rise >= 0 else end - BELOW
    ground = columns([(ENTRY, 0.0), (first, floor), (last, end)], plot, bottom=min(floor, end) - THICKNESS)
    clear = (-HALF_CLEAR, HALF_CLEAR)
    slabs = [
        Box.spanning(edge, clear, (number * rise - SLAB, number * rise))
        for number, edge in enumerate(edges[:-1], start=1)
    ]
    line = ((first, rise / 2), (last, end - rise / 2))
    sides = [
        box
        for side in (-1.0, 1.0)
        for box in (
            _along(line, side * (HALF_CLEAR + WALL / 2), WALL, *PARAPET),
            _along(line, side * (HALF_CLEAR + WALL / 2), RAIL, GRIP - RAIL / 2, GRIP + RAIL / 2),
        )
    ]
    return Obstacles(boxes=[*ground, *slabs, *sides], first_edge=first, last_edge=last, end_height=end)


def _along(
    line: tuple[tuple[float, float], tuple[float, float]], y: float, width: float, low: float, high: float
) -> Box:
    """A block beside the steps that follows the line (x, z) from its first point to its second."""
    (x0, z0), (x1, z1) = line
    angle = atan2(z1 - z0, x1 - x0)
    middle = ((x0 + x1) / 2, y, (z0 + z1) / 2 + (low + high) / 2)
    return Box(middle, ((x1 - x0) / 2 / cos(angle), width / 2, (high - low) / 2 * cos(angle)), -angle)


register(
    TerrainKind(
        name="open_stairs",
        label="open stairs up",
        falling_label="open stairs down",
        order=7,
        terrain_type="stairs",
        commands="stairs",
        written="HEIGHT/TREAD (negative falls)",
        parameters=(RISE, TREAD),
        tile=lambda setting, rng: flight(setting[1]),
        strip=lambda setting, length: evenly(setting[1], setting[1], length),
        build=_build,
        trained=False,
        axis="step height / length (cm)",
        courses={"open_world": ((0.15, 0.3), (-0.15, 0.3))},
    )
)
