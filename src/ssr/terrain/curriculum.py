"""The level curriculum: who moves up, who moves down, and what follows the hardest level (A.1)."""

from __future__ import annotations

import torch
from torch import Tensor

from ssr.terrain.kinds import PROMOTION_MARGIN
from ssr.terrain.settings import LEVELS

DEMOTION_SHARE = 0.5  #: less than this share of the commanded distance is too little progress
DEMOTION_DISTANCE = 1.0  #: a shorter commanded distance (m) says nothing about ability


def crossed(x: Tensor, first_edge: Tensor, last_edge: Tensor, backward: Tensor | None = None) -> Tensor:
    """Whether the base at `x` (m, tile frame) is 0.5 m past the last edge, or before the first one where the
    tile is walked `backward` (slopes, from the far end)."""
    forth = x >= last_edge + PROMOTION_MARGIN
    if backward is None:
        return forth
    return torch.where(backward, x <= first_edge - PROMOTION_MARGIN, forth)


def next_levels(
    level: Tensor,
    crossed: Tensor,
    progress: Tensor,
    commanded_distance: Tensor,
    first_reset: Tensor,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Levels (n,) int64 of the episodes that begin where others, on `level`, have just ended.

    crossed: the obstacles were crossed (see `crossed`). progress: metres covered in the commanded direction.
    commanded_distance: metres the commands asked for over the time that passed. first_reset: the world has
    just been made, so its episode tells nothing and the level stays. Past the top any level may follow.
    """
    short = progress < DEMOTION_SHARE * commanded_distance
    too_slow = short & (commanded_distance >= DEMOTION_DISTANCE) & ~crossed
    moved = level + crossed.long() - too_slow.long()
    anywhere = torch.randint(LEVELS, level.shape, generator=generator, device=level.device)
    moved = torch.where(moved >= LEVELS, anywhere, moved.clamp(min=0))
    return torch.where(first_reset, level, moved)
