"""Which tile a world stands on: a bank of ready-made tiles per kind and level."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ssr.task.config import TerrainConfig
from ssr.terrain.field import PIT
from ssr.terrain.making import make_tile
from ssr.terrain.registry import kind_named
from ssr.terrain.settings import LEVELS
from ssr.terrain.tile import Tile

VARIANTS = 8  #: different tiles per kind and level
FOOTING = 0.3  #: m before and behind where a robot begins that must be ground
TRIES = 20  #: places that are looked at


class TileSource(Protocol):
    def draw(self, worlds: Tensor, levels: Tensor, generator: torch.Generator) -> list[Tile]:
        """A tile for each of the (m,) `worlds` whose next episode has the (m,) `levels`."""


class TileBank:
    """`VARIANTS` tiles for every kind and level, made once."""

    def __init__(self, config: TerrainConfig, seed: int) -> None:
        self.config = config
        rng = np.random.default_rng(seed)
        self.tiles: dict[tuple[str, int], list[Tile]] = {}
        for kind in dict.fromkeys(config.kinds):
            for level in range(LEVELS):
                # Every other tile is the mirror image of the one before, so that the bank favours no side.
                made = [make_tile(kind, level=level, rng=rng) for _ in range(VARIANTS // 2)]
                midway = round(config.midway_starts * len(made))
                made[:midway] = [_among_obstacles(tile, rng) for tile in made[:midway]]
                self.tiles[kind, level] = [tile for one in made for tile in (one, one.mirrored())]
        for tile in chain.from_iterable(self.tiles.values()):
            tile.prepare()

    def kind_of(self, world: int) -> str:
        return self.config.kinds[world % len(self.config.kinds)]

    def draw(self, worlds: Tensor, levels: Tensor, generator: torch.Generator) -> list[Tile]:
        pick = torch.randint(VARIANTS, (len(worlds),), generator=generator)
        return [
            self.tiles[self.kind_of(world), level][variant]
            for world, level, variant in zip(worlds.tolist(), levels.tolist(), pick.tolist(), strict=True)
        ]


def _among_obstacles(tile: Tile, rng: np.random.Generator) -> Tile:
    """The tile with its start at a random place up to the middle of its obstacles, on solid ground."""
    pits = kind_named(tile.kind).has_pits
    for x in rng.uniform(tile.start, max(tile.start, (tile.first_edge + tile.last_edge) / 2), size=TRIES):
        around = np.stack([np.linspace(x - FOOTING, x + FOOTING, 7), np.zeros(7)], axis=1)
        if not pits or tile.heights(around).min() > -PIT:
            return replace(tile, start=float(x))
    return tile
