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
    def update(self, x: Tensor, ranks: Ranks = ALONE) -> None:
        """Take in the samples x (samples, size) of every rank (Chan's parallel update)."""
        wide = x.to(torch.float64)
        count = torch.tensor([float(len(x))], dtype=torch.float64, device=x.device)
        sums = torch.cat((wide.sum(0), wide.square().sum(0), count))
        ranks.sum_(sums)
        n = sums[-1]
        if n == 0:
            return
        size = self.mean.numel()
        batch_mean = sums[:size] / n
        batch_variance = (sums[size:-1] / n - batch_mean.square()).clamp_min(0.0)
        total = self.count + n
        delta = batch_mean - self.mean.double()
        spread = self.variance.double() * self.count + batch_variance * n
        self.variance.copy_((spread + delta.square() * self.count * n / total) / total)
        self.mean.add_((delta * n / total).to(self.mean.dtype))
        self.count.copy_(total)
