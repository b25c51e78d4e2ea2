"""The policy as it acts outside training: explicit inputs and outputs, no randomness."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ssr.networks.actor import MoEActor
from ssr.networks.encoder import CrossModalEncoder, Latents
from ssr.networks.estimator import VelocityEstimator


def actor_observation(history: Tensor, velocity: Tensor, latents: Latents) -> Tensor:
    """o^a = [o^p, v̂, ẑ]: the newest frame of history (..., h, P), then the estimates; as layouts().actor."""
    return torch.cat((history[..., -1, :], velocity, latents.vector), -1)


class PolicyNetwork(nn.Module):
    """history (n, h, P), depth (n, rows, columns) in metres, hidden (n, H) → mean action (n, A), hidden."""

    inputs = ("proprioception_history", "depth", "hidden")
    outputs = ("action", "next_hidden")

    def __init__(self, encoder: CrossModalEncoder, estimator: VelocityEstimator, actor: MoEActor) -> None:
        super().__init__()
        self.encoder, self.estimator, self.actor = encoder, estimator, actor

    @property
    def hidden_size(self) -> int:
        return self.encoder.hidden_size

    def forward(self, proprioception_history: Tensor, depth: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        return self.step(proprioception_history, self.encoder.encode_images(depth), hidden)

    def step(self, history: Tensor, image_features: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """As `forward`, with images already encoded (n, C): a camera is slower than control."""
        latents, hidden = self.encoder.step(history, image_features, hidden)
        # The mean rather than the sample, so that acting is deterministic in every mode.
        certain = latents._replace(proprioception=latents.mean)
        velocity = self.estimator(history)
        return self.actor(actor_observation(history, velocity, certain)), hidden

    def initial_hidden(self, count: int) -> Tensor:
        """The memory of `count` robots at the start of an episode."""
        return next(self.parameters()).new_zeros(count, self.hidden_size)
