"""Swapped prototypes: two views of a moment must go to the same of a few directions (SwAV, used in HIM)."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PROTOTYPES = 32
TEMPERATURE = 3.0  #: of the predicted assignment
SHARPNESS = 0.05  #: ε, the entropy's weight in Sinkhorn's assignment
ROUNDS = 3


@torch.no_grad()
def sinkhorn(scores: Tensor, sharpness: float = SHARPNESS, rounds: int = ROUNDS) -> Tensor:
    """Assignments (b, k) of b samples to k prototypes by their scores (b, k), without a gradient.

    Every sample is assigned once: rows sum to 1. Every prototype gets equally many: columns sum to b / k,
    the more exactly the more rounds.
    """
    scores = scores.double()
    shares = torch.exp((scores - scores.max()) / sharpness)
    shares = shares / shares.sum()
    samples, prototypes = shares.shape
    for _ in range(rounds):
        shares = shares / shares.sum(0, keepdim=True).clamp_min(1e-300) / prototypes
        shares = shares / shares.sum(1, keepdim=True).clamp_min(1e-300) / samples
    return (shares * samples).float()


class Swap(NamedTuple):
    loss: Tensor  #: ()
    used: Tensor  #: () how many prototypes the target's assignments spread over: e to their entropy


class Prototypes(nn.Module):
    """Directions (k, d) on the unit sphere."""

    def __init__(self, size: int, count: int = PROTOTYPES) -> None:
        super().__init__()
        self.directions = nn.Parameter(F.normalize(torch.randn(count, size), dim=-1))

    @torch.no_grad()
    def normalise_(self) -> None:
        """To be called before each step: a gradient leaves the sphere."""
        self.directions.copy_(F.normalize(self.directions, dim=-1))

    def scores(self, latent: Tensor) -> Tensor:
        """Cosines (b, k) of unit latents (b, d)."""
        return latent @ self.directions.t()

    def swap(self, latent: Tensor, target: Tensor) -> Swap:
        """Each of two unit latents (b, d) of the same moments must predict the other's assignment.

        The assignments to be predicted carry no gradient: `latent` is drawn to where `target` is, never the
        other way round through the same term.
        """
        seen, reached = self.scores(latent), self.scores(target)
        of_seen, of_reached = sinkhorn(seen), sinkhorn(reached)
        loss = -0.5 * (predicted(seen, of_reached) + predicted(reached, of_seen))
        share = F.one_hot(of_reached.argmax(-1), of_reached.shape[-1]).float().mean(0)
        return Swap(loss, torch.exp(-(share * share.clamp_min(1e-9).log()).sum()))


def predicted(scores: Tensor, assignment: Tensor) -> Tensor:
    """Mean log-likelihood of assignments (b, k) under the softmax of scores (b, k)."""
    return (assignment * F.log_softmax(scores / TEMPERATURE, -1)).sum(-1).mean()
