"""Which tile a world stands on: a bank of ready-made tiles per kind and level."""

from __future__ import annotations

from itertools import chain
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ssr.task.config import TerrainConfig
from ssr.terrain.making import make_tile
from ssr.terrain.settings import LEVELS
from ssr.terrain.tile import Tile

VARIANTS = 8  #: different tiles per kind and level


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
