"""A judge that never paid the policy: how well a fresh network tells two kinds of motion apart.

Both sides come in groups: people of reference motion, robots of a policy. A judge is tried only on groups
that it never saw: windows of one person resemble each other, and knowing them by heart would pass for
judgement.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from math import isnan, sqrt

import torch
from torch import Tensor, nn

from ssr.evaluation.intervals import Estimate, Z, pooled

FOLDS = 5  #: judges, each tried on another fifth of the groups
LEAST_GROUPS = 3  #: of a side: one to learn from, one to validate on, one to be tried on
VALIDATION = 4  #: one group in so many of those left over says when to stop
HIDDEN = 96
LEARNING_RATE, WEIGHT_DECAY = 1e-3, 1e-2
BATCH = 128  #: windows of each side
LOOK = 10  #: minibatches between two looks at the validation groups
PATIENCE = 8  #: looks without progress before a judge has converged
MOST = 1000  #: minibatches


@dataclass(frozen=True, kw_only=True)
class Side:
    """Motion of one kind, in groups that the other side either has too (one clip, cut in two) or has not."""

    windows: Tensor  #: (m, ...) float32
    group: Tensor  #: (m,) long

    def ranks(self, seed: int) -> Tensor:
        """(m,) long, the place of each window's group in a random order, the same for the same groups."""
        groups, index = self.group.unique(return_inverse=True)
        return torch.randperm(len(groups), generator=torch.Generator().manual_seed(seed))[index]


def tell_apart(one: Side, other: Side, seed: int = 0) -> Estimate:
    """Share of windows that fresh judges take for what they are, in groups they never saw; 0.5 is guessing.

    Both sides count alike, however many windows they have. The interval comes from the spread between groups.
    """
    sides = (one, other)
    flat = [side.windows.flatten(1) for side in sides]
    ranks = [side.ranks(seed) for side in sides]
    right = [torch.zeros(len(x), dtype=torch.float64) for x in flat]
    draw = torch.Generator().manual_seed(seed)
    for fold in range(FOLDS):
        tried = [rank % FOLDS == fold for rank in ranks]
        # The place of each group among those that this judge is not tried on.
        left = [rank - (rank - fold + FOLDS - 1) // FOLDS for rank in ranks]
        asked = [~t & (place % VALIDATION == 0) for t, place in zip(tried, left, strict=True)]
        seen = [~t & ~a for t, a in zip(tried, asked, strict=True)]
        pick = lambda masks: [x[mask] for x, mask in zip(flat, masks, strict=True)]
        judge = _trained(pick(seen), pick(asked), draw)
        with torch.no_grad():
            for k, sign in enumerate((1.0, -1.0)):
                right[k][tried[k]] = (sign * judge(flat[k][tried[k]]).squeeze(-1) > 0).double()
    shares = [_share(r, side.group) for r, side in zip(right, sides, strict=True)]
    value = sum(share.value for share in shares) / 2
    errors = [0.0 if isnan(s.high) else (s.high - s.value) / Z for s in shares]
    half = Z * sqrt(sum(e**2 for e in errors)) / 2
    return Estimate(value=value, low=max(0.0, value - half), high=min(1.0, value + half))


def _share(right: Tensor, group: Tensor) -> Estimate:
    index = group.unique(return_inverse=True)[1]
    return pooled(torch.bincount(index, weights=right).numpy(), torch.bincount(index).numpy())


def _trained(seen: list[Tensor], asked: list[Tensor], draw: torch.Generator) -> nn.Module:
    """A judge whose score is positive for the first side, as it was when the validation groups liked it best.

    seen, asked: windows (·, features) of both sides to learn from, and to validate on.
    """
    both = torch.cat(seen)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**31, (), generator=draw)))
        judge = nn.Sequential(
            _Standard(both.mean(0), both.std(0)),
            nn.Linear(both.shape[1], HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(),
            nn.Linear(HIDDEN, 1),
        )  # fmt: skip
    optimizer = torch.optim.AdamW(judge.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    best, kept, since = float("inf"), copy.deepcopy(judge.state_dict()), 0
    for step in range(MOST):
        batch = [x[torch.randint(len(x), (BATCH,), generator=draw)] for x in seen]
        optimizer.zero_grad(set_to_none=True)
        _loss(judge, batch).backward()
        optimizer.step()
        if step % LOOK == 0:
            with torch.no_grad():
                loss = float(_loss(judge, asked))
            since = 0 if loss < best else since + 1
            if loss < best:
                best, kept = loss, copy.deepcopy(judge.state_dict())
            if since >= PATIENCE:
                break
    judge.load_state_dict(kept)
    return judge.eval()


def _loss(judge: nn.Module, sides: list[Tensor]) -> Tensor:
    """Cross-entropy, both sides counting alike."""
    return sum(
        nn.functional.softplus(-sign * judge(x)).mean() for sign, x in zip((1.0, -1.0), sides, strict=True)
    )  # type: ignore[return-value]


class _Standard(nn.Module):
    """Features in standard deviations from their mean."""

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Tensor, std: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("std", std.clamp_min(1e-4))

    def forward(self, x: Tensor) -> Tensor:
        return ((x - self.mean) / self.std).clamp(-10.0, 10.0)
