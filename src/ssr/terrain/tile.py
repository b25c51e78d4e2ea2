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

BOX_FIELDS = 8  #: a box as a row: centre x y z, half extent x y z, pitch, yaw
#: An upward facet as a row: x from, x to, y from, y to, z at `x from`, dz/dx, and zeros. One of a turned box:
#: the same bounds, z at its centre and dz along its own x, then its own frame: centre x, y, cosine and sine
#: of its yaw, half extent along and across.
FACET_FIELDS = 12
TURNED = 10  #: the field of a facet that is not zero if it is turned
TURNED_SLACK = 3e-6  #: m by which turned facets are larger, float32's grain at 30 m: no crack between them
ABYSS = -100.0  #: height (m) reported where there is no ground at all

PARKED_DEPTH = -1000.0  #: z of unused boxes
PARKED_HALF = 0.01  #: not 0: MuJoCo reads a bounding radius of 0 as an endless plane
EDGE_DECIMALS = 9  #: edges are whole nanometres


@dataclass(frozen=True)
class Box:
    """A solid block, turned about +z by `yaw`, then about its own y axis by `pitch` (rad).

    A surface that rises along the block's own +x has negative pitch; its sides stay upright.
    """

    center: tuple[float, float, float]
    half: tuple[float, float, float]
    pitch: float = 0.0
    yaw: float = 0.0
    friction: float | None = None  #: sliding friction under a sole; None: the world's own

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
        if self.yaw != 0.0:
            return self._turned_facets()
        (cx, cy, _), (_, hy, _) = self.center, self.half
        y0, y1 = round(cy - hy, EDGE_DECIMALS), round(cy + hy, EDGE_DECIMALS)
        unturned = (0.0,) * 6
        return [
            (round(xa, EDGE_DECIMALS), round(xb, EDGE_DECIMALS), y0, y1, za, (zb - za) / (xb - xa), *unturned)
            for (xa, za), (xb, zb) in pairwise(self._ridge(cx))
        ]

    def _turned_facets(self) -> list[tuple[float, ...]]:
        (cx, cy, _), c, s = self.center, cos(self.yaw), sin(self.yaw)
        facets: list[tuple[float, ...]] = []
        for (ua, za), (ub, zb) in pairwise(self._ridge(0.0)):
            x, y = cx + c * (ua + ub) / 2, cy + s * (ua + ub) / 2
            along, across = (ub - ua) / 2 + TURNED_SLACK, self.half[1] + TURNED_SLACK
            reach_x, reach_y = abs(c) * along + abs(s) * across, abs(s) * along + abs(c) * across
            bounds = (x - reach_x, x + reach_x, y - reach_y, y + reach_y)
            facets.append((*bounds, (za + zb) / 2, (zb - za) / (ub - ua), x, y, c, s, along, across))
        return facets

    def _ridge(self, cx: float) -> list[tuple[float, float]]:
        """The line (x, z) along which the sky meets the block, its centre at `cx` on its own x axis."""
        (_, _, cz), (hx, _, hz) = self.center, self.half
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
        return ridge

    @property
    def quaternion(self) -> tuple[float, float, float, float]:
        """w, x, y, z"""
        cz, sz, cy, sy = cos(self.yaw / 2), sin(self.yaw / 2), cos(self.pitch / 2), sin(self.pitch / 2)
        return (cz * cy, -sz * sy, cz * sy, sz * cy)

    def mirrored(self) -> Box:
        """The block seen in the sagittal mirror (y negated)."""
        x, y, z = self.center
        return replace(self, center=(x, -y, z), yaw=0.0 - self.yaw)

    def corners(self) -> np.ndarray:
        """(8, 3) corners; number 4i + 2j + k lies at the far end of axis x, y, z where i, j, k is 1."""
        signs = np.stack(np.meshgrid(*[[-1.0, 1.0]] * 3, indexing="ij"), axis=-1).reshape(8, 3)
        local = signs * self.half
        c, s = cos(self.pitch), sin(self.pitch)
        x, y, z = c * local[:, 0] + s * local[:, 2], local[:, 1], c * local[:, 2] - s * local[:, 0]
        c, s = cos(self.yaw), sin(self.yaw)
        return np.stack([c * x - s * y, s * x + c * y, z], axis=-1) + self.center


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
class LooseBox:
    """A body that lies on the ground and moves when pushed."""

    box: Box  #: where it lies at first
    mass: float  #: kg
    sliding: float  #: its friction on the ground; `box.friction` is that under a sole

    def mirrored(self) -> LooseBox:
        return replace(self, box=self.box.mirrored())


Point = tuple[float, float]  #: x, y (m), tile frame


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
    loose: tuple[LooseBox, ...] = ()  #: bodies on it that move
    sights: tuple[Box, ...] = ()  #: what cameras see and nothing touches: grass
    way: tuple[Point, ...] = ()  #: its middle line where that is not y = 0

    def mirrored(self) -> Tile:
        """The tile seen in the sagittal mirror (y negated)."""
        return replace(
            self,
            boxes=tuple(box.mirrored() for box in self.boxes),
            loose=tuple(body.mirrored() for body in self.loose),
            sights=tuple(box.mirrored() for box in self.sights),
            way=tuple((x, -y) for x, y in self.way),
        )

    def seen(self) -> Tile:
        """The tile as cameras see it: with what nothing touches, without what moves."""
        return replace(self, boxes=(*self.boxes, *self.sights), sights=()) if self.sights else self

    def at_rest(self) -> Tile:
        """The tile with what moves as part of its ground, where that lies at first."""
        return (
            replace(self, boxes=(*self.boxes, *(b.box for b in self.loose)), loose=()) if self.loose else self
        )

    def rows(self, pool: int) -> np.ndarray:
        """(pool, 8) float64 box rows; unused ones are specks parked far below."""
        if len(self.boxes) > pool:
            raise ValueError(f"{self.kind} has {len(self.boxes)} boxes, the pool holds {pool}")
        rows = np.zeros((pool, BOX_FIELDS))
        rows[:, 2] = PARKED_DEPTH
        rows[:, 3:6] = PARKED_HALF
        rows[: len(self.boxes)] = self._box_rows
        return rows

    @cached_property
    def _box_rows(self) -> np.ndarray:
        return np.array([(*b.center, *b.half, b.pitch, b.yaw) for b in self.boxes])

    @cached_property
    def frictions(self) -> tuple[tuple[int, float], ...]:
        """Which boxes have a friction of their own, and what it is."""
        return tuple((i, box.friction) for i, box in enumerate(self.boxes) if box.friction is not None)

    def prepare(self) -> None:
        """Work out now what would be worked out when it is first asked for."""
        _ = self._box_rows, self.facets, self.frictions

    @cached_property
    def facets(self) -> np.ndarray:
        """(m, 12) float64 upward facets of all boxes by where they begin along x, turned ones last."""
        facets = np.array([facet for box in self.boxes for facet in box.facets()])
        return facets[np.lexsort((facets[:, 0], facets[:, TURNED] != 0.0))]

    def heights(self, points: np.ndarray) -> np.ndarray:
        """Ground height (m) under points (n, 2), exact: on an edge the higher side counts."""
        x, y = np.asarray(points, dtype=np.float64).T
        heights = np.full(x.shape, ABYSS)
        for x0, x1, y0, y1, z0, slope, cx, cy, c, s, along, across in self.facets:
            if along:
                u, v = c * (x - cx) + s * (y - cy), c * (y - cy) - s * (x - cx)
                inside = (abs(u) <= along) & (abs(v) <= across)
            else:
                u = x - x0
                inside = (x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)
            np.maximum(heights, z0 + slope * u, out=heights, where=inside)
        return heights

    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """Vertices (8 b, 3) float64, faces (12 b, 3) int32 of all boxes, outward by the right-hand rule."""
        vertices = np.concatenate([box.corners() for box in self.boxes])
        first = 8 * np.arange(len(self.boxes), dtype=np.int32)
        return vertices, (BOX_FACES + first[:, None, None]).reshape(-1, 3)
