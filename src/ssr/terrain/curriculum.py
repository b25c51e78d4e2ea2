"""The level curriculum: who moves up, who moves down, and what follows the hardest level (A.1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ssr.per_world import compiled, per_world, single
from ssr.terrain.ground import PROMOTION_MARGIN
from ssr.terrain.settings import LEVELS

DEMOTION_SHARE = 0.5  #: less than this share of the commanded distance is too little progress
DEMOTION_DISTANCE = 1.0  #: a shorter commanded distance (m) says nothing about ability


@compiled
def crossed(x, first_edge, last_edge, backward=False):
    """Whether the base at `x` (m, tile frame) is 0.5 m past the last edge, or before the first one where the
    tile is walked `backward` (slopes, from the far end). For rules: one world, numbers in float32."""
    margin = single(PROMOTION_MARGIN)
    return x <= first_edge - margin if backward else x >= last_edge + margin


class Episodes(NamedTuple):
    """What `next_levels` is told, as arrays (n,)."""

    level: np.ndarray
    crossed: np.ndarray
    progress: np.ndarray
    commanded_distance: np.ndarray
    first_reset: np.ndarray
    failed: np.ndarray


def next_levels(
    level: Tensor,
    crossed: Tensor,
    progress: Tensor,
    commanded_distance: Tensor,
    first_reset: Tensor,
    generator: torch.Generator | None = None,
    worlds: Tensor | None = None,
    failed: Tensor | None = None,
) -> Tensor:
    """Levels (m,) int64 of the episodes that begin where others, on `level`, have just ended.

    crossed: the obstacles were crossed (see `crossed`). progress: metres covered in the commanded direction.
    commanded_distance: metres the commands asked for over the time that passed. first_reset: the world has
    just been made, so its episode tells nothing and the level stays. Past the top any level may follow.
    failed: bool, the episode ended in a way that counts as too hard, however far it came; by default none.
    All of these are (n,). worlds: those that are asked about, by default all; numbers (m,) of worlds on the
    CPU, or a mask (n,) bool of which those that are not asked about get any level (n,).
    """
    worlds = torch.arange(level.shape[0]) if worlds is None else worlds
    at = level.device
    anywhere = torch.randint(LEVELS, worlds.shape, generator=generator, device=at, dtype=level.dtype)
    failed = torch.zeros_like(crossed) if failed is None else failed
    given = lambda x: x if worlds.dtype == torch.bool else x.numpy()
    episodes = Episodes(
        level=given(level),
        crossed=given(crossed),
        progress=given(progress),
        commanded_distance=given(commanded_distance),
        first_reset=given(first_reset),
        failed=given(failed),
    )
    next_level(given(worlds), given(anywhere), episodes)
    return anywhere


@per_world(None, Episodes)
def next_level(anywhere, e, i, k):
    """Replaces `anywhere` (m,), any level, where another one follows."""
    judged = e.commanded_distance[i] >= DEMOTION_DISTANCE
    too_slow = e.progress[i] < DEMOTION_SHARE * e.commanded_distance[i]
    if e.first_reset[i]:
        anywhere[k] = e.level[i]
    elif e.failed[i] or not e.crossed[i]:
        anywhere[k] = max(e.level[i] - 1, 0) if judged and (too_slow or e.failed[i]) else e.level[i]
    elif e.level[i] + 1 < LEVELS:
        anywhere[k] = e.level[i] + 1
