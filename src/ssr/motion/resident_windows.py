"""Reference windows on a learner's device: what a discriminator sees is never copied there again."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ssr.motion.frames import WINDOW
from ssr.motion.speeds import SpeedDraw, commanded


@dataclass(frozen=True, kw_only=True)
class ResidentWindows:
    """As `ssr.motion.dataset.MotionDataset`, of which they are: the same numbers give the same windows."""

    frames: Tensor  #: (N, F) AMP frames
    draws: dict[str, SpeedDraw]  #: of first frames, by terrain type
    stride: int  #: control steps between the frames of a window

    def on(self, device: torch.device) -> ResidentWindows:
        """Likewise there."""
        draws = {name: draw.to(device) for name, draw in self.draws.items()}
        return ResidentWindows(frames=self.frames.to(device), draws=draws, stride=self.stride)

    def amp_windows(self, terrain_type: str, count: int, generator: torch.Generator) -> Tensor:
        """(count, 5, F), oldest frame first, at the speeds that the terrain type asks for."""
        starts = self.draws[terrain_type].near(commanded(terrain_type, count, generator), generator)
        within = self.stride * torch.arange(WINDOW, device=self.frames.device)
        return self.frames[starts[:, None] + within]
