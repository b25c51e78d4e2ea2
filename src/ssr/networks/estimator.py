"""The velocity estimator: a plain MLP on the proprioceptive history, as Table 8 prints it."""

from __future__ import annotations

from torch import Tensor, nn

from ssr.networks.config import NetworkConfig
from ssr.networks.mlp import mlp
from ssr.symmetry.layout import Layout


class VelocityEstimator(nn.Module):
    """history (..., h, P) → v̂ (..., 3): base velocity in the base frame, in the scale of its segment."""

    def __init__(self, proprioception: Layout, config: NetworkConfig) -> None:
        super().__init__()
        self.layers = mlp(proprioception.size * config.history, config.encoder_hidden, 3)

    def forward(self, history: Tensor) -> Tensor:
        return self.layers(history.flatten(-2))
