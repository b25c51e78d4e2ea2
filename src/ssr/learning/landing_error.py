"""How far imagined landings were off, by terrain type and by how many control steps were left to contact."""

from __future__ import annotations

import torch
from torch import Tensor

from ssr.learning.ranks import ALONE, Ranks
from ssr.terrain.settings import TERRAIN_TYPES

#: control steps to contact, first and last
SPANS = ((1, 2), (3, 5), (6, 10), (11, None))
NAMES = tuple(f"{first}-{last}" if last else f"{first}+" for first, last in SPANS)


def empty_errors(device: torch.device | str = "cpu") -> Tensor:
    """(types, spans, 2) no error and no sample yet."""
    return torch.zeros(len(TERRAIN_TYPES), len(SPANS), 2, dtype=torch.float64, device=device)


def sum_errors(squared: Tensor, terrain_type: Tensor, steps_left: Tensor) -> Tensor:
    """(types, spans, 2) sums of squared distances (m²) and their number, of labels (m,)."""
    span = torch.stack([steps_left >= first for first, _ in SPANS]).sum(0) - 1
    table = empty_errors(squared.device)
    samples = torch.stack((squared.double(), torch.ones_like(squared, dtype=torch.float64)), -1)
    table.view(-1, 2).index_add_(0, terrain_type * len(SPANS) + span, samples)
    return table


def landing_errors(table: Tensor, ranks: Ranks = ALONE) -> dict[str, float]:
    """Root mean square error (m) as `foothold_rmse/stairs/3-5`, over all ranks; every rank must ask."""
    ranks.sum_(table)
    return {
        f"foothold_rmse/{terrain}/{name}": (squared / count) ** 0.5
        for terrain, row in zip(TERRAIN_TYPES, table.tolist(), strict=True)
        for name, (squared, count) in zip(NAMES, row, strict=True)
        if count
    }
