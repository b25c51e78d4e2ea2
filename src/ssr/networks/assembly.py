"""Equivariant weights put together once while they stand still: a rollout applies them many times."""

from __future__ import annotations

import torch
from torch import nn

from ssr.networks.convolution import EquivariantConvolution, LiftConvolution
from ssr.networks.linear import EquivariantLinear


@torch.no_grad()
def assemble(network: nn.Module) -> None:
    """From now on, where no gradient is asked for, equivariant layers use their weights as they are now."""
    release(network)
    for layer in network.modules():
        if isinstance(layer, EquivariantLinear):
            layer.assembled = layer.matrix()
        elif isinstance(layer, (LiftConvolution, EquivariantConvolution)):
            layer.assembled = layer.kernel()


def release(network: nn.Module) -> None:
    """Back to weights that learn."""
    for layer in network.modules():
        if isinstance(layer, (EquivariantLinear, LiftConvolution, EquivariantConvolution)):
            layer.assembled = None
