"""Stepping stones: turned blocks of their own height over a pit."""

from __future__ import annotations

import numpy as np

from ssr.terrain.ground import ENTRY, OBSTACLES_FROM, OBSTACLES_TO, Edges, Obstacles, Plot, columns, evenly
from ssr.terrain.kind import Parameter, Setting, TerrainKind
from ssr.terrain.registry import register
from ssr.terrain.tile import Box

GAP = Parameter(name="gap", unit=" m", easiest=0.05, hardest=0.35, lowest=0.02, highest=0.8)
SIDE = Parameter(name="stone", unit=" m", easiest=0.6, hardest=0.35, lowest=0.25, highest=1.5)
HALF_FIELD = 1.8  #: m from the middle line
DEPTH = 0.6  #: m, of the pit
TURNED = 0.25  #: most rad from square
UNEVEN = 0.02  #: most m above or below the ground plane


def _build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    (gap, side), first, last = setting, edges[0][0], edges[-1][1]
    rows, lanes = (max(1, int(room / (side + gap))) for room in (last - first, 2 * HALF_FIELD))
    stones = [
        _stone(
            first + (last - first) * (i + 0.5) / rows,
            HALF_FIELD * (2 * (j + 0.5) / lanes - 1),
            side,
            gap,
            rng,
        )
        for i in range(rows)
        for j in range(lanes)
    ]
    return Obstacles(
        boxes=[*columns([(ENTRY, 0.0), (first, -DEPTH), (last, 0.0)], plot), *stones],
        first_edge=first,
        last_edge=last,
    )


def _stone(x: float, y: float, side: float, gap: float, rng: np.random.Generator) -> Box:
    dx, dy = rng.uniform(-gap / 4, gap / 4, 2)
    yaw, top = rng.uniform(-TURNED, TURNED), rng.uniform(-UNEVEN, UNEVEN)
    return Box(
        (x + float(dx), y + float(dy), (float(top) - DEPTH) / 2),
        (side / 2, side / 2, (float(top) + DEPTH) / 2),
        0.0,
        float(yaw),
    )


register(
    TerrainKind(
        name="stepping_stones",
        label="stepping stones",
        order=12,
        terrain_type="gap",
        commands="gap",
        written="GAP/STONE",
        parameters=(GAP, SIDE),
        tile=lambda setting, rng: [(OBSTACLES_FROM, OBSTACLES_TO)],
        strip=lambda setting, length: evenly(length, length, length),
        build=_build,
        trained=False,
        has_pits=True,
        axis="gap / stone (cm)",
        courses={"open_world": ((0.2, 0.45),)},
    )
)
