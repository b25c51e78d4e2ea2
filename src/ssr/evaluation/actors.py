"""Who acts in a trial: the protocol, and a trained network behind it."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from ssr.networks.policy import Policy
from ssr.task.transition import Observation

ROWS = 100  #: robots per pass through the networks


class Actor(Protocol):
    """A policy with its memory of n worlds."""

    def begin(self, worlds: int, first: int = 0) -> None:
        """New trials in all worlds; `first` is the number of the first of them."""

    def act(self, observation: Observation) -> Tensor:
        """Actions (n, A) for what all worlds see."""


class NetworkActor:
    """The deterministic policy of a run.

    Matrix products round differently for different batch sizes, and a walk amplifies that to another walk.
    So the networks always see `batch` robots, and trial i is always row i modulo `batch`: a trial's course
    then does not depend on how many others are tried along with it.
    """

    def __init__(self, policy: Policy, batch: int = ROWS) -> None:
        self.policy, self.batch = policy.eval(), batch

    def begin(self, worlds: int, first: int = 0) -> None:
        self.before = first % self.batch
        self.worlds = worlds
        self.rows = -(-(self.before + worlds) // self.batch) * self.batch
        self.hidden = self.policy.initial_hidden(self.rows)
        self.features: Tensor | None = None

    @torch.inference_mode()
    def act(self, observation: Observation) -> Tensor:
        if self.features is None or bool(observation.depth_fresh.any()):
            images = self._padded(observation.depth)
            self.features = self._in_passes(self.policy.encoder.encode_images, images)
        history = self._padded(observation.history)
        action, self.hidden = self._in_passes(self.policy.step, history, self.features, self.hidden)
        return action[self.before : self.before + self.worlds].clone()

    def _padded(self, values: Tensor) -> Tensor:
        """(n, ...) → (rows, ...), each world in its own row."""
        padded = values.new_zeros(self.rows, *values.shape[1:])
        padded[self.before : self.before + self.worlds] = values
        return padded

    def _in_passes(self, network, *inputs: Tensor):
        """`network` on `batch` rows at a time."""
        results = [network(*parts) for parts in zip(*(x.split(self.batch) for x in inputs), strict=True)]
        if isinstance(results[0], tuple):
            return tuple(torch.cat(parts) for parts in zip(*results, strict=True))
        return torch.cat(results)
