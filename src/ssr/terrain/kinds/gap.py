"""Gaps: two pits across a tile, one every 2.5 m on a strip."""

from __future__ import annotations

import numpy as np

from ssr.terrain.ground import Edges, Obstacles, Plot, evenly, steps_between, thrown_pair
from ssr.terrain.kind import Crossing, Parameter, Phantom, Section, Setting, TerrainKind
from ssr.terrain.registry import register

WIDTH = Parameter(name="width", unit=" m", easiest=0.1, hardest=0.8, lowest=0.02, highest=1.5)
DEPTH = Parameter(name="depth", unit=" m", easiest=0.3, hardest=0.6, lowest=0.05, highest=3.0, rated=False)
SPACING = 2.5  #: m from one gap's near edge to the next one's


def _build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    return steps_between(edges, -setting[1], plot)


def _with_depth(setting: Setting) -> Setting:
    """A gap given by its width alone is as deep as that of the level that has this width."""
    if len(setting) != 1:
        return setting
    difficulty = (setting[0] - WIDTH.easiest) / (WIDTH.hardest - WIDTH.easiest)
    return (setting[0], DEPTH.at(min(max(difficulty, 0.0), 1.0)))


def _section(setting: Setting) -> Section:
    return Section(
        spacing=SPACING,
        extent=setting[0],
        margin=0.7,
        levels=(1, -1, 1),
        foothold=False,
        legend="whole sole on the ground",
        axis="sole centre, from the gap's near edge (m)",
    )


register(
    TerrainKind(
        name="gap",
        label="gap",
        order=5,
        terrain_type="gap",
        commands="gap",
        written="WIDTH or WIDTH/DEPTH",
        parameters=(WIDTH, DEPTH),
        complete=_with_depth,
        tile=lambda setting, rng: thrown_pair(rng, (setting[0], setting[0])),
        strip=lambda setting, length: evenly(SPACING, setting[0], length),
        build=_build,
        has_pits=True,
        axis="width (cm)",
        courses={
            "table2": ((0.80,), (0.90,)),
            "standard": ((0.45,),),
            "sweep": tuple((width,) for width in (0.2, 0.4, 0.6, 0.8, 0.9)),
        },
        crossing=lambda setting: Crossing(spacing=SPACING, landing=setting[0], reach=0.6),
        section=_section,
        phantom=lambda setting: Phantom(),
    )
)
