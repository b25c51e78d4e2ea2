"""Pallets that lie loose on level ground and move when they are stepped on or kicked."""

from __future__ import annotations

import numpy as np

from ssr.terrain.ground import ENTRY, Edges, Obstacles, Plot, columns, evenly
from ssr.terrain.kind import Parameter, Setting, TerrainKind
from ssr.terrain.registry import register
from ssr.terrain.tile import Box, LooseBox

HEIGHT = Parameter(name="pallet height", unit=" m", easiest=0.06, hardest=0.2, lowest=0.03, highest=0.4)
SLIDING = Parameter(
    name="friction below", unit="", easiest=0.6, hardest=0.2, lowest=0.02, highest=1.0, rated=False
)
SIZE = (0.8, 1.2)  #: m along the way and across, those of a European pallet
DENSITY = 25.0 / (0.8 * 1.2 * 0.144)  #: kg/m³, of a European pallet of 25 kg
SPACING = 2.6  #: m from one to the next
ASIDE, TURNED = 0.2, 0.25  #: most m from the middle line and most rad from square


def _build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    height, sliding = setting
    loose = [_pallet((a + b) / 2, height, sliding, rng) for a, b in edges]
    return Obstacles(
        boxes=columns([(ENTRY, 0.0)], plot),
        first_edge=edges[0][0],
        last_edge=edges[-1][1],
        loose=loose,
    )


def _pallet(x: float, height: float, sliding: float, rng: np.random.Generator) -> LooseBox:
    half = (SIZE[0] / 2, SIZE[1] / 2, height / 2)
    box = Box(
        (x, float(rng.uniform(-ASIDE, ASIDE)), height / 2), half, 0.0, float(rng.uniform(-TURNED, TURNED))
    )
    return LooseBox(box=box, mass=DENSITY * SIZE[0] * SIZE[1] * height, sliding=sliding)


register(
    TerrainKind(
        name="pallets",
        label="loose pallets",
        order=10,
        terrain_type="platform",
        commands="gap",
        written="HEIGHT or HEIGHT/FRICTION",
        parameters=(HEIGHT, SLIDING),
        complete=lambda setting: (*setting, 0.3) if len(setting) == 1 else setting,
        tile=lambda setting, rng: evenly(SPACING, SIZE[0], 2 * SPACING),
        strip=lambda setting, length: evenly(SPACING, SIZE[0], length),
        build=_build,
        trained=False,
        axis="height (cm)",
        courses={"open_world": ((0.144,),)},
    )
)
