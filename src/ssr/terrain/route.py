"""A route: kilometres of mixed terrain with turns, from a seed; described as a tile is, by boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import cos, pi, radians, sin

import numpy as np

from ssr.errors import UserError
from ssr.terrain.ground import THICKNESS, Obstacles, Plot
from ssr.terrain.kind import Setting
from ssr.terrain.kinds.tall_grass import blades
from ssr.terrain.registry import kind_named
from ssr.terrain.tile import Box, Point, Tile

HALF_LANE = 2.0  #: m from the way's middle line to its sides, beyond which there is nothing
LENGTHS = (10.0, 10_000.0)  #: m, of a route
OBSTACLES = (3.0, 8.0)  #: m of one kind
RUN_OUT = 1.5  #: m of level ground behind the obstacles of a piece
LEVELS = (1, 12)  #: difficulty of a piece, both included
TURN = 60.0  #: most degrees between two pieces, and from the route's own direction
TURNING = 0.4  #: share of pieces behind which the way turns
GRASS = (0.45, 12.0)  #: blade height and density on slopes
HIGHEST = 8.0  #: m above or below the start, beyond which the way leads back
LOOK = 6.0  #: m around a robot, whose boxes are laid under it

#: how often each kind comes, by its weight; stairs and slopes go up or down as they must
SHARES = {
    "stairs_up": 3, "stairs_down": 3, "platform": 2, "discrete": 2, "gap": 1, "slope": 2, "uneven_stairs": 1,
    "street": 1, "flat": 1,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A stretch of one terrain."""

    kind: str
    setting: Setting
    begin: float  #: m on the way
    end: float
    heading: float  #: rad

    @property
    def title(self) -> str:
        kind = kind_named(self.kind)
        return f"{kind.name_of(self.setting)} {kind.size(self.setting)}".strip()


@dataclass(frozen=True, kw_only=True)
class Route:
    seed: int
    boxes: tuple[Box, ...]  #: route frame: x along its direction, from its start
    sights: tuple[Box, ...]
    pieces: tuple[Piece, ...]
    way: tuple[Point, ...]  #: middle line

    @cached_property
    def _reach(self) -> tuple[np.ndarray, np.ndarray]:
        """(N, 3) x, y and radius in the plane of boxes and of sights."""
        return _circles(self.boxes), _circles(self.sights)

    def around(self, place: Point, origin: Sequence[float]) -> Tile:
        """What lies within `LOOK` m of a place, as a tile whose frame begins at `origin` (3,).

        Who stands on it is never out of bounds and has never crossed it.
        """
        own, seen = (
            tuple(moved(group[k], origin) for k in _near(circles, place))
            for group, circles in zip((self.boxes, self.sights), self._reach, strict=True)
        )
        return boundless(own, seen)

    def whole(self) -> Tile:
        """All of it as one tile."""
        return replace(self.around((0.0, 0.0), (0.0, 0.0, 0.0)), boxes=self.boxes, sights=self.sights)


def boundless(boxes: Sequence[Box], sights: Sequence[Box] = ()) -> Tile:
    """A tile that nobody on it ever crosses or leaves."""
    return Tile(
        kind="street",
        setting=(0.1,),
        boxes=tuple(boxes),
        sights=tuple(sights),
        length=1e6,
        half_width=1e6,
        start=0.0,
        first_edge=0.0,
        last_edge=1e6,
        end_height=0.0,
    )


def _circles(boxes: Sequence[Box]) -> np.ndarray:
    rows = [
        (*b.center[:2], float(np.hypot(np.hypot(b.half[0], b.half[2] * sin(abs(b.pitch))), b.half[1])))
        for b in boxes
    ]
    return np.array(rows).reshape(-1, 3)


def _near(circles: np.ndarray, place: Point) -> list[int]:
    away = np.hypot(circles[:, 0] - place[0], circles[:, 1] - place[1])
    return np.flatnonzero(away < LOOK + circles[:, 2]).tolist()


def moved(box: Box, origin: Sequence[float]) -> Box:
    """The box seen from a frame that begins at `origin`."""
    x, y, z = (a - b for a, b in zip(box.center, origin, strict=True))
    return replace(box, center=(x, y, z))


def make_route(seed: int, length: float) -> Route:
    """A route of at least `length` m, the same for a seed; a shorter one is a longer one's beginning."""
    if not LENGTHS[0] <= length <= LENGTHS[1]:
        raise UserError(f"Route of {length:g} m: expected {LENGTHS[0]:g} to {LENGTHS[1]:g} m.")
    if seed < 0:
        raise UserError(f"Route of seed {seed}: expected 0 or more.")
    rng = np.random.default_rng(seed)
    layer = Layer()
    while layer.done < length:
        layer.go_on(*choose(layer.z, rng), rng)
    layer.level(3.0)
    return Route(
        seed=seed,
        boxes=tuple(layer.boxes),
        sights=tuple(layer.sights),
        pieces=tuple(layer.pieces),
        way=tuple(layer.way),
    )


def _new_heading(heading: float, rng: np.random.Generator) -> float:
    most = radians(TURN)
    return float(np.clip(heading + rng.uniform(-most, most), -most, most))


def choose(height: float, rng: np.random.Generator, levels: tuple[int, int] = LEVELS) -> tuple[str, Setting]:
    """A kind and its setting; far above or below the start the way leads back."""
    names = list(SHARES)
    shares = np.array([SHARES[name] for name in names], dtype=np.float64)
    if abs(height) > HIGHEST:
        wrong = "stairs_up" if height > 0 else "stairs_down"
        shares[names.index(wrong)] = 0.0
    kind = kind_named(names[int(rng.choice(len(names), p=shares / shares.sum()))])
    setting = tuple(round(v, 3) for v in kind.at(int(rng.integers(levels[0], levels[1] + 1))))
    return kind.name, either_way(kind.name, setting, height, rng)


def either_way(kind: str, setting: Setting, height: float, rng: np.random.Generator) -> Setting:
    """Up or down, where a kind can be both."""
    falls = kind in ("slope", "uneven_stairs") and (
        height > HIGHEST or (height > -HIGHEST and rng.random() < 0.5)
    )
    return (-setting[0], *setting[1:]) if falls else setting


class Layer:
    """Lays piece after piece, each where the last one ended."""

    def __init__(self) -> None:
        self.boxes: list[Box] = []
        self.sights: list[Box] = []
        self.pieces: list[Piece] = []
        self.way: list[Point] = [(0.0, 0.0)]
        self.x, self.y, self.z, self.heading, self.done = 0.0, 0.0, 0.0, 0.0, 0.0
        self.level(RUN_OUT + 2.0, behind=3.0)

    def go_on(self, name: str, setting: Setting, rng: np.random.Generator, turning: float = TURNING) -> None:
        """One more piece, and perhaps a turn."""
        self.piece(name, setting, rng)
        if rng.random() < turning:
            self.turn(_new_heading(self.heading, rng))

    def piece(self, name: str, setting: Setting, rng: np.random.Generator) -> None:
        kind = kind_named(name)
        edges = [(round(a, 9), round(b, 9)) for a, b in kind.strip(setting, float(rng.uniform(*OBSTACLES)))]
        length = max([6.0, *(b + RUN_OUT for _, b in edges)])
        made = kind.build(setting, edges, Plot(length=length, half_width=HALF_LANE), rng)
        begin = self.done
        self._put(_cropped(made, length), [*made.sights, *_grass(name, setting, length, rng)])
        self._go(length, made.end_height)
        self.pieces.append(
            Piece(kind=name, setting=setting, begin=begin, end=self.done, heading=self.heading)
        )

    def level(self, length: float, behind: float = 0.0) -> None:
        self._put([Box.spanning((-behind, length), (-HALF_LANE, HALF_LANE), (-THICKNESS, 0.0))])
        self._go(length, 0.0)

    def turn(self, heading: float) -> None:
        """A landing as long as the lane is wide; the way turns in its middle."""
        self.level(HALF_LANE)
        self._put([Box.spanning((-1e-3, HALF_LANE), (-HALF_LANE, HALF_LANE), (-THICKNESS, 0.0))])
        self.heading = heading
        self._put([Box.spanning((-HALF_LANE, 1e-3), (-HALF_LANE, HALF_LANE), (-THICKNESS, 0.0))])
        self.level(HALF_LANE)

    def _put(self, boxes: Sequence[Box], sights: Sequence[Box] = ()) -> None:
        self.boxes += [self._placed(box) for box in boxes]
        self.sights += [self._placed(box) for box in sights]

    def _placed(self, box: Box) -> Box:
        (x, y, z), c, s = box.center, cos(self.heading), sin(self.heading)
        yaw = (box.yaw + self.heading + pi) % (2 * pi) - pi if self.heading or box.yaw else 0.0
        center = (self.x + c * x - s * y, self.y + s * x + c * y, self.z + z)
        return replace(box, center=center, yaw=yaw)

    def _go(self, length: float, rise: float) -> None:
        self.x += length * cos(self.heading)
        self.y += length * sin(self.heading)
        self.z += rise
        self.done += length
        self.way.append((self.x, self.y))


def _cropped(made: Obstacles, length: float) -> list[Box]:
    """What lies between a piece's ends and within its lane."""
    kept = []
    for box in made.boxes:
        (cx, cy, cz), (hx, hy, hz) = box.center, box.half
        y0, y1 = max(cy - hy, -HALF_LANE), min(cy + hy, HALF_LANE)
        x0, x1 = (cx - hx, cx + hx) if box.pitch else (max(cx - hx, 0.0), min(cx + hx, length))
        if x1 - x0 > 1e-6 and y1 - y0 > 1e-6:
            center, half = ((x0 + x1) / 2, (y0 + y1) / 2, cz), ((x1 - x0) / 2, (y1 - y0) / 2, hz)
            kept.append(replace(box, center=center, half=half))
    return kept


def _grass(kind: str, setting: Setting, length: float, rng: np.random.Generator) -> list[Box]:
    """Grass grows on slopes."""
    if kind != "slope":
        return []
    slope = np.tan(radians(setting[0]))
    rooted = blades((0.0, length), HALF_LANE - 0.5, GRASS, rng)
    return [
        replace(b, center=(b.center[0], b.center[1], b.center[2] + float(slope * b.center[0])))
        for b in rooted
    ]
