"""A slippery ramp up to a slippery trolley that rolls away under whoever crosses it, and down again."""

from __future__ import annotations

from math import radians, tan

import numpy as np

from ssr.terrain.ground import ENTRY, THICKNESS, Edges, Obstacles, Plot, columns, evenly, ramp
from ssr.terrain.kind import Parameter, Setting, TerrainKind
from ssr.terrain.registry import register
from ssr.terrain.tile import Box, LooseBox

INCLINE = Parameter(name="incline", unit="°", easiest=3.0, hardest=15.0, lowest=1.0, highest=30.0)
FRICTION = Parameter(name="friction", unit="", easiest=0.6, hardest=0.2, lowest=0.02, highest=1.5)
RAMP, LANDING, DECK = 1.6, 0.5, 1.4  #: m along the way
SLOT = 0.02  #: m before and behind the trolley
HALF_DECK = 1.0  #: m, half of the trolley's width
EXTENT = 2 * (RAMP + LANDING) + DECK
SPACING = EXTENT + 0.8  #: m from one to the next
DENSITY = 60.0  #: kg/m³: a deck on a frame
ROLLING = 0.03  #: friction of its wheels, which turn every way


def _build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    incline, friction = setting
    height = RAMP * tan(radians(incline))
    # Between the landings lies the ground on which the trolley stands; whoever passes it by walks there.
    boxes, loose = list(columns([(ENTRY, 0.0)], plot)), []
    wide = plot.half_ground
    for start, stop in edges:
        near, far = start + RAMP, stop - RAMP
        boxes.append(ramp((start, 0.0), (near, height), wide, friction))
        for a, b in ((near, near + LANDING), (far - LANDING, far)):
            boxes.append(Box.spanning((a, b), (-wide, wide), (-THICKNESS, height)))
        boxes.append(ramp((far, height), (stop, 0.0), wide, friction))
        middle = (start + stop) / 2
        half = (DECK / 2 - SLOT, HALF_DECK, height / 2)
        loose.append(
            LooseBox(
                box=Box((middle, 0.0, height / 2), half, friction=friction),
                mass=DENSITY * 8 * half[0] * half[1] * half[2],
                sliding=ROLLING,
            )
        )
    return Obstacles(boxes=boxes, first_edge=edges[0][0], last_edge=edges[-1][1], loose=loose)


register(
    TerrainKind(
        name="trolley",
        label="ramp and trolley",
        order=11,
        terrain_type="platform",
        commands="gap",
        written="DEGREES/FRICTION",
        parameters=(INCLINE, FRICTION),
        tile=lambda setting, rng: evenly(SPACING, EXTENT, SPACING),
        strip=lambda setting, length: evenly(SPACING, EXTENT, length),
        build=_build,
        trained=False,
        has_ramps=True,
        axis="incline (°)",
        courses={"open_world": ((8.0, 0.3),)},
    )
)
