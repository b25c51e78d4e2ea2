"""Troubles of the eyes: grass before the lens, holes, late, frozen and missing images."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from math import pi, sqrt

import torch
from torch import Tensor

from ssr.evaluation.stress.kind import ONSET, Trouble, seconds
from ssr.task.env import TraversalEnv
from ssr.vision.camera import CameraConfig
from ssr.vision.sensor import SensorConfig, sense

OVERGROWN = SensorConfig(enabled=True, noise_at_1m=0.0, dropped=0.0, blades=0)
STRETCH = (0.5, 2.0)  #: of a hole, its height by its width

Luck = Sequence[torch.Generator]


class Spoiled(Trouble):
    """Every new image is spoiled once; until the next it stays so."""

    def __init__(self, dose: float) -> None:
        super().__init__(dose)
        self.last: Tensor | None = None

    def see(
        self, env: TraversalEnv, step: int, depth: Tensor, fresh: Tensor, luck: Luck
    ) -> tuple[Tensor, Tensor]:
        if self.last is None or step == 0:
            self.last = depth.clone()
        for world in fresh.nonzero().squeeze(-1).tolist():
            self.last[world] = self.spoil(depth[world].clone(), luck[world])
        return self.last, fresh

    def spoil(self, image: Tensor, luck: torch.Generator) -> Tensor:
        """What becomes of an image (H, W), which may be written on."""
        raise NotImplementedError


class Blades(Spoiled):
    """Up to so many blades of grass before the lens, in every image others."""

    def spoil(self, image: Tensor, luck: torch.Generator) -> Tensor:
        sensor = replace(OVERGROWN, blades=round(self.dose))
        return sense(image[None], sensor, CameraConfig.near, CameraConfig.far, luck)[0]


class Holes(Spoiled):
    """One hole of this share of the image, as sunlight leaves it: nothing is measured there."""

    def spoil(self, image: Tensor, luck: torch.Generator) -> Tensor:
        height, width = image.shape
        y, x, shape = torch.rand(3, generator=luck).tolist()
        stretch = STRETCH[0] * (STRETCH[1] / STRETCH[0]) ** shape
        radius = sqrt(self.dose * height * width / (pi * stretch))
        rows, columns = torch.arange(height)[:, None] + 0.5, torch.arange(width) + 0.5
        away = ((rows - y * height) / stretch) ** 2 + (columns - x * width) ** 2
        image[away < radius**2] = CameraConfig.near
        return image


class Late(Trouble):
    """Every image arrives so many seconds late."""

    def __init__(self, dose: float) -> None:
        super().__init__(dose)
        self.waiting: deque[tuple[Tensor, Tensor]] = deque()

    def see(
        self, env: TraversalEnv, step: int, depth: Tensor, fresh: Tensor, luck: Luck
    ) -> tuple[Tensor, Tensor]:
        if step == 0:
            self.waiting.clear()
        self.waiting.append((depth.clone(), fresh.clone()))
        late = round(self.dose / env.config.control_period)
        while len(self.waiting) > late + 1:
            self.waiting.popleft()
        return self.waiting[0]


class Frozen(Trouble):
    """From 6 s on the camera shows nothing new for so many seconds."""

    def __init__(self, dose: float) -> None:
        super().__init__(dose)
        self.last: Tensor | None = None

    def see(
        self, env: TraversalEnv, step: int, depth: Tensor, fresh: Tensor, luck: Luck
    ) -> tuple[Tensor, Tensor]:
        if self.last is None or not ONSET <= seconds(env, step) < ONSET + self.dose:
            self.last = depth.clone()
            return depth, fresh
        return self.last, torch.zeros_like(fresh)


class Missing(Trouble):
    """From 6 s on the camera shows nothing for so many seconds: every pixel is at its far limit."""

    gone = False

    def see(
        self, env: TraversalEnv, step: int, depth: Tensor, fresh: Tensor, luck: Luck
    ) -> tuple[Tensor, Tensor]:
        if ONSET <= seconds(env, step) < ONSET + self.dose:
            self.gone = True
            return torch.full_like(depth, CameraConfig.far), torch.ones_like(fresh)
        back, self.gone = self.gone, False
        return depth, torch.ones_like(fresh) if back else fresh
