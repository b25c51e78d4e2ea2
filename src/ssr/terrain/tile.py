"""A tile: one stretch of terrain, described once by boxes; triangles and heights follow from them.

Tile frame: x along the way (0 at the near end), y across (left positive), z up; z = 0 is the ground at the
near end. Every box edge lies on a grid of one nanometre, so that boxes that touch share their edge exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import cos, sin

import numpy as np

BOX_FIELDS = 7  #: a box as a row: centre x y z, half extent x y z, pitch
FACET_FIELDS = 6  #: an upward facet as a row: x from, x to, y from, y to, z at `x from`, dz/dx
ABYSS = -100.0  #: height (m) reported where there is no ground at all

PARKED_DEPTH = -1000.0  #: z of unused boxes
PARKED_HALF = 0.01  #: not 0: MuJoCo reads a bounding radius of 0 as an endless plane
EDGE_DECIMALS = 9  #: edges are whole nanometres


@dataclass(frozen=True)
class Box:
    """A solid block. `pitch` turns it about +y (rad): a surface that rises along +x has negative pitch."""

    center: tuple[float, float, float]
    half: tuple[float, float, float]
    pitch: float = 0.0

    @staticmethod
    def spanning(x: tuple[float, float], y: tuple[float, float], z: tuple[float, float]) -> Box:
        """The upright block between these coordinates, its x and y edges moved onto the nanometre grid."""
        (x0, x1), (y0, y1) = (sorted(round(v, EDGE_DECIMALS) for v in pair) for pair in (x, y))
        return Box(
            ((x0 + x1) / 2, (y0 + y1) / 2, (z[0] + z[1]) / 2),
            ((x1 - x0) / 2, (y1 - y0) / 2, (z[1] - z[0]) / 2),
        )

    def facets(self) -> list[tuple[float, ...]]:
        """What a rain falling straight down wets: the top, and one end face if the box is pitched."""
        (cx, cy, cz), (hx, hy, hz) = self.center, self.half
        if self.pitch == 0.0:
            ridge = [(cx - hx, cz + hz), (cx + hx, cz + hz)]
        else:
            c, s = cos(self.pitch), -sin(self.pitch)
            ridge = [
                (cx - hx * c - hz * s, cz - hx * s + hz * c),
                (cx + hx * c - hz * s, cz + hx * s + hz * c),
            ]
            if s > 0:
                ridge.append((cx + hx * c + hz * s, cz + hx * s - hz * c))
            else:
                ridge.insert(0, (cx - hx * c + hz * s, cz - hx * s - hz * c))
        y0, y1 = round(cy - hy, EDGE_DECIMALS), round(cy + hy, EDGE_DECIMALS)
        return [
            (round(xa, EDGE_DECIMALS), round(xb, EDGE_DECIMALS), y0, y1, za, (zb - za) / (xb - xa))
            for (xa, za), (xb, zb) in pairwise(ridge)
        ]

    def corners(self) -> np.ndarray:
        """(8, 3) corners; number 4i + 2j + k lies at the far end of axis x, y, z where i, j, k is 1."""
        signs = np.stack(np.meshgrid(*[[-1.0, 1.0]] * 3, indexing="ij"), axis=-1).reshape(8, 3)
        local = signs * self.half
        c, s = cos(self.pitch), sin(self.pitch)
        turned = np.stack(
            [c * local[:, 0] + s * local[:, 2], local[:, 1], c * local[:, 2] - s * local[:, 0]], axis=-1
        )
        return turned + self.center


#: two triangles for each side of a box, outward by the right-hand rule; indices into `Box.corners`
BOX_FACES = np.array(
    [
        *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5]),
        *([0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6]),
        *([0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
    ],
    dtype=np.int32,
)


@dataclass(frozen=True, kw_only=True)
class Tile:
    kind: str  #: name of a `TerrainKind`
    setting: tuple[float, ...]  #: what `--setting` takes: metres or degrees, per kind
    boxes: tuple[Box, ...]
    length: float  #: of the tile proper; the apron lies beyond it
    half_width: float  #: |y| beyond it is out of bounds
    start: float  #: x where robots begin
    first_edge: float  #: x of the first obstacle edge; 0.5 m inside the tile where it has none (flat, slope)
    last_edge: float  #: x of the last obstacle edge (likewise); crossing it by 0.5 m promotes
    end_height: float  #: z of the apron behind the tile
    level: int | None = None

    def mirrored(self) -> Tile:
        """The tile seen in the sagittal mirror (y negated)."""
        boxes = tuple(replace(b, center=(b.center[0], -b.center[1], b.center[2])) for b in self.boxes)
        return replace(self, boxes=boxes)

    def rows(self, pool: int) -> np.ndarray:
        """(pool, 7) float64 box rows; unused ones are specks parked far below."""
        if len(self.boxes) > pool:
            raise ValueError(f"{self.kind} has {len(self.boxes)} boxes, the pool holds {pool}")
        rows = np.zeros((pool, BOX_FIELDS))
        rows[:, 2] = PARKED_DEPTH
        rows[:, 3:6] = PARKED_HALF
        rows[: len(self.boxes)] = self._box_rows
        return rows

    @cached_property
    def _box_rows(self) -> np.ndarray:
        return np.array([(*b.center, *b.half, b.pitch) for b in self.boxes])

    def prepare(self) -> None:
        """Work out now what would be worked out when it is first asked for."""
        _ = self._box_rows, self.facets

    @cached_property
    def facets(self) -> np.ndarray:
        """(m, 6) float64 upward facets of all boxes, ordered by where they begin along x."""
        facets = np.array([facet for box in self.boxes for facet in box.facets()])
        return facets[np.argsort(facets[:, 0], kind="stable")]

    def heights(self, points: np.ndarray) -> np.ndarray:
        """Ground height (m) under points (n, 2), exact: on an edge the higher side counts."""
        x, y = np.asarray(points, dtype=np.float64).T
        heights = np.full(x.shape, ABYSS)
        for x0, x1, y0, y1, z0, slope in self.facets:
            inside = (x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)
            np.maximum(heights, z0 + slope * (x - x0), out=heights, where=inside)
        return heights

    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """Vertices (8 b, 3) float64, faces (12 b, 3) int32 of all boxes, outward by the right-hand rule."""
        vertices = np.concatenate([box.corners() for box in self.boxes])
        first = 8 * np.arange(len(self.boxes), dtype=np.int32)
        return vertices, (BOX_FACES + first[:, None, None]).reshape(-1, 3)
