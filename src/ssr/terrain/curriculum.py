"""The level curriculum: who moves up, who moves down, and what follows the hardest level (A.1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from torch import Tensor

from ssr.terrain.ground import PROMOTION_MARGIN
from ssr.terrain.settings import LEVELS

DEMOTION_SHARE = 0.5  #: less than this share of the commanded distance is too little progress
DEMOTION_DISTANCE = 1.0  #: a shorter commanded distance (m) says nothing about ability


@njit(cache=True, nogil=True)
def crossed(x: float, first_edge: float, last_edge: float, backward: bool = False) -> bool:
    """Whether the base at `x` (m, tile frame) is 0.5 m past the last edge, or before the first one where the
    tile is walked `backward` (slopes, from the far end). For kernels: one world, numbers in float32."""
    margin = np.float32(PROMOTION_MARGIN)
    return bool(x <= first_edge - margin if backward else x >= last_edge + margin)


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
    env_ids: Tensor | None = None,
    failed: Tensor | None = None,
) -> Tensor:
    """Levels (m,) int64 of the episodes that begin where others, on `level`, have just ended.

    crossed: the obstacles were crossed (see `crossed`). progress: metres covered in the commanded direction.
    commanded_distance: metres the commands asked for over the time that passed. first_reset: the world has
    just been made, so its episode tells nothing and the level stays. Past the top any level may follow.
    failed: bool, the episode ended in a way that counts as too hard, however fast it went; by default none.
    All of these are (n,), on the CPU; env_ids (m,): the worlds that are asked about, by default all.
    """
    worlds = np.arange(level.shape[0]) if env_ids is None else env_ids.numpy()
    anywhere = torch.randint(LEVELS, worlds.shape, generator=generator).numpy()
    failed = torch.zeros_like(crossed) if failed is None else failed
    episodes = Episodes(
        level=level.numpy(),
        crossed=crossed.numpy(),
        progress=progress.numpy(),
        commanded_distance=commanded_distance.numpy(),
        first_reset=first_reset.numpy(),
        failed=failed.numpy(),
    )
    # A plain tuple: a cache that knows a named tuple breaks when that is renamed.
    _next_levels(worlds, anywhere, tuple(episodes))
    return torch.from_numpy(anywhere)


@njit(cache=True, nogil=True)
def _next_levels(worlds, anywhere, episodes):
    """Replaces `anywhere` (m,), any level, where another one follows; episodes: `Episodes`."""
    e = Episodes(*episodes)
    for k in range(len(worlds)):
        i = worlds[k]
        judged = e.commanded_distance[i] >= DEMOTION_DISTANCE
        too_slow = e.progress[i] < DEMOTION_SHARE * e.commanded_distance[i]
        if e.first_reset[i]:
            anywhere[k] = e.level[i]
        elif not e.crossed[i]:
            anywhere[k] = max(e.level[i] - 1, 0) if judged and (too_slow or e.failed[i]) else e.level[i]
        elif e.level[i] + 1 < LEVELS:
            anywhere[k] = e.level[i] + 1
