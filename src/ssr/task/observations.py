"""Building the flat vectors of `Layouts` from named quantities."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ssr.symmetry.layout import Layout
from ssr.task.config import NoiseConfig


class VectorBuilder:
    """Fills a layout by name and applies its scales."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        scale = torch.ones(layout.size)
        for segment in layout:
            scale[layout.slice(segment.name)] = torch.as_tensor(segment.scale, dtype=torch.float32)
        self.scale = scale

    def __call__(self, parts: Mapping[str, Tensor]) -> Tensor:
        """Raw SI quantities (n, ...) by segment name → (n, size)."""
        flat = [parts[s.name].flatten(1) for s in self.layout]
        return torch.cat(flat, dim=-1) * self.scale


def noise_widths(layout: Layout, noise: NoiseConfig) -> Tensor:
    """Half-width of the uniform noise on each entry, in the vector's scaled units."""
    widths = torch.zeros(layout.size)
    for name in ("angular_velocity", "gravity", "joint_position", "joint_velocity"):
        segment = next(s for s in layout if s.name == name)
        widths[layout.slice(name)] = getattr(noise, name) * torch.as_tensor(
            segment.scale, dtype=torch.float32
        )
    return widths
