"""How much of each reward stream's advantage says something that the other streams' do not."""

from __future__ import annotations

import torch
from torch import Tensor

from ssr.learning.devices import fetched
from ssr.learning.ranks import ALONE, Ranks
from ssr.terrain.settings import TERRAIN_TYPES

LEAST_VARIANCE = 1e-8  #: of a normalised advantage; one with less says nothing
RIDGE = 1e-6  #: so that streams that repeat each other have an inverse


def independent_shares(
    gain: Tensor, weight: Tensor, terrain_type: Tensor, streams: tuple[str, ...], ranks: Ranks = ALONE
) -> dict[str, float]:
    """1 - R² of regressing each stream's advantage on the others', over all samples and by terrain type.

    gain (k, b): of each stream; weight (b,): 0 masks a sample; terrain_type (b,).
    """
    wide = gain.double()
    here = torch.nn.functional.one_hot(terrain_type, len(TERRAIN_TYPES)).T * weight.double()  # (types, b)
    sums = torch.cat(
        (
            here.sum(-1, keepdim=True),
            here @ wide.T,
            torch.einsum("tb,kb,jb->tkj", here, wide, wide).flatten(1),
        ),
        dim=1,
    )
    sums = fetched(ranks.sum_(sums))
    metrics = {}
    for end, row in (("", sums.sum(0)), *((f"/{n}", s) for n, s in zip(TERRAIN_TYPES, sums, strict=True))):
        for name, share in zip(streams, _unexplained(row, len(streams)).tolist(), strict=True):
            if share == share:  # a number
                metrics[f"independent/{name}{end}"] = share
    return metrics


def _unexplained(sums: Tensor, k: int) -> Tensor:
    """(k,) 1 - R² from a row of count, sums (k,) and sums of products (k, k); NaN where nothing varies."""
    count, mean, products = sums[0], sums[1 : k + 1] / sums[0], sums[k + 1 :].view(k, k) / sums[0]
    covariance = products - torch.outer(mean, mean)
    varies = (covariance.diagonal() > LEAST_VARIANCE) & (count > k)
    shares = torch.full((k,), torch.nan, dtype=torch.float64)
    chosen = varies.nonzero().squeeze(-1)
    if len(chosen):
        deviation = covariance.diagonal()[chosen].sqrt()
        correlation = covariance[chosen][:, chosen] / torch.outer(deviation, deviation)
        # What others do not explain of a standardised variable is one over its place in the inverse.
        ridge = RIDGE * torch.eye(len(chosen), dtype=correlation.dtype)
        shares[chosen] = (1.0 / torch.linalg.inv(correlation + ridge).diagonal()).clamp_max(1.0)
    return shares
