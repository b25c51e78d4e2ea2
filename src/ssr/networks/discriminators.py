"""Motion discriminators (§3.4): one per terrain type, on windows of AMP frames; one unbounded score each."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ssr.networks.config import NetworkConfig
from ssr.networks.mlp import ParallelMLP


class Discriminators(nn.Module):
    """Windows are flat, (…, 5 frames · 63), already normalised by the caller."""

    def __init__(self, frame: int, config: NetworkConfig) -> None:
        super().__init__()
        self.window = frame * config.amp_window
        self.networks = ParallelMLP(
            config.discriminators, self.window, config.discriminator_hidden, 1, activation=nn.ReLU()
        )

    @property
    def count(self) -> int:
        return self.networks.count

    def forward(self, windows: Tensor) -> Tensor:
        """One batch per discriminator, (count, n, window) → scores (count, n): how they are trained."""
        return self.networks(windows).squeeze(-1)

    @torch.no_grad()
    def decay(self, share: Tensor) -> None:
        """Add to the gradients that of 0.5 · share · |parameters|²; share: (count,), of each one."""
        for parameter in self.parameters():
            assert parameter.grad is not None, "backward has been"
            parameter.grad.addcmul_(share.view(-1, 1, 1), parameter)

    def score(self, windows: Tensor, which: Tensor, counts: Sequence[int] | None = None) -> Tensor:
        """Each window by its own discriminator: (n, window) and indices (n,) → scores (n,).

        counts: how many windows each one has, if that is known; a device would be waited for.
        """
        numbers = torch.arange(self.count, device=which.device)
        if counts is None:
            counts = (which == numbers.unsqueeze(1)).sum(1).tolist()
        known = (which >= 0) & (which < self.count)
        order = torch.argsort(torch.where(known, which, self.count), stable=True)
        scores = windows.new_full((len(windows),), float("nan"))  # an index without a discriminator shows
        begin = 0
        for k, count in enumerate(counts):
            rows, begin = order[begin : begin + count], begin + count
            judged = self.networks.single(k, windows.index_select(0, rows)).squeeze(-1)
            scores = scores.index_copy(0, rows, judged.to(scores.dtype))
        return scores
