"""Flat ground: a slope of 0°."""

from __future__ import annotations

import numpy as np

from ssr.terrain.ground import ENTRY, Edges, Obstacles, Plot, columns, edgeless
from ssr.terrain.kind import Setting, TerrainKind
from ssr.terrain.registry import register


def _build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    return edgeless(columns([(ENTRY, 0.0)], plot), plot)


register(
    TerrainKind(
        name="flat",
        label="flat",
        order=0,
        terrain_type="slope",
        commands="slope",
        written="",
        parameters=(),
        tile=lambda setting, rng: [],
        strip=lambda setting, length: [],
        build=_build,
        has_edges=False,
        courses={"standard": ((),)},
    )
)
