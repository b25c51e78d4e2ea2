"""Uneven stairs: each riser and each tread is drawn anew around the setting."""

from __future__ import annotations

import numpy as np

from ssr.terrain.ground import ENTRY, OBSTACLES_FROM, OBSTACLES_TO, Edges, Obstacles, Plot, columns, evenly
from ssr.terrain.kind import Parameter, Setting, TerrainKind
from ssr.terrain.registry import register

RISE = Parameter(name="mean step height", unit=" m", easiest=0.05, hardest=0.18, lowest=-0.3, highest=0.3)
TREAD = Parameter(name="mean step length", unit=" m", easiest=0.4, hardest=0.28, lowest=0.2, highest=1.0)
SPREAD = 0.3  #: share by which a riser or tread may differ from the mean


def _build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    (rise, tread), x, z, steps = setting, edges[0][0], 0.0, []
    vary = lambda: float(rng.uniform(1 - SPREAD, 1 + SPREAD))
    while x < edges[-1][1]:
        z += rise * vary()
        steps.append((x, z))
        x += tread * vary()
    return Obstacles(
        boxes=columns([(ENTRY, 0.0), *steps], plot),
        first_edge=steps[0][0],
        last_edge=steps[-1][0],
        end_height=z,
    )


register(
    TerrainKind(
        name="uneven_stairs",
        label="uneven stairs up",
        falling_label="uneven stairs down",
        order=13,
        terrain_type="stairs",
        commands="stairs",
        written="HEIGHT/TREAD (negative falls)",
        parameters=(RISE, TREAD),
        tile=lambda setting, rng: [(OBSTACLES_FROM, OBSTACLES_TO)],
        strip=lambda setting, length: evenly(length, length, length),
        build=_build,
        trained=False,
        axis="mean step height / length (cm)",
        courses={"open_world": ((0.13, 0.32), (-0.13, 0.32))},
    )
)
