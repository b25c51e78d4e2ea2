"""A street: kerbs, ramps and flights of a few steps in any order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import radians, tan

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
    evenly,
    ramp,
)
from ssr.terrain.kind import Parameter, Setting, TerrainKind
from ssr.terrain.registry import register

KERB = Parameter(name="kerb", unit=" m", easiest=0.05, hardest=0.18, lowest=0.01, highest=0.4)
WALK = (0.7, 1.6)  #: m of level ground behind each piece
RAMP = ((1.0, 2.0), (4.0, 12.0))  #: m along x, degrees
FLIGHT = (2, 4)  #: steps
TREAD = 0.32  #: m

Profile = list[tuple[float, float]]  #: points (x, z); between two, ground rises evenly or at once


def _kerb(x: float, z: float, sign: float, kerb: float, rng: np.random.Generator) -> Profile:
    return [(x, z), (x, z + sign * kerb * float(rng.uniform(0.6, 1.0)))]


def _steps(x: float, z: float, sign: float, kerb: float, rng: np.random.Generator) -> Profile:
    points: Profile = []
    for step in range(int(rng.integers(FLIGHT[0], FLIGHT[1] + 1))):
        points += [
            (x + step * TREAD, z + sign * step * kerb),
            (x + step * TREAD, z + sign * (step + 1) * kerb),
        ]
    return points


def _incline(x: float, z: float, sign: float, kerb: float, rng: np.random.Generator) -> Profile:
    length, angle = float(rng.uniform(*RAMP[0])), radians(float(rng.uniform(*RAMP[1])))
    return [(x, z), (x + length, z + sign * length * tan(angle))]


PIECES: tuple[Callable[[float, float, float, float, np.random.Generator], Profile], ...] = (
    _kerb, _steps, _incline,
)  # fmt: skip


def _profile(first: float, last: float, kerb: float, rng: np.random.Generator) -> Profile:
    """From the first edge to the last; a piece rises or falls by chance, never far below the start."""
    x, z, points = first, 0.0, [(ENTRY, 0.0), (first, 0.0)]
    while x < last:
        sign = 1.0 if z < 2 * kerb or rng.random() < 0.5 else -1.0
        points += PIECES[int(rng.integers(len(PIECES)))](x, z, sign, kerb, rng)
        x, z = points[-1]
        x += float(rng.uniform(*WALK))
        points.append((x, z))
    return points


def _build(setting: Setting, edges: Edges, plot: Plot, rng: np.random.Generator) -> Obstacles:
    points = _profile(edges[0][0], edges[-1][1], setting[0], rng)
    last = points[-2][0]
    points[-1] = (plot.end, points[-1][1])
    bottom = min(z for _, z in points) - THICKNESS
    boxes = []
    for (x0, z0), (x1, z1) in pairwise(points):
        if x1 - x0 < 1e-9:
            continue  # a riser
        if z0 == z1:
            boxes += columns([(x0, z0)], plot, end=x1, bottom=bottom)
        else:
            boxes.append(ramp((x0, z0), (x1, z1), plot.half_ground))
    return Obstacles(boxes=boxes, first_edge=edges[0][0], last_edge=last, end_height=points[-1][1])


register(
    TerrainKind(
        name="street",
        label="street",
        order=14,
        terrain_type="platform",
        commands="gap",
        written="KERB",
        parameters=(KERB,),
        tile=lambda setting, rng: [(OBSTACLES_FROM, OBSTACLES_TO)],
        strip=lambda setting, length: evenly(length, length, length),
        build=_build,
        trained=False,
        has_ramps=True,
        axis="kerb (cm)",
        courses={"open_world": ((0.12,),)},
    )
)
