"""Tall grass on level ground: dense leaning blades that cameras see and nothing touches."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from ssr.terrain.ground import ENTRY, OBSTACLES_FROM, OBSTACLES_TO, Edges, Obstacles, Plot, columns, evenly
from ssr.terrain.kind import Parameter, Setting, TerrainKind
from ssr.terrain.registry import register
from ssr.terrain.tile import Box

HEIGHT = Parameter(name="blade", unit=" m", easiest=0.2, hardest=0.8, lowest=0.05, highest=1.5)
DENSITY = Parameter(name="density", unit="/m²", easiest=5.0, hardest=40.0, lowest=1.0, highest=80.0)
HALF_FIELD = 1.5  #: m from the middle line
BLADE = (0.005, 0.0015)  #: m, half width and half thickness
LENGTHS = (0.5, 1.0)  #: share of the height
LEAN = 0.5  #: most rad from upright


def blades(
    x: tuple[float, float], half: float, setting: Setting, rng: np.random.Generator, z: float = 0.0
) -> list[Box]:
    """Blades rooted between x[0] and x[1], |y| ≤ half, at the height z."""
    height, density = setting
    count = int(density * (x[1] - x[0]) * 2 * half)
    made = []
    for _ in range(count):
        root_x, root_y = float(rng.uniform(*x)), float(rng.uniform(-half, half))
        length = height * float(rng.uniform(*LENGTHS))
        lean, yaw = float(rng.uniform(0, LEAN)), float(rng.uniform(-pi, pi))
        reach = length / 2 * sin(lean)
        middle = (root_x + reach * cos(yaw), root_y + reach * sin(yaw), z + length / 2 * cos(lean))
        made.append(Box(middle, (BLADE[1], BLADE[0], length / 2), lean, yaw))
    return made


def _build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    first, last = edges[0][0], edges[-1][1]
    return Obstacles(
        boxes=columns([(ENTRY, 0.0)], plot),
        first_edge=first,
        last_edge=last,
        sights=blades((first, last), HALF_FIELD, setting, rng),
    )


register(
    TerrainKind(
        name="tall_grass",
        label="tall grass",
        order=15,
        terrain_type="slope",
        commands="slope",
        written="HEIGHT/DENSITY",
        parameters=(HEIGHT, DENSITY),
        tile=lambda setting, rng: [(OBSTACLES_FROM, OBSTACLES_TO)],
        strip=lambda setting, length: evenly(length, length, length),
        build=_build,
        trained=False,
        has_edges=False,
        axis="blade height (cm)",
        courses={"open_world": ((0.6, 25.0),)},
    )
)
