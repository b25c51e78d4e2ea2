"""What lies under the robot in the viewer: a terrain kind at a level, as a tile or as a long strip."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ssr.errors import UserError
from ssr.evaluation.directions import open_ground
from ssr.evaluation.worlds import RUN_OUT
from ssr.terrain.kinds import APRON, make_tile
from ssr.terrain.settings import LEVELS, check_kind, describe, setting_at
from ssr.terrain.strip import make_strip
from ssr.terrain.tile import Kind, Tile


@dataclass(frozen=True, kw_only=True)
class Ground:
    kind: Kind
    level: int  #: 0 to 19; flat ground has none
    strip: bool = False  #: 22 m of it instead of a training tile

    @staticmethod
    def of(kind: str, level: int, strip: bool = False) -> Ground:
        """A choice as a user types it."""
        if not 0 <= level < LEVELS:
            raise UserError(f"Level {level}: expected 0 to {LEVELS - 1}.")
        return Ground(kind=check_kind(kind), level=level, strip=strip)

    @property
    def title(self) -> str:
        """`stairs up, level 5`"""
        return "flat" if self.kind == "flat" else f"{self.kind.replace('_', ' ')}, level {self.level}"

    @property
    def details(self) -> str:
        """`step height 0.089 m, step length 0.361 m`; empty for flat ground."""
        if self.kind == "flat":
            return ""
        return describe(self.kind, tuple(round(value, 3) for value in setting_at(self.kind, self.level)))


def lay(ground: Ground, rng: np.random.Generator) -> Tile:
    """The tile, with room to walk about: it ends only where its solid ground does.

    `rng` places obstacles, and decides whether the slope of a tile rises or falls; that of a strip rises.
    """
    if ground.kind == "flat":
        return open_ground()
    if ground.strip:
        tile = make_strip(ground.kind, setting_at(ground.kind, ground.level), rng=rng)
    else:
        tile = make_tile(ground.kind, level=ground.level, rng=rng)
    return replace(tile, length=tile.length + RUN_OUT, half_width=APRON / 2)
