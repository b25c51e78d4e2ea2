"""The policy's weights averaged over iterations: evaluated and shipped, while the newest go on learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

ACTING = ("encoder.", "estimator.", "actor.")  #: networks of the policy


class AveragedPolicy:
    """An exponential average; young, it is the plain mean of what it has seen."""

    def __init__(self, networks: nn.Module, kept: float, acting: tuple[str, ...] = ACTING) -> None:
        """kept: share of the average that stays when an iteration's weights come in; acting: how the names
        of the policy's weights begin."""
        self.kept = kept
        self._newest = {k: p for k, p in networks.named_parameters() if k.startswith(acting)}
        self.restart()

    def restart(self) -> None:
        """Forget everything but the weights as they are now."""
        self.count = 0
        self.weights = {k: p.detach().clone() for k, p in self._newest.items()}

    @torch.no_grad()
    def take_in(self) -> None:
        """The weights after one more iteration."""
        self.count += 1
        share = max(1.0 - self.kept, 1.0 / self.count)
        torch._foreach_lerp_(list(self.weights.values()), list(self._newest.values()), share)

    def state_dict(self) -> dict[str, Any]:
        return {"count": self.count, "weights": {k: v.clone() for k, v in self.weights.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.count = int(state["count"])
        for name, value in state["weights"].items():
            self.weights[name].copy_(value)
