"""The one place where metres become what the CNN sees."""

from __future__ import annotations

from math import log

from torch import Tensor

MIDDLE = 0.85  #: m, the geometric mean of what a walking robot sees
CONTRAST = 2.0  #: per e-fold, so that what it sees has a standard deviation of one


def normalise_depth(
    depth: Tensor, depth_range: tuple[float, float] = (0.1, 3.0), logarithmic: bool = False
) -> Tensor:
    """Depth in metres, clipped to `depth_range`, as (d - d_min) / (d_max - d_min) - 0.5.

    logarithmic: as CONTRAST · ln(d / MIDDLE) instead. Edges near and far then weigh alike.
    """
    nearest, farthest = depth_range
    depth = depth.clamp(nearest, farthest)
    if logarithmic:
        return CONTRAST * (depth.log() - log(MIDDLE))
    return (depth - nearest) / (farthest - nearest) - 0.5
