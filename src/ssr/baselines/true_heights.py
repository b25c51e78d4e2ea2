"""The map of true heights that PIM walks by: part of the privileged state's own map, which is exact."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ssr.symmetry.layout import Layout, Mirror, apply
from ssr.symmetry.vectors import BASE_MAP
from ssr.vision.heightmap import base_offsets

GRID = (12, 8)  #: rows forward, columns leftward, 0.1 m apart
X = (-0.5, 0.6)  #: m, first and last row: 1.2 m × 0.8 m about the robot
NOISE = 0.03  #: m, half the width of the uniform noise
SEGMENT = "base_height_map"


class HeightSensor:
    """96 of the 180 heights about the base, in the privileged state's scale."""

    SIZE = GRID[0] * GRID[1]

    def __init__(self, privileged: Layout) -> None:
        offsets = base_offsets().reshape(*BASE_MAP, 2)
        near = 1e-4
        rows = np.flatnonzero((offsets[:, 0, 0] > X[0] - near) & (offsets[:, 0, 0] < X[1] + near))
        side = (BASE_MAP[1] - GRID[1]) // 2
        columns = np.arange(side, side + GRID[1])
        assert len(rows) == GRID[0], "rows of the privileged map"
        begin = privileged.slice(SEGMENT).start
        self._places = torch.from_numpy(begin + (rows[:, None] * BASE_MAP[1] + columns).flatten())
        scale = next(s.scale for s in privileged if s.name == SEGMENT)
        assert isinstance(scale, float)
        self._noise, self._mirror = NOISE * scale, Mirror.grid(*GRID)

    def true(self, privileged: Tensor) -> Tensor:
        """(n, 96) of states (n, S)."""
        self._places = self._places.to(privileged.device)
        return privileged.index_select(-1, self._places)

    def noisy(self, privileged: Tensor, luck: torch.Generator | None = None) -> Tensor:
        """(n, 96) as the actor sees them; luck: whose numbers are drawn, by default torch's."""
        heights = self.true(privileged)
        chance = torch.rand(heights.shape, generator=luck, device=heights.device)
        return heights + self._noise * (2.0 * chance - 1.0)

    def mirror(self, heights: Tensor) -> Tensor:
        return apply(self._mirror, heights)
