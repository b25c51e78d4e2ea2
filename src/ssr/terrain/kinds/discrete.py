"""Discrete ground: blocks of many sizes strewn over level ground."""

from __future__ import annotations

import numpy as np

from ssr.terrain.ground import (
    ENTRY,
    OBSTACLES_FROM,
    OBSTACLES_TO,
    ROOM,
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

HEIGHT = Parameter(name="obstacle height", unit=" m", easiest=0.05, hardest=0.2, lowest=0.01, highest=0.6)
CELL = (1.0, 1.25)  #: m along x and across y, about; one block lies in each
SIZES = (0.3, 1.0)


def _build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    blocks = [block for stretch in edges for block in _blocks(stretch, plot.spread, setting[0], rng)]
    return Obstacles(
        boxes=[*columns([(ENTRY, 0.0)], plot), *blocks],
        first_edge=min(b.center[0] - b.half[0] for b in blocks),
        last_edge=max(b.center[0] + b.half[0] for b in blocks),
    )


def _blocks(
    stretch: tuple[float, float], spread: float, height: float, rng: np.random.Generator
) -> list[Box]:
    """Blocks strewn over one stretch, one in each cell of a grid so that no lane is free of them.

    They may overlap, in which case the higher one is the ground; at least one has the full height.
    """
    low, high = np.array([stretch[0], -spread]), np.array([stretch[1], spread])
    rows, lanes = (int(n) for n in np.round((high - low) / CELL))
    cells = [(i, j) for i in range(rows) for j in range(lanes)]
    tops = height * rng.uniform(0.5, 1.0, size=len(cells))
    tops[rng.integers(len(cells))] = height
    blocks = []
    for (i, j), top in zip(cells, tops, strict=True):
        size = rng.uniform(*SIZES, size=2)
        center = low + (high - low) * (np.array([i, j]) + rng.random(2)) / (rows, lanes)
        center = np.clip(center, low + size / 2, high - size / 2)
        (x0, y0), (x1, y1) = (center - size / 2).tolist(), (center + size / 2).tolist()
        blocks.append(Box.spanning((x0, x1), (y0, y1), (-THICKNESS, float(top))))
    return blocks


register(
    TerrainKind(
        name="discrete",
        label="discrete",
        order=4,
        terrain_type="discrete",
        commands="stairs",
        written="HEIGHT",
        parameters=(HEIGHT,),
        tile=lambda setting, rng: [(OBSTACLES_FROM, OBSTACLES_TO)],
        strip=lambda setting, length: evenly(ROOM, ROOM, length),
        build=_build,
        axis="height (cm)",
        courses={
            "standard": ((0.13,),),
            "sweep": tuple((height,) for height in (0.05, 0.10, 0.15, 0.20, 0.25)),
        },
    )
)
