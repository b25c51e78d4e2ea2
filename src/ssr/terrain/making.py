"""Training tiles: a kind at a level or a setting."""

from __future__ import annotations

import numpy as np

from ssr.errors import UserError
from ssr.terrain.ground import START, START_SPREAD, TILE_LENGTH, Edges, Plot
from ssr.terrain.kind import Setting, TerrainKind
from ssr.terrain.registry import kind_named
from ssr.terrain.tile import EDGE_DECIMALS, Tile

TILE_POOL = 24  #: no training tile has more boxes


def make_tile(
    kind: str,
    level: int | None = None,
    setting: Setting | None = None,
    rng: np.random.Generator | None = None,
    start_spread: float = START_SPREAD,
) -> Tile:
    """A training tile of a level 0..19 or of a setting (see `TerrainKind`).

    `rng` places obstacles and decides whether a slope given by its level rises or falls; a slope's setting
    says so by its sign. It also draws where robots begin, up to `start_spread` m farther from the first edge
    than 0.75 m. Without `rng` the same tile comes out every time.
    """
    known = kind_named(kind)
    rng = rng or np.random.default_rng(0)
    if level is not None and setting is not None:
        raise UserError(f"{kind}: give a level or a setting, not both.")
    if level is not None:
        values = known.vary(known.at(level), rng)
    elif setting is not None or not known.parameters:
        values = known.check(tuple(setting or ()))
    else:
        raise UserError(f"{kind}: give a level 0 to 19 or a setting.")
    edges = known.tile(values, rng)
    return build(known, values, edges, Plot(length=TILE_LENGTH), rng, start_spread, level)


def build(
    kind: TerrainKind,
    setting: Setting,
    edges: Edges,
    plot: Plot,
    rng: np.random.Generator,
    start_spread: float,
    level: int | None = None,
) -> Tile:
    """The tile on this ground whose obstacles occupy `edges` along x."""
    edges = [(round(a, EDGE_DECIMALS), round(b, EDGE_DECIMALS)) for a, b in edges]
    made = kind.build(setting, edges, plot, rng)
    return Tile(
        kind=kind.name,
        setting=setting,
        boxes=tuple(made.boxes),
        length=plot.length,
        half_width=max(plot.half_width, made.half_width),
        start=START - rng.uniform(0.0, start_spread),
        first_edge=made.first_edge,
        last_edge=made.last_edge,
        end_height=made.end_height,
        level=level,
        loose=tuple(made.loose),
        sights=tuple(made.sights),
        way=tuple(made.way),
    )
