"""Linear layers: equivariant (Proposition 1) and plain, behind the same two methods.

`forward(x)` applies the layer; `matrix()` gives its dense weight and bias, for callers that apply the same
layer many times and want to pay for its assembly once.
"""

from __future__ import annotations

from math import sqrt

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ssr.errors import UserError
from ssr.symmetry.structure import Reorganization

SPLIT_FROM = 2**16
"""Number of dense weights from which sums and differences beat one assembled matrix (measured on CPUs)."""


class PlainLinear(nn.Linear):
    """A dense layer; `blocks` only names how many vectors its output holds."""

    def __init__(self, inputs: int, outputs: int, blocks: int = 1) -> None:
        super().__init__(inputs, outputs * blocks)

    def matrix(self) -> tuple[Tensor, Tensor]:
        return self.weight, self.bias


class EquivariantLinear(nn.Module):
    """f(M_c x) = M_c f(x) with W = [[A, B], [B, A]] and b = [a, a]; half the parameters of a dense layer.

    inputs, outputs: sizes over both branches. With `blocks` > 1 the output is that many structured vectors,
    [y1_L, y1_R, y2_L, y2_R, …], each of `outputs` entries. Initialised like a dense layer of the same fan-in,
    so its outputs have the same variance.
    """

    assembled: tuple[Tensor, Tensor] | None = None  #: what `matrix` gives while weights stand still

    def __init__(self, inputs: int, outputs: int, blocks: int = 1) -> None:
        super().__init__()
        if inputs % 2 or outputs % 2:
            raise UserError(
                f"An equivariant layer needs even sizes (two branches), got {inputs} to {outputs}."
            )
        self.inputs, self.outputs, self.blocks = inputs, outputs, blocks
        self.split = inputs * outputs * blocks >= SPLIT_FROM
        bound = 1.0 / sqrt(inputs)
        self.weight = nn.Parameter(torch.empty(blocks, outputs // 2, 2, inputs // 2).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(blocks, outputs // 2).uniform_(-bound, bound))

    def matrix(self) -> tuple[Tensor, Tensor]:
        """The dense W (outputs·blocks, inputs) and b: rows [A, B] above rows [B, A], block by block."""
        if self.assembled is not None and not torch.is_grad_enabled():
            return self.assembled
        weight = torch.stack((self.weight, self.weight.flip(2)), 1)
        bias = torch.cat((self.bias, self.bias), 1)
        return weight.view(-1, self.inputs), bias.view(-1)

    def forward(self, x: Tensor) -> Tensor:
        return self._split(x) if self.split else F.linear(x, *self.matrix())

    def _split(self, x: Tensor) -> Tensor:
        """The same with half the multiplications: W acts on x_L + x_R as A + B, on x_L - x_R as A - B."""
        left, right = x.reshape(-1, self.inputs).chunk(2, -1)
        a, b = self.weight.flatten(0, 1).unbind(1)
        weight = 0.5 * torch.stack((a + b, a - b))
        parts = torch.bmm(torch.stack((left + right, left - right)), weight.transpose(1, 2))
        even, odd = parts.unflatten(-1, self.bias.shape).unbind(0)
        even = even + self.bias
        return torch.stack((even + odd, even - odd), 2).view(*x.shape[:-1], self.outputs * self.blocks)

    def extra_repr(self) -> str:
        return f"{self.inputs} → {self.blocks} × {self.outputs}"


class ReorganizedLinear(EquivariantLinear):
    """An equivariant layer behind T: a history (..., h, P) → (..., outputs).

    T only moves entries and changes signs, so it goes into the weights, which are fewer than the samples.
    """

    def __init__(self, reorganization: Reorganization, outputs: int) -> None:
        super().__init__(reorganization.size, outputs)
        self.reorganization = reorganization

    def matrix(self) -> tuple[Tensor, Tensor]:
        """The dense W T (outputs, h·P) and b."""
        if self.assembled is not None and not torch.is_grad_enabled():
            return self.assembled
        weight, bias = super().matrix()
        return self.reorganization.fold(weight), bias

    def forward(self, history: Tensor) -> Tensor:
        if self.split:
            return self._split(self.reorganization(history))
        return F.linear(history.flatten(-2), *self.matrix())


Linear = PlainLinear | EquivariantLinear


def linear(equivariant: bool) -> type[PlainLinear] | type[EquivariantLinear]:
    return EquivariantLinear if equivariant else PlainLinear
