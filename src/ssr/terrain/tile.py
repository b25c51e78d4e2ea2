"""A tile: one stretch of terrain, described once by boxes; triangles and heights follow from them.

Tile frame: x along the way (0 at the near end), y across (left positive), z up; z = 0 is the ground at the near end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

Kind = Literal["flat", "slope", "stairs_up", "stairs_down", "discrete", "gap", "platform"]
KINDS: tuple[Kind, ...] = ("flat", "slope", "stairs_up", "stairs_down", "discrete", "gap", "platform")

BOX_FIELDS = 7  #: a box as a row: centre x y z, half extent x y z, pitch


@dataclass(frozen=True)
class Box:
    """A solid block. `pitch` turns it about +y (radians): a surface that rises along +x has negative pitch."""

    center: tuple[float, float, float]
    half: tuple[float, float, float]
    pitch: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Tile:
    kind: Kind
    setting: tuple[float, ...]  #: what `--setting` takes: metres or degrees, per kind
    boxes: tuple[Box, ...]
    length: float  #: of the tile proper; the apron lies beyond it
    half_width: float  #: |y| beyond it is out of bounds
    start: float  #: x where robots begin
    first_edge: float  #: x of the first obstacle edge
    last_edge: float  #: x of the last obstacle edge; crossing it by 0.5 m promotes
    end_height: float  #: z of the apron behind the tile
    level: int | None = None

    def mirrored(self) -> Tile:
        """The tile seen in the sagittal mirror (y negated)."""
        boxes = tuple(replace(b, center=(b.center[0], -b.center[1], b.center[2])) for b in self.boxes)
        return replace(self, boxes=boxes)

    def rows(self, pool: int) -> np.ndarray:
        """(pool, 7) float64 box rows, unused ones parked far below with no extent."""
        raise NotImplementedError
