"""Evaluation strips: one setting for at least 22 m, so that a 20 s trial at 1 m/s never runs out of it.

They are 12 m wide: who drifts sideways is measured, not stopped.
"""

from __future__ import annotations

import numpy as np

from ssr.errors import UserError
from ssr.terrain.ground import OBSTACLES_FROM, START_SPREAD, Plot
from ssr.terrain.kind import Setting
from ssr.terrain.making import build
from ssr.terrain.registry import kind_named
from ssr.terrain.tile import EDGE_DECIMALS, Tile

STRIP_POOL = 256  #: no strip has more boxes
STRIP_HALF_WIDTH = 6.0  #: m
STRIP_LENGTH = 22.0  #: least length (m) of the stretch with obstacles
RUN_OUT = 1.0  #: level ground after the obstacles that still belongs to the strip


def make_strip(
    kind: str,
    setting: Setting,
    length: float = STRIP_LENGTH,
    rng: np.random.Generator | None = None,
    start_spread: float = START_SPREAD,
) -> Tile:
    """A strip with at least `length` metres of one setting, which may lie off the curriculum or beyond it.

    Obstacles begin at x = 1.5 m; slopes begin at x = 0. Stairs climb (or descend) all the way. `rng` strews
    what is strewn and draws where robots begin, as in `make_tile`; the obstacles stay, so that a place on the
    strip means the same in every trial. Without `rng` everything is always the same.
    """
    known = kind_named(kind)
    setting = known.check(tuple(setting))
    edges = known.strip(setting, length)
    end = max([OBSTACLES_FROM + length, *(b for _, b in edges)])
    plot = Plot(length=round(end + RUN_OUT, EDGE_DECIMALS), half_width=STRIP_HALF_WIDTH)
    strip = build(known, setting, edges, plot, rng or np.random.default_rng(0), start_spread)
    if len(strip.boxes) > STRIP_POOL:
        raise UserError(
            f"{kind} strip of {length:g} m needs {len(strip.boxes)} boxes, more than {STRIP_POOL}."
        )
    return strip
