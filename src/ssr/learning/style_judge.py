"""What SSR's discriminators would pay for a motion, outside training."""

from __future__ import annotations

import torch
from torch import Tensor

from ssr.learning.moments import RunningNormalizer
from ssr.learning.style import style_reward
from ssr.motion.frames import WINDOW
from ssr.networks.discriminators import Discriminators


class OwnDiscriminators:
    """The discriminators of a run with the normaliser they were trained behind; a `StyleJudge`."""

    frames = WINDOW

    def __init__(self, discriminators: Discriminators, normalizer: RunningNormalizer, stride: int) -> None:
        """stride: control steps between the frames of a window, as the run had it."""
        self.discriminators, self.normalizer, self.stride = discriminators, normalizer, stride

    @torch.inference_mode()
    def pay(self, windows: Tensor, terrain_type: Tensor) -> Tensor:
        which = terrain_type if self.discriminators.count > 1 else torch.zeros_like(terrain_type)
        return style_reward(self.discriminators.score(self.normalizer(windows).flatten(-2), which))
