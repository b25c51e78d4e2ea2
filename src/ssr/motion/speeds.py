"""Reference motion at the speeds that are asked for: what Table 4 commands, and drawing frames that have it.

AMP frames hold the base's velocity. Reference motion of other speeds than the policy's would be told from it
by speed alone, and the style reward would say nothing about how it walks.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

COMMANDED: dict[str, tuple[float, float]] = {
    "slope": (-1.0, 1.0),
    "stairs": (0.0, 1.2),
    "discrete": (0.0, 1.2),
    "gap": (0.0, 1.2),
    "platform": (0.0, 1.2),
}  #: m/s along the tile, Table 4
ZERO_SHARE = 0.2  #: of all commands that ask for standing
BIN = 0.1  #: m/s, the width of a bin of speed; one is centred at zero
LOWEST, HIGHEST = -10, 12  #: bins; what is faster counts as the fastest
ENOUGH = 50  #: windows, a second with its mirror copy: columns with fewer at a speed lend less to it
STANDING = 0.5  #: share of the standing column among all that does not get ahead


def commanded(terrain_type: str, count: int, generator: torch.Generator) -> Tensor:
    """(count,) m/s along the tile, as Table 4 draws them."""
    low, high = COMMANDED[terrain_type]
    draw = torch.rand(2, count, generator=generator, device=generator.device)
    return torch.where(draw[0] < ZERO_SHARE, 0.0, low + (high - low) * draw[1])


def bins(speeds: Tensor) -> Tensor:
    """Which bin each speed (m/s, along the base's x axis) falls into, as whole numbers around zero."""
    return (speeds / BIN).round().long().clamp(LOWEST, HIGHEST)


@dataclass(frozen=True, kw_only=True)
class SpeedDraw:
    """Frames sorted by speed, to be drawn near a given one."""

    frames: Tensor  #: (m,) indices, bin by bin
    reached: Tensor  #: (m,) summed chances; bin k's run from k to k + 1
    nearest: Tensor  #: (HIGHEST - LOWEST + 1,) the k of the filled bin nearest to each

    @staticmethod
    def of(columns: dict[str, tuple[float, Tensor, Tensor]]) -> SpeedDraw:
        """From each column's share, frame indices (n,) and their speeds (n,) in m/s.

        Within a bin every column has its share, or less where it has hardly a window; its windows are alike.
        """
        frames = torch.cat([index for _, index, _ in columns.values()])
        place = torch.cat([bins(speeds) for *_, speeds in columns.values()]) - LOWEST
        count = HIGHEST - LOWEST + 1
        chances = []
        for name, (share, _, speeds) in columns.items():
            own = bins(speeds) - LOWEST
            members = torch.bincount(own, minlength=count).double()
            shares = torch.full((count,), share, dtype=torch.float64)
            if name == "stand":
                others = sum(s for n, (s, *_) in columns.items() if n != name)
                shares[-LOWEST] = STANDING / (1.0 - STANDING) * others or share
            weight = shares * (members / ENOUGH).clamp(max=1.0)
            chances.append((weight / members.clamp(min=1.0))[own])
        chance = torch.cat(chances)
        order = torch.argsort(place, stable=True)
        chance, place = chance[order], place[order]
        total = torch.zeros(count, dtype=torch.float64).index_add_(0, place, chance)
        filled = total.nonzero().squeeze(1)
        rank = torch.full((count,), -1).index_put_((filled,), torch.arange(len(filled)))
        within = chance / total[place]
        begun = torch.cat((torch.zeros(1, dtype=torch.float64), within.cumsum(0)[:-1]))
        begins = torch.searchsorted(place, filled)
        reached = within.cumsum(0) - begun[begins][rank[place]] + rank[place]
        nearest = (torch.arange(count).unsqueeze(1) - filled).abs().argmin(1)
        return SpeedDraw(frames=frames[order], reached=reached, nearest=nearest)

    def to(self, device: torch.device) -> SpeedDraw:
        return SpeedDraw(
            frames=self.frames.to(device), reached=self.reached.to(device), nearest=self.nearest.to(device)
        )

    def near(self, speeds: Tensor, generator: torch.Generator) -> Tensor:
        """(count,) frame indices, one near each of `speeds` (count,) in m/s."""
        k = self.nearest[bins(speeds) - LOWEST]
        wanted = k + torch.rand(len(k), generator=generator, dtype=torch.float64, device=k.device)
        return self.frames[
            torch.searchsorted(self.reached, wanted, right=True).clamp(max=len(self.frames) - 1)
        ]
