"""Sums of what happens on each terrain type, kept in a few tensor operations a step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ssr.terrain.settings import TERRAIN_TYPES


class TerrainSums:
    """Named totals and counts by terrain type; a metric is total ÷ count."""

    def __init__(self) -> None:
        self.sums: dict[str, Tensor] = {}

    def add(self, name: str, total: Tensor, count: Tensor, terrain_type: Tensor) -> None:
        """total, count (m,) of samples on terrain types (m,); where count is 0, total may be anything."""
        rows = torch.stack((torch.where(count != 0, total, 0.0), count), -1).double()
        if name not in self.sums:
            self.sums[name] = rows.new_zeros(len(TERRAIN_TYPES), 2)
        self.sums[name].index_add_(0, terrain_type, rows)

    def hand_over(self, add: Callable[[str, Tensor, Tensor], None]) -> None:
        """Give every `name/terrain`, its total and its count to `add`, and begin anew."""
        for name, table in self.sums.items():
            for terrain, (total, count) in zip(TERRAIN_TYPES, table.unbind(), strict=True):
                add(f"{name}/{terrain}", total, count)
        self.sums = {}
