"""The robot's eye as a picture: depth in metres to colours."""

from __future__ import annotations

from functools import cache

import numpy as np


@cache
def _palette() -> np.ndarray:
    """(256, 3) uint8, from near to far."""
    from matplotlib import colormaps

    return (255 * colormaps["turbo"](np.arange(256))[:, :3]).round().astype(np.uint8)


def depth_picture(depth: np.ndarray, near: float, far: float, side: int) -> np.ndarray:
    """Depth (h, w) m → (side, side, 3) uint8, near in blue and far in red."""
    share = np.clip((depth - near) / (far - near), 0.0, 1.0)
    colours = _palette()[(255 * share).round().astype(np.intp)]
    rows, columns = (np.arange(side) * pixels // side for pixels in depth.shape)
    return colours[:, columns][rows]
