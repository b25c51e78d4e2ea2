"""What a stereo depth camera does to a perfect image: noise, holes, a blind band and grass in the way.

Off by default; meant for robustness work. Images are z-depths in metres, row 0 on top, column 0 on the left.
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from ssr.ranges import Share, Within, settings

BAND_COLUMNS = 2  #: the leftmost columns one of the two imagers may miss; drawn per image, 0 to this
BLADE_PRESENCE = 0.3  #: probability of each blade of grass
BLADE_DEPTH = (0.15, 0.6)  #: m
BLADE_COLUMNS = (0.5, 1.5)  #: width
BLADE_LEAN = 0.4  #: most columns sideways per row upwards


@settings("camera.sensor")
class SensorConfig:
    enabled: bool = False
    noise_at_1m: Annotated[float, Within(0.0, 1.0)] = (
        0.005  #: m, standard deviation at 1 m; a stereo camera's grows with the square of depth
    )
    dropped: Share = 0.01  #: share of pixels without a measurement
    blades: Annotated[int, Within(0, 100)] = 6  #: most blades of grass before the camera in one image


def sense(depth: Tensor, config: SensorConfig, near: float, far: float, generator: torch.Generator) -> Tensor:
    """Images (m, H, W) as the sensor reports them, in [near, far]. The input is left as it is.

    What is not measured reads `near`: a D435i writes 0.
    """
    if not config.enabled or depth.numel() == 0:
        return depth
    seen = _overgrown(depth, config, generator)
    normal = torch.randn(depth.shape, generator=generator, device=depth.device)
    seen = seen + config.noise_at_1m * seen.square() * normal
    missing = _uniform(depth.shape, generator, depth) < config.dropped
    missing = missing | _band(depth, generator)
    seen = torch.where(missing, near, seen)
    return seen.clamp(near, far)


def _band(depth: Tensor, generator: torch.Generator) -> Tensor:
    """(m, 1, W) mask of the blind columns on the left, their number drawn per image."""
    width = _uniform((len(depth), 1, 1), generator, depth) * (BAND_COLUMNS + 1)
    return torch.arange(depth.shape[2], device=depth.device) < width.floor()


def _overgrown(depth: Tensor, config: SensorConfig, generator: torch.Generator) -> Tensor:
    """Blades of grass: straight, leaning, rooted in the bottom row, each at a depth of its own."""
    images, height, width = depth.shape
    if config.blades == 0:
        return depth
    draw = lambda low, high: low + (high - low) * _uniform((images, config.blades, 1, 1), generator, depth)
    root, lean = draw(0.0, float(width)), draw(-BLADE_LEAN, BLADE_LEAN)
    tip, half_width = draw(0.0, float(height)), draw(*BLADE_COLUMNS) / 2
    distance = torch.where(draw(0.0, 1.0) < BLADE_PRESENCE, draw(*BLADE_DEPTH), torch.inf)
    above_ground = torch.arange(height - 1, -1, -1, device=depth.device)[:, None]
    column = torch.arange(width, device=depth.device) + 0.5
    on_blade = ((column - root - lean * above_ground).abs() <= half_width) & (above_ground <= height - tip)
    blades = torch.where(on_blade, distance, torch.inf).amin(1)
    return torch.minimum(depth, blades)


def _uniform(shape: tuple[int, ...], generator: torch.Generator, like: Tensor) -> Tensor:
    return torch.rand(shape, generator=generator, device=like.device)
