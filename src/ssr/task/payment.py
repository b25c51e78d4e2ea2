"""What the rows of Table 6(a) count, and their weighted sum: r^l."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ssr.per_world import per_world, single
from ssr.task.config import BootstrapConfig, RewardConfig
from ssr.task.moment import Moment
from ssr.task.rewards import ROWS, TABLE_7, Limits
from ssr.task.row_kernel import rule_of

POSTURE_ROWS = ("orientation", "angular_velocity_xy", "base_height")


class Weights:
    """What every row counts: (rows,) float32 in the order of `ROWS`, and the places of those that count."""

    def __init__(self, by_name: Mapping[str, float]) -> None:
        self.values = np.array([by_name[name] for name in ROWS], dtype=np.float32)
        self.places = {name: place for place, name in enumerate(ROWS) if by_name[name] != 0.0}
        self._there: Tensor | None = None

    def on(self, device: torch.device) -> Tensor:
        """`values` as a tensor there, taken over once."""
        if self._there is None:
            self._there = torch.from_numpy(self.values).to(device)
        return self._there


def weights_of(config: RewardConfig, bootstrap: BootstrapConfig, share: float) -> Weights:
    """The weight of every row while `share` of the bootstrap is on; 0 leaves the table's and what lasts."""
    weights = {}
    for name in ROWS:
        beyond_table = not hasattr(config, name)
        weights[name] = share * getattr(bootstrap, name) if beyond_table else getattr(config, name)
    weights["progress"] = max(weights["progress"], bootstrap.lasting_progress)
    for name in POSTURE_ROWS:
        weights[name] *= 1.0 - share * bootstrap.posture_relief
    return Weights(weights)


@per_world()
def paid(total, finite, period, i, k):
    """Turn r^l (n,) into r^l · dt where it stands: 0 if negative, and where the world has blown up."""
    earned = single(period) * max(total[i], single(0.0))
    total[i] = earned if finite[i] else single(0.0)


class Terms(Mapping[str, Tensor]):
    """Weighted rows (n,) by name, taken out of their table (rows, n) only where somebody asks."""

    def __init__(self, places: Mapping[str, int], table: Tensor) -> None:
        self._places, self._table = places, table

    @cached_property
    def _rows(self) -> tuple[Tensor, ...]:
        return self._table.unbind(0)

    def __getitem__(self, name: str) -> Tensor:
        return self._rows[self._places[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def weighted_terms(moment: Moment, limits: Limits, weights: Weights, worlds: Any = None) -> tuple[Terms, Any]:
    """Every row that has a weight times that weight, (n,) each, and their sum (n,). worlds: all of them, as
    rules are told them; on a device they must be given."""
    shape = (len(ROWS) + 1, len(moment.command))
    worlds = np.arange(shape[1]) if worlds is None else worlds
    table: Any
    values: Any
    if isinstance(worlds, np.ndarray):
        table, values = np.empty(shape, dtype=np.float32), weights.values
    else:
        table, values = worlds.new_empty(shape, dtype=torch.float32), weights.on(worlds.device)
    terms, total = table[:-1], table[-1]
    rule_of(tuple(ROWS))(worlds, moment, limits, TABLE_7, values, terms, total)
    return Terms(weights.places, torch.as_tensor(terms)), total
