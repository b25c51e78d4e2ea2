"""Ground without an end, laid as somebody walks on: a trail of pieces, or an open field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol

import numpy as np

from ssr.terrain.ground import THICKNESS, Plot
from ssr.terrain.kind import Setting
from ssr.terrain.registry import kind_named
from ssr.terrain.route import HALF_LANE, TURNING, Layer, Piece, Route, boundless, choose, either_way
from ssr.terrain.tile import Box, Point, Tile

Choose = Callable[[float, np.random.Generator], tuple[str, Setting]]  #: kind and setting at a height (m)

AHEAD = 30.0  #: m of a trail that are laid before whoever walks it
HALF_FIELD = 24.0  #: m of an open field to each side
GRAIN = 8.0  #: m, an open field is laid about multiples of this


class Surroundings(Protocol):
    def around(self, place: Point, origin: Sequence[float]) -> Tile:
        """What a robot at `place` can touch and see, as a tile whose frame begins at `origin` (3,)."""
        ...


class Landscape(Surroundings, Protocol):
    def scenery(self, place: Point, reach: float) -> dict[str, Tile]:
        """What an onlooker sees within `reach` m of a place, by name, each in the landscape's own frame."""
        ...


class Trail:
    """Piece after piece, each where the last one ended; as long as it has to be."""

    def __init__(self, choose: Choose, seed: int, turning: float = TURNING) -> None:
        self._choose, self._rng, self._turning = choose, np.random.default_rng(seed), turning
        self._seed, self._layer = seed, Layer()
        self._ends = [(len(self._layer.boxes), len(self._layer.sights))]  #: of what belongs to each piece
        self._middles = [np.zeros(2)]
        self.reach(AHEAD)

    def reach(self, distance: float) -> bool:
        """Lay what is missing up to so many metres; whether anything was."""
        layer = self._layer
        if layer.done >= distance:
            return False
        while layer.done < distance:
            begin = np.array(layer.way[-1])
            layer.go_on(*self._choose(layer.z, self._rng), self._rng, self._turning)
            self._ends.append((len(layer.boxes), len(layer.sights)))
            self._middles.append((begin + layer.way[-1]) / 2)
        self.route = Route(
            seed=self._seed,
            boxes=tuple(layer.boxes),
            sights=tuple(layer.sights),
            pieces=tuple(layer.pieces),
            way=tuple(layer.way),
        )
        return True

    def around(self, place: Point, origin: Sequence[float]) -> Tile:
        return self.route.around(place, origin)

    def scenery(self, place: Point, reach: float) -> dict[str, Tile]:
        """Whole pieces whose middle is within reach."""
        begins = [(0, 0), *self._ends[:-1]]
        spans = zip(begins, self._ends, self._middles, strict=True)
        return {
            f"piece-{k}": boundless(self.route.boxes[a:b], self.route.sights[c:d])
            for k, ((a, c), (b, d), middle) in enumerate(spans)
            if np.linalg.norm(middle - place) < reach
        }

    def piece_at(self, distance: float) -> Piece | None:
        """None on level ground between two pieces."""
        return next((p for p in self.route.pieces if p.begin <= distance < p.end), None)


class OpenField:
    """Level ground in every direction."""

    def around(self, place: Point, origin: Sequence[float]) -> Tile:
        x, y = (GRAIN * round(v / GRAIN) - o for v, o in zip(place, origin[:2], strict=True))
        along, across = ((v - HALF_FIELD, v + HALF_FIELD) for v in (x, y))
        return boundless([Box.spanning(along, across, (-THICKNESS - origin[2], -origin[2]))])

    def scenery(self, place: Point, reach: float) -> dict[str, Tile]:
        middle = [GRAIN * round(v / GRAIN) for v in place]
        return {f"field-{middle[0]:g}-{middle[1]:g}": self.around(place, (0.0, 0.0, 0.0))}


@cache
def joins(kind: str) -> bool:
    """Whether pieces of this kind can follow each other: nothing is loose, and the way leads straight on."""
    known = kind_named(kind)
    setting, rng = known.at(0), np.random.default_rng(0)
    made = known.build(setting, known.strip(setting, 4.0), Plot(length=6.0, half_width=HALF_LANE), rng)
    return not made.loose and not made.way


def course(level: int) -> Choose:
    """Everything that training and streets have, up to a level."""
    return lambda height, rng: choose(height, rng, (0, level))


def only(kind: str, level: int) -> Choose:
    """One kind at a level; up and down in turn where it can be both."""
    known = kind_named(kind)
    setting = tuple(round(value, 3) for value in known.at(level))
    return lambda height, rng: (kind, either_way(kind, setting, height, rng))
