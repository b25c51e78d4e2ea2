"""What the rows of Table 6(a) count, and their weighted sum: r^l."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
import torch
from numba import njit
from torch import Tensor

from ssr.task.config import BootstrapConfig, RewardConfig
from ssr.task.moment import Moment
from ssr.task.rewards import ROWS, TABLE_7, Limits
from ssr.task.row_kernel import kernel_of

POSTURE_ROWS = ("orientation", "angular_velocity_xy", "base_height")


class Weights:
    """What every row counts: (rows,) float32 in the order of `ROWS`, and the places of those that count."""

    def __init__(self, by_name: Mapping[str, float]) -> None:
        self.values = np.array([by_name[name] for name in ROWS], dtype=np.float32)
        self.places = {name: place for place, name in enumerate(ROWS) if by_name[name] != 0.0}


def weights_of(config: RewardConfig, bootstrap: BootstrapConfig, share: float) -> Weights:
    """The weight of every row while `share` of the bootstrap is on; 0 leaves the table's."""
    weights = {}
    for name in ROWS:
        beyond_table = not hasattr(config, name)
        weights[name] = share * getattr(bootstrap, name) if beyond_table else getattr(config, name)
    for name in POSTURE_ROWS:
        weights[name] *= 1.0 - share * bootstrap.posture_relief
    return Weights(weights)


@njit(cache=True, nogil=True)
def paid(total: np.ndarray, finite: np.ndarray, period: float) -> None:
    """Turn r^l (n,) into r^l · dt where it stands: 0 if negative, and where the world has blown up."""
    for i in range(len(total)):
        earned = max(total[i], np.float32(0.0))
        total[i] = np.float32(period) * earned if finite[i] else 0.0


class Terms(Mapping[str, Tensor]):
    """Weighted rows (n,) by name, taken out of their table (rows, n) only where somebody asks."""

    def __init__(self, places: Mapping[str, int], table: np.ndarray) -> None:
        self._places, self._table = places, table

    @cached_property
    def _rows(self) -> tuple[Tensor, ...]:
        return torch.from_numpy(self._table).unbind(0)

    def __getitem__(self, name: str) -> Tensor:
        return self._rows[self._places[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def weighted_terms(moment: Moment, limits: Limits, weights: Weights) -> tuple[Terms, np.ndarray]:
    """Every row that has a weight times that weight, (n,) each, and their sum (n,)."""
    table = np.empty((len(ROWS) + 1, len(moment.command)), dtype=np.float32)
    terms, total = table[:-1], table[-1]
    run = kernel_of(tuple(ROWS))
    run(tuple(moment), tuple(limits), tuple(TABLE_7), weights.values, terms, total)
    return Terms(weights.places, terms), total
