"""A GRU (Proposition 3), plain or equivariant, as a step and as a sequence with resets inside."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ssr.networks.linear import linear


class GRU(nn.Module):
    """One layer; the gates are reset r, update z and candidate n, in this order.

    r = σ(W_ir x + b_ir + W_hr h + b_hr), z likewise, n = tanh(W_in x + b_in + r ⊙ (W_hn h + b_hn)),
    h' = (1 - z) ⊙ n + z ⊙ h.
    """

    def __init__(self, inputs: int, hidden: int, *, equivariant: bool) -> None:
        super().__init__()
        self.hidden = hidden
        self.input = linear(equivariant)(inputs, hidden, blocks=3)
        self.recurrent = linear(equivariant)(hidden, hidden, blocks=3)

    def forget(self, bias: float) -> None:
        """Add to the update gate's bias: below zero, more of the past is overwritten at each step."""
        gate = self.input.bias.view(3, -1)[1]
        gate += bias

    def step(self, x: Tensor, hidden: Tensor) -> Tensor:
        """x: (n, inputs), hidden: (n, H) → the next hidden state."""
        return _gates(self.input(x), self.recurrent(hidden), hidden)

    def sequence(self, x: Tensor, hidden: Tensor, resets: Tensor) -> Tensor:
        """x: (T, n, inputs), hidden: (n, H) before the first step, resets: (T, n) → all states (T, n, H).

        Where resets[t] is true the hidden state is zero before step t: x[t] begins a new episode. The input's
        share of the gates is one product for the whole sequence, and the recurrent weight is assembled once.
        """
        shares = self.input(x).unbind(0)
        weight, bias = self.recurrent.matrix()
        keep = torch.logical_not(resets).to(x.dtype).unsqueeze(-1).unbind(0)
        states = []
        for share, kept in zip(shares, keep, strict=True):
            hidden = hidden * kept
            hidden = _gates(share, F.linear(hidden, weight, bias), hidden)
            states.append(hidden)
        return torch.stack(states)


def _gates(from_input: Tensor, from_hidden: Tensor, hidden: Tensor) -> Tensor:
    size = hidden.shape[-1]
    gates = torch.sigmoid(from_input[..., : 2 * size] + from_hidden[..., : 2 * size])
    reset, update = gates.chunk(2, -1)
    candidate = torch.tanh(from_input[..., 2 * size :] + reset * from_hidden[..., 2 * size :])
    return candidate + update * (hidden - candidate)
