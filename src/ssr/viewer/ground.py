"""What lies under the robot in the viewer: an open course, a trail of one kind, a field, or a tile."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ssr.errors import UserError
from ssr.evaluation.directions import open_ground
from ssr.evaluation.worlds import RUN_OUT
from ssr.terrain.ground import APRON
from ssr.terrain.kind import TerrainKind
from ssr.terrain.making import make_tile
from ssr.terrain.registry import kind_named, kind_names
from ssr.terrain.settings import LEVELS
from ssr.terrain.tile import Tile
from ssr.terrain.trail import OpenField, Trail, course, joins, only

COURSE = "course"  #: everything in turn


def choices() -> tuple[str, ...]:
    return COURSE, *kind_names()


@dataclass(frozen=True, kw_only=True)
class Ground:
    kind: str  #: of terrain, or `COURSE`
    level: int  #: 0 to 19, the hardest of a course; means nothing on flat ground

    @staticmethod
    def of(kind: str, level: int) -> Ground:
        """A choice as a user types it."""
        if not 0 <= level < LEVELS:
            raise UserError(f"Level {level}: expected 0 to {LEVELS - 1}.")
        return Ground(kind=kind if kind == COURSE else kind_named(kind).name, level=level)

    @property
    def terrain(self) -> TerrainKind | None:
        return None if self.kind == COURSE else kind_named(self.kind)

    @property
    def title(self) -> str:
        """`stairs up, level 5`"""
        if self.terrain is None:
            return f"open course, up to level {self.level}"
        name = self.kind.replace("_", " ")
        return f"{name}, level {self.level}" if self.terrain.parameters else name

    @property
    def details(self) -> str:
        """`step height 0.089 m, step length 0.361 m`; empty for flat ground and a course."""
        if self.terrain is None or not self.terrain.parameters:
            return ""
        return self.terrain.describe(tuple(round(value, 3) for value in self.terrain.at(self.level)))

    def endless(self, seed: int) -> Trail | OpenField | None:
        """Ground to walk on and on; None of a kind that one piece of does not join the next."""
        if self.terrain is None:
            return Trail(course(self.level), seed)
        if not self.terrain.parameters:
            return OpenField()
        return Trail(only(self.kind, self.level), seed, turning=0.0) if joins(self.kind) else None


def lay(ground: Ground, rng: np.random.Generator) -> Tile:
    """One tile of a kind, with room to walk about: it ends only where its solid ground does."""
    if ground.terrain is None or not ground.terrain.parameters:
        return open_ground()
    tile = make_tile(ground.kind, level=ground.level, rng=rng)
    return replace(tile, length=tile.length + RUN_OUT, half_width=max(APRON / 2, tile.half_width))
