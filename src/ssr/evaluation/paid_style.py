"""The style reward of a trial as the run's own discriminators would have paid it (Table 6c)."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ssr.evaluation.gait import WARM_UP
from ssr.learning import small_checkpoint
from ssr.learning.moments import RunningNormalizer
from ssr.learning.run_directory import SMALL
from ssr.learning.saved import Saved
from ssr.learning.ssr_policy import SSRPolicy
from ssr.learning.style import NORMALIZER_CLIP, ReferenceMotion, style_reward
from ssr.motion.frames import WINDOW, RecentMean
from ssr.networks.discriminators import Discriminators
from ssr.task.transition import Transition
from ssr.terrain.settings import TERRAIN_TYPES

EVERY = 5  #: control steps between two windows that are judged: neighbours are alike
REFERENCE_WINDOWS = 2000


class OwnDiscriminators:
    """The discriminators of a run with the normaliser they were trained behind."""

    frames = WINDOW

    def __init__(self, discriminators: Discriminators, normalizer: RunningNormalizer, stride: int) -> None:
        """stride: control steps between the frames of a window, as the run had it."""
        self.discriminators, self.normalizer, self.stride = discriminators, normalizer, stride

    @torch.inference_mode()
    def pay(self, windows: Tensor, terrain_type: Tensor) -> Tensor:
        """r^s (n,) of windows (n, frames, F), oldest frame first, on terrain types (n,)."""
        which = terrain_type if self.discriminators.count > 1 else torch.zeros_like(terrain_type)
        return style_reward(self.discriminators.score(self.normalizer(windows).flatten(-2), which))

    def of_reference(self, reference: ReferenceMotion) -> dict[str, float]:
        """What the reference motion itself earns, by terrain type."""
        draw = torch.Generator().manual_seed(0)
        earned = {}
        for k, name in enumerate(TERRAIN_TYPES):
            windows = reference.amp_windows(name, REFERENCE_WINDOWS, draw)
            earned[name] = round(float(self.pay(windows, torch.full((len(windows),), k)).mean()), 4)
        return earned


def own_discriminators(path: Path, found: Saved) -> OwnDiscriminators | None:
    """Of a run or a small checkpoint; None where style was not trained or their normaliser is not kept."""
    small = path if path.is_file() else path / SMALL
    trained = isinstance(found.policy, SSRPolicy) and "style" in found.config.stream_weights()
    if not trained or not small.is_file():
        return None
    iteration, _, state = small_checkpoint.load(small)
    if iteration != found.iteration or "normalizer" not in state:
        return None
    assert isinstance(found.policy, SSRPolicy)
    networks = found.policy.networks
    normalizer = RunningNormalizer(networks.layouts.amp.size, NORMALIZER_CLIP)
    normalizer.load_state_dict(state["normalizer"])
    return OwnDiscriminators(networks.discriminators, normalizer, found.config.style.stride)


class StyleMeter:
    """Adds up what n trials earn in windows `EVERY` control steps apart; nothing without discriminators."""

    def __init__(self, judge: OwnDiscriminators | None, worlds: int, period: float) -> None:
        self.judge, self.first = judge, round(WARM_UP / period)
        reach = (judge.frames - 1) * judge.stride + 1 if judge else 1
        self._recent: deque[Tensor] = deque(maxlen=reach)
        self._mean: RecentMean | None = None
        self._step = 0
        self.paid = np.zeros(worlds)  #: (n,) sum over its windows
        self.windows = np.zeros(worlds, dtype=np.int32)  #: (n,)

    def observe(self, transition: Transition, running: Tensor) -> None:
        """running (n,) bool: trials that were not over before this step."""
        if self.judge is None:
            return
        frame = transition.amp_frame
        if self._mean is None:
            self._mean = RecentMean(frame.shape[0], frame.shape[1], self.judge.stride)
        self._recent.append(self._mean(frame, torch.full(frame.shape[:1], self._step == 0)))
        self._step += 1
        if self._step < self.first or self._step % EVERY or len(self._recent) < (self._recent.maxlen or 0):
            return
        windows = torch.stack(list(self._recent)[:: self.judge.stride], dim=1)
        counts = (running & transition.valid).numpy()
        self.paid += np.where(counts, self.judge.pay(windows, transition.terrain_type).numpy(), 0.0)
        self.windows += counts
