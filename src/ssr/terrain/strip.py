"""Evaluation strips: one setting for at least 22 m, so that a 20 s trial at 1 m/s never runs out of it."""

from __future__ import annotations

from math import ceil

import numpy as np

from ssr.errors import UserError
from ssr.terrain.kinds import OBSTACLES_FROM, OBSTACLES_TO, build
from ssr.terrain.settings import check_kind, check_setting
from ssr.terrain.tile import Kind, Tile

STRIP_POOL = 128  #: no strip has more boxes
STRIP_LENGTH = 22.0  #: least length (m) of the stretch with obstacles

GAP_SPACING = 2.5  #: from one gap's near edge to the next one's
PLATFORM_SPACING = 3.0
PLATFORM_LENGTH = 1.5
RUN_OUT = 1.0  #: level ground after the obstacles that still belongs to the strip


def make_strip(
    kind: str,
    setting: tuple[float, ...],
    length: float = STRIP_LENGTH,
    rng: np.random.Generator | None = None,
) -> Tile:
    """A strip with at least `length` metres of one setting, which may lie off the curriculum or beyond it.

    Obstacles begin at x = 1.5 m; slopes begin at x = 0. Stairs climb (or descend) all the way. `rng` strews
    the blocks of a discrete strip; without it they always lie the same.
    """
    kind = check_kind(kind)
    setting = check_setting(kind, tuple(setting))
    edges = _edges(kind, setting, length)
    end = max(OBSTACLES_FROM + length, *(b for _, b in edges)) if edges else OBSTACLES_FROM + length
    strip = build(kind, setting, edges, length=end + RUN_OUT, rng=rng or np.random.default_rng(0))
    if len(strip.boxes) > STRIP_POOL:
        raise UserError(
            f"{kind} strip of {length:g} m needs {len(strip.boxes)} boxes, more than {STRIP_POOL}."
        )
    return strip


def _edges(kind: Kind, setting: tuple[float, ...], length: float) -> list[tuple[float, float]]:
    """Where the obstacles begin and end along x."""
    if kind in ("stairs_up", "stairs_down"):
        spacing = extent = setting[1]
    elif kind == "gap":
        spacing, extent = GAP_SPACING, setting[0]
    elif kind == "platform":
        spacing, extent = PLATFORM_SPACING, PLATFORM_LENGTH
    elif kind == "discrete":
        spacing = extent = OBSTACLES_TO - OBSTACLES_FROM
    else:
        return []
    starts = [OBSTACLES_FROM + i * spacing for i in range(ceil(length / spacing - 1e-9))]
    return [(start, start + extent) for start in starts]
