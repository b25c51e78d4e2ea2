"""Rough ground for beginners: noise of two octaves on a grid of blocks.

A height field would be smoother; worlds are made of boxes, and a tile has room for few of them.
"""

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
    edgeless,
)
from ssr.terrain.kind import Parameter, Setting, TerrainKind
from ssr.terrain.registry import register
from ssr.terrain.tile import Box

HEIGHT = Parameter(name="noise", unit=" m", easiest=0.01, hardest=0.04, lowest=0.0, highest=0.2)
CELLS = (6, 3)  #: of a tile's obstacles along x and across y; a coarse cell is two by all of them


def _build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    blocks = [block for stretch in edges for block in _blocks(stretch, plot.half_width, setting[0], rng)]
    return edgeless([*columns([(ENTRY, 0.0)], plot), *blocks], plot)


def _blocks(stretch: tuple[float, float], half: float, height: float, rng: np.random.Generator) -> list[Box]:
    rows, lanes = CELLS
    noise = np.repeat(rng.random((rows // 2, 1)), 2, axis=0) + 0.5 * rng.random((rows, lanes))
    xs, ys = np.linspace(*stretch, rows + 1).tolist(), np.linspace(-half, half, lanes + 1).tolist()
    return [
        Box.spanning((xs[i], xs[i + 1]), (ys[j], ys[j + 1]), (-THICKNESS, height * float(noise[i, j]) / 1.5))
        for i in range(rows)
        for j in range(lanes)
    ]


register(
    TerrainKind(
        name="rough",
        label="rough",
        order=16,
        terrain_type="slope",
        commands="slope",
        written="HEIGHT",
        parameters=(HEIGHT,),
        tile=lambda setting, rng: [(OBSTACLES_FROM, OBSTACLES_TO)],
        strip=lambda setting, length: [
            (OBSTACLES_FROM + 4.0 * k, OBSTACLES_FROM + 4.0 * (k + 1)) for k in range(int(-(-length // 4)))
        ],
        build=_build,
        has_edges=False,
        axis="noise (cm)",
    )
)
