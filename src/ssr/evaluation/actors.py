"""Who acts in a trial: the protocol, and a trained network behind it."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from ssr.networks.policy import Policy
from ssr.task.transition import Observation


class Actor(Protocol):
    """A policy with its memory of n worlds."""

    def begin(self, worlds: int) -> None:
        """New trials in all worlds."""

    def act(self, observation: Observation) -> Tensor:
        """Actions (n, A) for what all worlds see."""


class NetworkActor:
    """The deterministic policy of a run."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy.eval()

    def begin(self, worlds: int) -> None:
        self.hidden = self.policy.initial_hidden(worlds)
        self.features: Tensor | None = None

    @torch.inference_mode()
    def act(self, observation: Observation) -> Tensor:
        if self.features is None or bool(observation.depth_fresh.any()):
            self.features = self.policy.encoder.encode_images(observation.depth)
        action, self.hidden = self.policy.step(observation.history, self.features, self.hidden)
        return action.clone()
