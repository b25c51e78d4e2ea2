"""The one place where metres become what the CNN sees."""

from __future__ import annotations

from torch import Tensor


def normalise_depth(depth: Tensor, depth_range: tuple[float, float] = (0.1, 3.0)) -> Tensor:
    """Depth in metres, clipped to `depth_range`, as (d - d_min) / (d_max - d_min) - 0.5."""
    nearest, farthest = depth_range
    return (depth.clamp(nearest, farthest) - nearest) / (farthest - nearest) - 0.5
