"""Training tiles: 8 m × 4 m with obstacles between 1.5 m and 5.5 m, then an 8 m × 8 m apron.

Solid ground reaches past every boundary, so that neither feet nor sight rays fall off the world.
"""

from __future__ import annotations

from math import cos, radians, sin, tan

import numpy as np

from ssr.errors import UserError
from ssr.terrain.settings import check_kind, check_setting, setting_at
from ssr.terrain.tile import EDGE_DECIMALS, Box, Kind, Tile

TILE_POOL = 24  #: no training tile has more boxes

TILE_LENGTH = 8.0
HALF_WIDTH = 2.0
START = 0.75
OBSTACLES_FROM = 1.5
OBSTACLES_TO = 5.5
APRON = 8.0  #: length of the square behind the tile, |y| ≤ APRON / 2
MARGIN = 1.5  #: solid ground beyond the apron and its sides
ENTRY = -3.0  #: where the ground begins, behind the robot
HALF_GROUND = APRON / 2 + MARGIN
THICKNESS = 1.0  #: least depth of solid below any surface

PROMOTION_MARGIN = 0.5  #: how far past the last edge the base must be (m)

LANDING = 0.8  #: least footing between two gaps or two platforms
PLATFORM_LENGTHS = (1.2, 1.5)
OBSTACLE_GRID = (4, 4)  #: one block in each of so many cells along x and across y
OBSTACLE_SIZES = (0.3, 1.0)
OBSTACLE_SPREAD = 2.5  #: blocks lie within |y| ≤ this


def make_tile(
    kind: str,
    level: int | None = None,
    setting: tuple[float, ...] | None = None,
    rng: np.random.Generator | None = None,
) -> Tile:
    """A training tile of a level 0..19 or of a setting (see `settings`).

    `rng` places gaps, platforms and blocks and decides whether a slope given by its level rises or falls; a
    slope's setting says so by its sign. Without `rng` the same tile comes out every time.
    """
    kind = check_kind(kind)
    rng = rng or np.random.default_rng(0)
    if level is not None and setting is not None:
        raise UserError(f"{kind}: give a level or a setting, not both.")
    if level is not None:
        values = setting_at(kind, level)
        if kind == "slope" and rng.random() < 0.5:
            values = (-values[0],)
    elif setting is not None or kind == "flat":
        values = check_setting(kind, tuple(setting or ()))
    else:
        raise UserError(f"{kind}: give a level 0 to 19 or a setting.")
    edges = _edges(kind, values, rng)
    return build(kind, values, edges, length=TILE_LENGTH, level=level, rng=rng)


def _edges(kind: Kind, setting: tuple[float, ...], rng: np.random.Generator) -> list[tuple[float, float]]:
    """Where the obstacles of a training tile begin and end along x."""
    room = OBSTACLES_TO - OBSTACLES_FROM
    if kind in ("stairs_up", "stairs_down"):
        tread = setting[1]
        count = int(room / tread + 1e-9)
        return [(OBSTACLES_FROM + i * tread, OBSTACLES_FROM + (i + 1) * tread) for i in range(count)]
    if kind == "gap":
        return _pair(rng, (setting[0], setting[0]), room)
    if kind == "platform":
        first, second = rng.uniform(*PLATFORM_LENGTHS, size=2)
        return _pair(rng, (first, second), room)
    if kind == "discrete":
        return [(OBSTACLES_FROM, OBSTACLES_TO)]
    return []


def _pair(rng: np.random.Generator, lengths: tuple[float, float], room: float) -> list[tuple[float, float]]:
    """Two obstacles of these lengths, thrown into the room with a landing between them."""
    spare = room - sum(lengths) - LANDING
    before, between = np.sort(rng.uniform(0, spare, size=2))
    first = OBSTACLES_FROM + before
    second = first + lengths[0] + LANDING + (between - before)
    return [(float(first), float(first + lengths[0])), (float(second), float(second + lengths[1]))]


def build(
    kind: Kind,
    setting: tuple[float, ...],
    edges: list[tuple[float, float]],
    *,
    length: float,
    rng: np.random.Generator,
    level: int | None = None,
) -> Tile:
    """The tile of `length` metres whose obstacles occupy `edges` along x."""
    edges = [(round(a, EDGE_DECIMALS), round(b, EDGE_DECIMALS)) for a, b in edges]
    length = round(length, EDGE_DECIMALS)
    end = length + APRON + MARGIN
    first, last, end_height = PROMOTION_MARGIN, length - PROMOTION_MARGIN, 0.0
    if kind == "slope":
        end_height = length * tan(radians(setting[0]))
        boxes = _slope(radians(setting[0]), length, end)
    elif kind in ("stairs_up", "stairs_down"):
        rise = setting[0] if kind == "stairs_up" else -setting[0]
        first, last, end_height = edges[0][0], edges[-1][0], len(edges) * rise
        treads = [(x, i * rise) for i, (x, _) in enumerate(edges, start=1)]
        boxes = _columns([(ENTRY, 0.0), *treads], end)
    elif kind in ("gap", "platform"):
        first, last = edges[0][0], edges[-1][1]
        top = -setting[1] if kind == "gap" else setting[0]
        steps = [step for a, b in edges for step in ((a, top), (b, 0.0))]
        boxes = _columns([(ENTRY, 0.0), *steps], end)
    elif kind == "discrete":
        blocks = [block for stretch in edges for block in _blocks(stretch, setting[0], rng)]
        first = min(b.center[0] - b.half[0] for b in blocks)
        last = max(b.center[0] + b.half[0] for b in blocks)
        boxes = [*_columns([(ENTRY, 0.0)], end), *blocks]
    else:
        boxes = _columns([(ENTRY, 0.0)], end)
    return Tile(
        kind=kind,
        setting=setting,
        boxes=tuple(boxes),
        length=length,
        half_width=HALF_WIDTH,
        start=START,
        first_edge=first,
        last_edge=last,
        end_height=end_height,
        level=level,
    )


def _columns(steps: list[tuple[float, float]], end: float, bottom: float | None = None) -> list[Box]:
    """Blocks across the whole width, one after the other: each step (x, top) holds until the next, or `end`.

    They share their bottom, `THICKNESS` below the lowest top if not given, so that nothing is hollow.
    """
    floor = min(top for _, top in steps) - THICKNESS if bottom is None else bottom
    across = (-HALF_GROUND, HALF_GROUND)
    stops = [*(x for x, _ in steps[1:]), end]
    return [
        Box.spanning((x, stop), across, (floor, top)) for (x, top), stop in zip(steps, stops, strict=True)
    ]


def _slope(angle: float, length: float, end: float) -> list[Box]:
    """One pitched block whose top runs from (0, 0) to (length, length · tan angle), flat at both ends."""
    if angle == 0.0:
        return _columns([(ENTRY, 0.0)], end)
    top = length * tan(angle)
    incline = Box(
        (length / 2 + THICKNESS / 2 * sin(angle), 0.0, top / 2 - THICKNESS / 2 * cos(angle)),
        (length / 2 / cos(angle), HALF_GROUND, THICKNESS / 2),
        -angle,
    )
    bottom = min(0.0, top) - THICKNESS
    return [
        *_columns([(ENTRY, 0.0)], 0.0, bottom),
        incline,
        *_columns([(length, top)], end, bottom),
    ]


def _blocks(stretch: tuple[float, float], height: float, rng: np.random.Generator) -> list[Box]:
    """Blocks strewn over one stretch, one in each cell of a grid so that no lane is free of them.

    They may overlap, in which case the higher one is the ground; at least one has the full height.
    """
    rows, columns = OBSTACLE_GRID
    cells = [(i, j) for i in range(rows) for j in range(columns)]
    tops = height * rng.uniform(0.5, 1.0, size=len(cells))
    tops[rng.integers(len(cells))] = height
    blocks = []
    for (i, j), top in zip(cells, tops, strict=True):
        size = rng.uniform(*OBSTACLE_SIZES, size=2)
        low = np.array([stretch[0], -OBSTACLE_SPREAD])
        high = np.array([stretch[1], OBSTACLE_SPREAD])
        center = low + (high - low) * (np.array([i, j]) + rng.random(2)) / OBSTACLE_GRID
        center = np.clip(center, low + size / 2, high - size / 2)
        (x0, y0), (x1, y1) = (center - size / 2).tolist(), (center + size / 2).tolist()
        blocks.append(Box.spanning((x0, x1), (y0, y1), (-THICKNESS, float(top))))
    return blocks
