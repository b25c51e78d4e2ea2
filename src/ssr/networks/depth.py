"""The one place where metres become what the CNN sees."""

from __future__ import annotations

from math import cos, radians, sin, tan
from typing import NamedTuple

import torch
from torch import Tensor

CONTRAST = 4.0  #: per metre, so that what a walking robot sees has a standard deviation of about one


class Outlook(NamedTuple):
    """How a camera looks down on level ground."""

    height: float  #: m above it, of a robot that stands
    pitch: float  #: degrees below the horizon
    field: float  #: rad, from the first row's upper border to the last row's lower one

    def drops(self, rows: int) -> Tensor:
        """(rows, 1) metres below the camera per metre of z-depth, of a base that is level."""
        down, half = radians(self.pitch), tan(self.field / 2)
        aside = ((torch.arange(rows) + 0.5) / rows * 2.0 - 1.0) * half
        return (sin(down) + aside * cos(down)).unsqueeze(-1)


def normalise_depth(depth: Tensor, depth_range: tuple[float, float] = (0.1, 3.0)) -> Tensor:
    """Depth in metres, clipped to `depth_range`, as (d - d_min) / (d_max - d_min) - 0.5."""
    nearest, farthest = depth_range
    return (depth.clamp(nearest, farthest) - nearest) / (farthest - nearest) - 0.5


def relative_heights(depth: Tensor, depth_range: tuple[float, float], drops: Tensor, height: float) -> Tensor:
    """Depth in metres, clipped to `depth_range`, as CONTRAST · metres below the ground the robot stands on.

    Level ground is the same number in every row, near or far, so that a tread is level and a riser a step.
    drops: (rows, 1), see `Outlook`; height: of the camera above the ground, m.
    """
    return CONTRAST * (depth.clamp(*depth_range) * drops - height)
