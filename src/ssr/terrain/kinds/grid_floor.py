"""Perforated flooring: bars with holes between them over a pit that shows through."""

from __future__ import annotations

import numpy as np

from ssr.terrain.ground import (
    ENTRY,
    OBSTACLES_FROM,
    OBSTACLES_TO,
    THICKNESS,
    Edges,
    Obstacles,
    Plot,
    columns,
    evenly,
)
from ssr.terrain.kind import Parameter, Setting, TerrainKind
from ssr.terrain.registry import register
from ssr.terrain.tile import Box

HOLE = Parameter(name="hole", unit=" m", easiest=0.03, hardest=0.12, lowest=0.02, highest=0.3)
BAR = Parameter(name="bar", unit=" m", easiest=0.05, hardest=0.04, lowest=0.02, highest=0.2, rated=False)
HALF_WALKWAY = 1.6  #: m; beside it lies solid ground
DEPTH = 0.6  #: m, of the pit
DEEP = 0.05  #: m, of a bar
CARRIERS = (0.4, 0.03)  #: m, spacing and width of the bars that run along the way


def _build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    (hole, bar), first, last = setting, edges[0][0], edges[-1][1]
    wide, across = plot.half_ground, (-HALF_WALKWAY, HALF_WALKWAY)
    ground = columns([(ENTRY, 0.0), (first, -DEPTH), (last, 0.0)], plot, bottom=-DEPTH - THICKNESS)
    sides = [
        Box.spanning((first, last), side, (-THICKNESS, 0.0))
        for side in ((-wide, -HALF_WALKWAY), (HALF_WALKWAY, wide))
    ]
    starts = np.arange(first + hole, last - bar + 1e-9, hole + bar).tolist()
    bars = [Box.spanning((x, x + bar), across, (-DEEP, 0.0)) for x in starts]
    spacing, width = CARRIERS
    count = round(HALF_WALKWAY / spacing)
    carriers = [
        Box.spanning((first, last), (k * spacing - width / 2, k * spacing + width / 2), (-DEEP, 0.0))
        for k in range(-count + 1, count)
    ]
    return Obstacles(boxes=[*ground, *sides, *carriers, *bars], first_edge=first, last_edge=last)


register(
    TerrainKind(
        name="grid_floor",
        label="grid floor",
        order=9,
        terrain_type="gap",
        commands="gap",
        written="HOLE or HOLE/BAR",
        parameters=(HOLE, BAR),
        complete=lambda setting: (*setting, BAR.hardest) if len(setting) == 1 else setting,
        tile=lambda setting, rng: [(OBSTACLES_FROM, OBSTACLES_TO)],
        strip=lambda setting, length: evenly(length, length, length),
        build=_build,
        trained=False,
        has_pits=True,
        axis="hole (cm)",
        courses={"open_world": ((0.08,),)},
    )
)
