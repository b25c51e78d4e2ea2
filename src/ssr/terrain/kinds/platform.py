"""Platforms: two to climb and leave again on a tile, one every 3 m on a strip."""

from __future__ import annotations

import numpy as np

from ssr.terrain.ground import Edges, Obstacles, Plot, evenly, steps_between, thrown_pair
from ssr.terrain.kind import Crossing, Parameter, Phantom, Setting, TerrainKind
from ssr.terrain.registry import register

HEIGHT = Parameter(name="height", unit=" m", easiest=0.05, hardest=0.4, lowest=0.01, highest=1.0)
LENGTHS = (1.2, 1.5)  #: m, of a tile's platforms
SPACING, LENGTH = 3.0, 1.5  #: m, of a strip's


def _tile(setting: Setting, rng: np.random.Generator) -> Edges:
    first, second = rng.uniform(*LENGTHS, size=2)
    return thrown_pair(rng, (first, second))


def _build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    return steps_between(edges, setting[0], plot)


register(
    TerrainKind(
        name="platform",
        label="platform",
        order=6,
        terrain_type="platform",
        commands="gap",
        written="HEIGHT",
        parameters=(HEIGHT,),
        tile=_tile,
        strip=lambda setting, length: evenly(SPACING, LENGTH, length),
        build=_build,
        axis="height (cm)",
        courses={
            "table2": ((0.40,), (0.45,)),
            "standard": ((0.22,),),
            "sweep": tuple((height,) for height in (0.1, 0.2, 0.3, 0.4, 0.45)),
        },
        crossing=lambda setting: Crossing(spacing=SPACING, landing=0.0, reach=LENGTH),
        phantom=lambda setting: Phantom(),
    )
)
