"""The style reward of a trial as training would have paid it (Table 6c)."""

from __future__ import annotations

from collections import deque

import numpy as np
import torch
from torch import Tensor

from ssr.evaluation.gait import WARM_UP
from ssr.learning.algorithm import StyleJudge
from ssr.learning.style import ReferenceMotion
from ssr.motion.frames import RecentMean
from ssr.task.transition import Transition
from ssr.terrain.settings import TERRAIN_TYPES

EVERY = 5  #: control steps between two windows that are judged: neighbours are alike
REFERENCE_WINDOWS = 2000


def paid_reference(judge: StyleJudge, reference: ReferenceMotion) -> dict[str, float]:
    """What the reference motion itself earns, by terrain type."""
    draw = torch.Generator().manual_seed(0)
    earned = {}
    for k, name in enumerate(TERRAIN_TYPES):
        windows = reference.amp_windows(name, REFERENCE_WINDOWS, draw)
        earned[name] = round(float(judge.pay(windows, torch.full((len(windows),), k)).mean()), 4)
    return earned


class StyleMeter:
    """Adds up what n trials earn in windows `EVERY` control steps apart; nothing without a judge."""

    def __init__(self, judge: StyleJudge | None, worlds: int, period: float) -> None:
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
