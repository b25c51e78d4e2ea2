"""Raw physics to compare with: what was just done, done again with nothing around it."""

from __future__ import annotations

import torch
from torch import Tensor

from ssr.physics.simulator import Simulator


class Replay:
    """Records joint targets and restarts of some control steps, and repeats them from the same states, in the
    same worlds."""

    def __init__(self, simulator: Simulator, substeps: int) -> None:
        self._simulator, self._substeps = simulator, substeps
        self.begin()

    def begin(self) -> None:
        """Forget what was recorded; what comes next starts here."""
        self._before = self._simulator.snapshot()
        self._steps: list[tuple[Tensor, Tensor, Tensor]] = []

    def stepped(self) -> None:
        """Record a step; the worlds that ended have not been restarted yet."""
        nobody = torch.empty(0, dtype=torch.long)
        self._steps.append((self._simulator.targets(), nobody, self._simulator.snapshot(nobody)))

    def restarted(self, ended: Tensor) -> None:
        """Record where the `ended` (n,) worlds of the last step went on."""
        ids = ended.nonzero().squeeze(-1)
        self._steps[-1] = (self._steps[-1][0], ids, self._simulator.snapshot(ids))

    def run(self) -> None:
        """Repeat it; the worlds are afterwards where they were before."""
        simulator = self._simulator
        after = simulator.snapshot()
        simulator.restore(self._before)
        for targets, ended, places in self._steps:
            simulator.hold(targets)
            simulator.advance(self._substeps)
            simulator.restore(places, ended)
        simulator.restore(after)
