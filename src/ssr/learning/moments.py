"""Means and variances over all ranks' samples."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ssr.learning.ranks import ALONE, Ranks


def mean_and_std(x: Tensor, weight: Tensor, ranks: Ranks = ALONE) -> tuple[Tensor, Tensor]:
    """Weighted mean and standard deviation of each row of x (k, samples) over every rank's samples."""
    weight = weight.to(torch.float64)
    wide = x.to(torch.float64)
    sums = torch.cat(((wide * weight).sum(-1), (wide.square() * weight).sum(-1), weight.sum().unsqueeze(0)))
    ranks.sum_(sums)
    count = sums[-1].clamp_min(1.0)
    mean = sums[: len(x)] / count
    variance = (sums[len(x) : -1] / count - mean.square()).clamp_min(0.0)
    return mean.to(x.dtype), variance.sqrt().to(x.dtype)


class RunningNormalizer(nn.Module):
    """Running mean and variance of a vector; what it gives is clipped to ±`clip` standard deviations."""

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(self, size: int, clip: float = 10.0, epsilon: float = 1e-2) -> None:
        super().__init__()
        self.clip, self.epsilon = clip, epsilon
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("variance", torch.ones(size))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return ((x - self.mean) / (self.variance + self.epsilon**2).sqrt()).clamp(-self.clip, self.clip)

    @torch.no_grad()
    def update(self, x: Tensor, ranks: Ranks = ALONE, counted: Tensor | None = None) -> None:
        """Take in the samples x (samples, size) of every rank (Chan's parallel update). counted: (samples,)
        bool, which of them, by default all."""
        wide = x.to(torch.float64)
        if counted is None:
            counted = torch.ones(len(x), dtype=torch.bool, device=x.device)
        else:
            wide = torch.where(counted.unsqueeze(1), wide, 0.0)
        sums = torch.cat((wide.sum(0), wide.square().sum(0), counted.sum().double().view(1)))
        ranks.sum_(sums)
        n, size = sums[-1], self.mean.numel()
        some = n.clamp_min(1.0)  # of no sample at all nothing is learned, and no device asked
        batch_mean = sums[:size] / some
        batch_variance = (sums[size:-1] / some - batch_mean.square()).clamp_min(0.0)
        total = self.count + n
        whole = total.clamp_min(1.0)
        delta = batch_mean - self.mean.double()
        spread = self.variance.double() * self.count + batch_variance * n
        variance = (spread + delta.square() * self.count * n / whole) / whole
        self.variance.copy_(torch.where(n > 0, variance, self.variance.double()))
        self.mean.add_((delta * n / whole).to(self.mean.dtype))
        self.count.copy_(total)
