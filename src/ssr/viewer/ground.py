"""What lies under the robot in the viewer: a terrain kind at a level, as a tile or as a long strip."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ssr.errors import UserError
from ssr.evaluation.directions import open_ground
from ssr.evaluation.worlds import RUN_OUT
from ssr.terrain.ground import APRON
from ssr.terrain.kind import TerrainKind
from ssr.terrain.making import make_tile
from ssr.terrain.registry import kind_named
from ssr.terrain.settings import LEVELS
from ssr.terrain.strip import make_strip
from ssr.terrain.tile import Tile


@dataclass(frozen=True, kw_only=True)
class Ground:
    kind: str
    level: int  #: 0 to 19; means nothing on flat ground
    strip: bool = False  #: 22 m of it instead of a training tile

    @staticmethod
    def of(kind: str, level: int, strip: bool = False) -> Ground:
        """A choice as a user types it."""
        if not 0 <= level < LEVELS:
            raise UserError(f"Level {level}: expected 0 to {LEVELS - 1}.")
        return Ground(kind=kind_named(kind).name, level=level, strip=strip)

    @property
    def terrain(self) -> TerrainKind:
        return kind_named(self.kind)

    @property
    def title(self) -> str:
        """`stairs up, level 5`"""
        name = self.kind.replace("_", " ")
        return f"{name}, level {self.level}" if self.terrain.parameters else name

    @property
    def details(self) -> str:
        """`step height 0.089 m, step length 0.361 m`; empty for flat ground."""
        if not self.terrain.parameters:
            return ""
        return self.terrain.describe(tuple(round(value, 3) for value in self.terrain.at(self.level)))


def lay(ground: Ground, rng: np.random.Generator) -> Tile:
    """The tile, with room to walk about: it ends only where its solid ground does.

    `rng` places obstacles, and decides whether the slope of a tile rises or falls; that of a strip rises.
    """
    if not ground.terrain.parameters:
        return open_ground()
    if ground.strip:
        tile = make_strip(ground.kind, ground.terrain.at(ground.level), rng=rng)
    else:
        tile = make_tile(ground.kind, level=ground.level, rng=rng)
    return replace(tile, length=tile.length + RUN_OUT, half_width=max(APRON / 2, tile.half_width))
