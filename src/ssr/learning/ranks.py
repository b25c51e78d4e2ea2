"""Data-parallel ranks: each steps its own worlds; gradients and statistics are shared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """This process among its peers. Alone, every reduction leaves its argument as it is."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        return self.rank == 0

    def sum_(self, x: Tensor) -> Tensor:
        """Add x up over all ranks, in place."""
        if self.size > 1:
            dist.all_reduce(x)
        return x

    def mean_(self, x: Tensor) -> Tensor:
        """Average x over all ranks, in place."""
        if self.size > 1:
            dist.all_reduce(x)
            x /= self.size
        return x

    def max_(self, x: Tensor) -> Tensor:
        if self.size > 1:
            dist.all_reduce(x, op=dist.ReduceOp.MAX)
        return x

    def share_(self, x: Tensor) -> Tensor:
        """Copy x from the first rank to all, in place."""
        if self.size > 1:
            dist.broadcast(x, src=0)
        return x

    def agree(self, value: T) -> T:
        """What the first rank gives, on all of them."""
        box = [value]
        if self.size > 1:
            dist.broadcast_object_list(box, src=0)
        return box[0]

    def wait(self) -> None:
        if self.size > 1:
            dist.barrier()

    def any(self, flag: bool) -> bool:
        """Whether any rank says yes."""
        if self.size == 1:
            return flag
        return bool(self.max_(torch.tensor(int(flag))).item())

    def part(self, total: int) -> int:
        """This rank's share of `total` equal things."""
        return total // self.size + (1 if self.rank < total % self.size else 0)


ALONE = Ranks()
