"""Spiral stairs: they wind inwards as they climb, so that no turn lies above another."""

from __future__ import annotations

from math import atan2, cos, pi, sin, sqrt

import numpy as np

from ssr.terrain.ground import ENTRY, OBSTACLES_FROM, ROOM, THICKNESS, Edges, Obstacles, Plot, columns
from ssr.terrain.kind import Parameter, Setting, TerrainKind
from ssr.terrain.registry import register
from ssr.terrain.tile import Box

RISE = Parameter(name="step height", unit=" m", easiest=0.05, hardest=0.2, lowest=0.01, highest=0.3)
TREAD = Parameter(name="step length", unit=" m", easiest=0.4, hardest=0.25, lowest=0.2, highest=1.0)
HALF_LANE = 0.55  #: m
INWARD = 1.3 / (2 * pi)  #: m per rad that the lane winds inwards: 1.3 m a turn
INNERMOST = 1.1  #: m, radius of the lane's middle at the top
BEGIN = 2.5  #: m, x where it begins
LANDING = 0.9  #: m, length at the top
POLE = 0.15  #: m, half side of the pole in its middle


class Spiral:
    """r = outer − INWARD · φ around a centre, from φ = 0, heading along x; m and rad."""

    def __init__(self, length: float) -> None:
        self.outer = sqrt(2 * INWARD * length + INNERMOST**2)
        self.centre = (BEGIN, self.outer)

    def angle(self, distance: float) -> float:
        """φ where so many metres of the middle line are behind."""
        return (self.outer - sqrt(self.outer**2 - 2 * INWARD * distance)) / INWARD

    def radius(self, distance: float) -> float:
        return self.outer - INWARD * self.angle(distance)

    def at(self, distance: float) -> tuple[float, float, float]:
        """x, y and heading."""
        phi = self.angle(distance)
        r = self.outer - INWARD * phi
        heading = atan2(r * sin(phi) + INWARD * cos(phi), r * cos(phi) - INWARD * sin(phi))
        return self.centre[0] + r * sin(phi), self.centre[1] - r * cos(phi), heading


def _build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    (rise, tread), length = setting, edges[0][1] - edges[0][0]
    count = int(length / tread + 1e-9)
    spiral = Spiral(count * tread)
    steps = [_step(spiral, (k + 0.5) * tread, tread, (k + 1) * rise) for k in range(count)]
    x, y, heading = spiral.at(count * tread)
    middle = (x + LANDING / 2 * cos(heading), y + LANDING / 2 * sin(heading))
    top = count * rise
    pole = Box.spanning(
        (spiral.centre[0] - POLE, spiral.centre[0] + POLE),
        (spiral.centre[1] - POLE, spiral.centre[1] + POLE),
        (-THICKNESS, top + THICKNESS),
    )
    way = [(0.0, 0.0), *(spiral.at(d)[:2] for d in np.arange(0.0, count * tread, 0.25).tolist()), middle]
    return Obstacles(
        boxes=[*columns([(ENTRY, 0.0)], plot), *steps, _block(middle, heading, LANDING / 2, top), pole],
        first_edge=BEGIN,
        last_edge=plot.length,
        way=way,
        half_width=2 * spiral.outer + 2 * HALF_LANE,
    )


def _step(spiral: Spiral, distance: float, tread: float, top: float) -> Box:
    """As long at the outer side as the turn there; at the inner side the higher of two covers the other."""
    x, y, heading = spiral.at(distance)
    outer = (spiral.radius(distance) + HALF_LANE) / spiral.radius(distance)
    return _block((x, y), heading, tread / 2 * outer, top)


def _block(middle: tuple[float, float], heading: float, half: float, top: float) -> Box:
    low = -THICKNESS
    return Box((*middle, (low + top) / 2), (half, HALF_LANE, (top - low) / 2), 0.0, heading)


register(
    TerrainKind(
        name="spiral_stairs",
        label="spiral stairs",
        order=8,
        terrain_type="stairs",
        commands="stairs",
        written="HEIGHT/TREAD",
        parameters=(RISE, TREAD),
        tile=lambda setting, rng: [(BEGIN, BEGIN + ROOM)],
        strip=lambda setting, length: [(OBSTACLES_FROM, OBSTACLES_FROM + length)],
        build=_build,
        trained=False,
        axis="step height / length (cm)",
        courses={"open_world": ((0.15, 0.3),)},
    )
)
