"""Multi-layer perceptrons (Proposition 2): plain or equivariant, one or several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt

import torch
from torch import Tensor, nn

from ssr.networks.linear import linear


def mlp(inputs: int, hidden: Sequence[int], outputs: int, *, equivariant: bool = False) -> nn.Sequential:
    """f_L ∘ σ ∘ … ∘ σ ∘ f_1 with ELU; no activation after the last layer."""
    layer = linear(equivariant)
    layers: list[nn.Module] = []
    for a, b in pairwise((inputs, *hidden)):
        layers += [layer(a, b), nn.ELU()]
    return nn.Sequential(*layers, layer((inputs, *hidden)[-1], outputs))


class ParallelMLP(nn.Module):
    """`count` separate MLPs of the same widths, one batched product per layer instead of `count`."""

    def __init__(
        self,
        count: int,
        inputs: int,
        hidden: Sequence[int],
        outputs: int,
        activation: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.count = count
        self.activation = nn.ELU() if activation is None else activation
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for a, b in pairwise((inputs, *hidden, outputs)):
            bound = 1.0 / sqrt(a)
            self.weights.append(torch.empty(count, a, b).uniform_(-bound, bound))
            self.biases.append(torch.empty(count, 1, b).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        """x: (n, inputs), the same for all, or (count, n, inputs), one batch each → (count, n, outputs)."""
        if x.dim() == 2:
            x = x.expand(self.count, *x.shape)
        return self._through(x, list(self.weights), list(self.biases))

    def single(self, which: int, x: Tensor) -> Tensor:
        """Only network `which` on x (n, inputs) → (n, outputs)."""
        pick = slice(which, which + 1)
        return self._through(x[None], [w[pick] for w in self.weights], [b[pick] for b in self.biases])[0]

    def _through(self, x: Tensor, weights: list[Tensor], biases: list[Tensor]) -> Tensor:
        last = len(weights) - 1
        for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            x = torch.baddbmm(bias, x, weight)
            x = self.activation(x) if k < last else x
        return x
