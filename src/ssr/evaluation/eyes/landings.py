"""Do landings move with what is shown? Where feet came down at edges, and the slope of that over the shift.

On stairs a landing has a phase, its place on the tread as a share of it; phases are averaged on the circle.
At a gap or a platform it is the landing next to an edge on the edge's high side: the last one before a drop,
the first one behind a rise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ssr.evaluation.intervals import Estimate
from ssr.evaluation.trials import Trials

ARRIVED = 2  #: edges that a robot must have passed until its landings on stairs count
REACH = 0.6  #: m, a landing further from an edge has nothing to do with it
SLOPES = np.linspace(-1.5, 2.5, 801)[:-1]  #: slopes on the circle: quarter shifts tell no others apart
RESAMPLES = 400
RISE, DROP = 0, 1


@dataclass(frozen=True, kw_only=True)
class Footfalls:
    """What the landings of n trials add up to. g groups: one on stairs, else landings at rises and at drops.

    sums (g, n): on stairs complex, a unit vector per landing at the angle of its phase; else m past the edge.
    counts (g, n): landings.
    """

    sums: np.ndarray
    counts: np.ndarray

    def mean(self, weights: np.ndarray | None = None) -> np.ndarray:
        """(g,) means over all landings, or (g, b) for weights (b, n) of trials; 0 where there are none."""
        weights = np.ones((1, self.sums.shape[1])) if weights is None else weights
        totals = self.sums @ weights.T / np.maximum(self.counts @ weights.T, 1e-9)
        return totals[:, 0] if len(weights) == 1 else totals

    @property
    def number(self) -> np.ndarray:
        """(g,)"""
        return self.counts.sum(axis=1)

    def resampled(self, rng: np.random.Generator) -> np.ndarray:
        """(g, RESAMPLES) means of as many trials drawn with replacement: those of one trial are alike."""
        n = self.sums.shape[1]
        return self.mean(rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(float))


def on_treads(trials: Trials, edges: Sequence[np.ndarray], tread: float) -> Footfalls:
    """Phases of all landings on stairs, from the back edge of each tread; edges[i] (k, 2) of trial i."""
    sums, counts = np.zeros((1, trials.count), dtype=complex), np.zeros((1, trials.count))
    for trial, x in enumerate(_per_trial(trials)):
        at = edges[trial][:, 0]
        x = x[(x > at[ARRIVED]) & (x < at[-1])]
        sums[0, trial], counts[0, trial] = np.exp(2j * np.pi * (x - at[0]) / tread).sum(), len(x)
    return Footfalls(sums=sums, counts=counts)


def at_edges(trials: Trials, edges: Sequence[np.ndarray]) -> Footfalls:
    """The landing next to every edge on its high side, m past it, at rises and at drops."""
    sums, counts = np.zeros((2, trials.count)), np.zeros((2, trials.count))
    for trial, x in enumerate(_per_trial(trials)):
        for edge, rise in edges[trial]:
            past = x - edge
            high = past[(past > 0) & (past < REACH)] if rise > 0 else past[(past < 0) & (past > -REACH)]
            if len(high):
                group = RISE if rise > 0 else DROP
                sums[group, trial] += high[np.abs(high).argmin()]
                counts[group, trial] += 1
    return Footfalls(sums=sums, counts=counts)


def _per_trial(trials: Trials) -> list[np.ndarray]:
    """Sole centres along x (m) of each trial."""
    x = trials.foothold_position[:, 0].astype(np.float64)
    return [x[trials.foothold_trial == trial] for trial in range(trials.count)]


def circular_slope(shares: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Slope (b,) of phase over shift, of mean unit vectors (k, b) at shares (k,) of a tread.

    It is the slope that, taken back, lines the vectors up best; so scattered landings weigh less.
    """
    back = np.exp(-2j * np.pi * SLOPES[:, None] * shares)
    return SLOPES[np.abs(back @ means).argmax(axis=0)]


def free(shares: np.ndarray) -> np.ndarray:
    """(2, k) shifts at which a foot that follows the shown edge keeps to the high side of the true one."""
    return np.stack([shares >= 0, shares <= 0])


def edge_slope(shares: np.ndarray, means: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Slope (b,) of mean landings (2, k, b) over shift, at rises and drops together, numbers (2, k) of them.

    Each group has its own place, and counts only where it is free to follow.
    """
    above, below = np.zeros(means.shape[-1]), 0.0
    for group, weight in zip(means, numbers * free(shares), strict=True):
        away = shares - weight @ shares / max(weight.sum(), 1.0)
        above, below = above + (weight * away) @ group, below + weight @ away**2
    return above / below if below > 0 else np.full_like(above, np.nan)


def slope(shares: Sequence[float], found: Sequence[Footfalls], tread: float) -> Estimate:
    """By how much landings move per shift shown: 1 for feet that follow the eyes, 0 for feet that do not.

    With a 95 % interval from resampled trials. Not a number where there are too few landings.
    """
    at, rng = np.asarray(shares), np.random.default_rng(0)
    if np.iscomplexobj(found[0].sums):
        if any(one.number.sum() == 0 for one in found):
            return Estimate(value=np.nan, low=np.nan, high=np.nan)
        value = circular_slope(at, np.array([one.mean() for one in found]))
        spread = circular_slope(at, np.array([one.resampled(rng)[0] for one in found]))
    else:
        numbers = np.array([one.number for one in found]).T
        value = edge_slope(at, np.array([one.mean() for one in found]).T[..., None] / tread, numbers)
        drawn = np.stack([one.resampled(rng) for one in found], axis=1) / tread
        spread = edge_slope(at, drawn, numbers)
    low, high = np.percentile(spread, (2.5, 97.5))
    return Estimate(value=float(value[0]), low=float(low), high=float(high))
