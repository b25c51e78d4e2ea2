"""Where feet came down, and how well they would rest there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ssr.robots.spec import Sole
from ssr.terrain.tile import Tile
from ssr.vision.support import resting_deficiency

TRAIL = 12  #: footprints kept


@dataclass(frozen=True, kw_only=True)
class Footprint:
    position: np.ndarray  #: (3,) centre of the sole where it comes to rest
    yaw: float
    support: float  #: share of the sole with ground under it, once it lies flat


def footprint(sole: Sole, tile: Tile, position: np.ndarray, yaw: float, inclined: bool) -> Footprint:
    """Of a sole with its centre at (3,) and turned by `yaw`, tile frame; `inclined` ground may slope."""
    x, y = sole.offsets().reshape(-1, 2).T
    turned = np.stack([x * np.cos(yaw) - y * np.sin(yaw), x * np.sin(yaw) + y * np.cos(yaw)], axis=-1)
    heights = tile.heights(position[:2] + turned)
    missing = resting_deficiency(torch.from_numpy(heights), slope=torch.tensor(inclined))
    place = np.array([*position[:2], heights.max()])
    return Footprint(position=place, yaw=yaw, support=1.0 - float(missing))
