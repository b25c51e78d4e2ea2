"""Slopes: one incline over the whole tile; a negative one falls."""

from __future__ import annotations

from math import cos, radians, sin, tan

import numpy as np

from ssr.terrain.ground import ENTRY, THICKNESS, Edges, Obstacles, Plot, columns, edgeless
from ssr.terrain.kind import Parameter, Setting, TerrainKind
from ssr.terrain.registry import register
from ssr.terrain.tile import Box

INCLINE = Parameter(name="incline", unit="°", easiest=0, hardest=20, lowest=-40, highest=40)
SWEPT = (5.0, 10.0, 15.0, 20.0, 25.0)


def _build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    """One pitched block whose top runs from (0, 0) to (length, length · tan angle), flat at both ends."""
    angle, length = radians(setting[0]), plot.length
    if angle == 0.0:
        return edgeless(columns([(ENTRY, 0.0)], plot), plot)
    top = length * tan(angle)
    incline = Box(
        (length / 2 + THICKNESS / 2 * sin(angle), 0.0, top / 2 - THICKNESS / 2 * cos(angle)),
        (length / 2 / cos(angle), plot.half_ground, THICKNESS / 2),
        -angle,
    )
    bottom = min(0.0, top) - THICKNESS
    before = columns([(ENTRY, 0.0)], plot, end=0.0, bottom=bottom)
    behind = columns([(length, top)], plot, bottom=bottom)
    return edgeless([*before, incline, *behind], plot, top)


def _rise_or_fall(setting: Setting, rng: np.random.Generator) -> Setting:
    """Half of the slopes of a level fall."""
    return (-setting[0],) if rng.random() < 0.5 else setting


register(
    TerrainKind(
        name="slope",
        label="slope up",
        falling_label="slope down",
        order=1,
        terrain_type="slope",
        commands="slope",
        written="DEGREES (negative falls)",
        parameters=(INCLINE,),
        tile=lambda setting, rng: [],
        strip=lambda setting, length: [],
        build=_build,
        vary=_rise_or_fall,
        has_edges=False,
        inclined=True,
        axis="incline (°)",
        courses={
            "standard": ((15.0,),),
            "sweep": tuple((sign * angle,) for sign in (1, -1) for angle in SWEPT),
        },
    )
)
