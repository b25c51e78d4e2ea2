"""Stairs, up and down: a flight on a tile, one that never pauses on a strip."""

from __future__ import annotations

import numpy as np

from ssr.terrain.ground import ENTRY, Edges, Obstacles, Plot, columns, evenly, flight
from ssr.terrain.kind import Crossing, Parameter, Phantom, Section, Setting, TerrainKind
from ssr.terrain.registry import register

RISE = Parameter(name="step height", unit=" m", easiest=0.05, hardest=0.2, lowest=0.01, highest=0.4)
TREAD = Parameter(name="step length", unit=" m", easiest=0.4, hardest=0.25, lowest=0.2, highest=2.0)
FLIGHT = 1e3  #: m, longer than any: a flight is one obstacle to cross
SWEPT = ((0.05, 0.40), (0.10, 0.35), (0.15, 0.30), (0.20, 0.25), (0.23, 0.25))


def _stairs(rise: float, edges: Edges, plot: Plot) -> Obstacles:
    treads = [(x, i * rise) for i, (x, _) in enumerate(edges, start=1)]
    return Obstacles(
        boxes=columns([(ENTRY, 0.0), *treads], plot),
        first_edge=edges[0][0],
        last_edge=edges[-1][0],
        end_height=len(edges) * rise,
    )


def _tread(setting: Setting, drawn: bool) -> Section:
    return Section(
        spacing=setting[1],
        extent=setting[1],
        margin=0.06,
        levels=(1, 0, -1),
        foothold=True,
        legend="whole sole on the tread",
        axis="sole centre, from the tread's back to its edge (m)",
        drawn=drawn,
    )


def _kind(way: str, order: int, sign: float) -> TerrainKind:
    def build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
        return _stairs(sign * setting[0], edges, plot)

    return TerrainKind(
        name=f"stairs_{way}",
        label=f"stairs {way}",
        order=order,
        terrain_type="stairs",
        commands="stairs",
        written="HEIGHT/TREAD",
        parameters=(RISE, TREAD),
        tile=lambda setting, rng: flight(setting[1]),
        strip=lambda setting, length: evenly(setting[1], setting[1], length),
        build=build,
        axis="step height / length (cm)",
        courses={"table2": ((0.15, 0.30),), "standard": ((0.13, 0.32),), "sweep": SWEPT},
        crossing=lambda setting: Crossing(spacing=FLIGHT, landing=0.0, reach=FLIGHT, drawn=False),
        section=lambda setting: _tread(setting, drawn=sign < 0),
        phantom=lambda setting: Phantom(tread=setting[1], repeats=True, rise=sign * setting[0]),
    )


register(_kind("up", 2, 1.0))
register(_kind("down", 3, -1.0))
