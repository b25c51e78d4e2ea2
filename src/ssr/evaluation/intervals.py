"""Intervals that cover the truth 95 times out of 100, for rates and for means of trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt

import numpy as np

Z = 1.959964  #: normal quantile of a two-sided 95 % interval
#: the same of Student's t with 1, 2, … degrees of freedom
STUDENT = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    value: float
    low: float
    high: float
    std: float = nan  #: between trials


UNKNOWN = Estimate(value=nan, low=nan, high=nan)


def wilson(successes: float, count: float) -> Estimate:
    """A rate with its Wilson score interval; `count` may be an effective sample size."""
    if count <= 0:
        return UNKNOWN
    rate = successes / count
    centre = (rate + Z**2 / (2 * count)) / (1 + Z**2 / count)
    half = Z / (1 + Z**2 / count) * sqrt(rate * (1 - rate) / count + Z**2 / (4 * count**2))
    # Rounding must put the interval neither beside its rate nor out of 0 … 1.
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return Estimate(value=rate, low=min(rate, low), high=max(rate, high))


def per_trial(values: np.ndarray) -> Estimate:
    """Mean of one number per trial (n,)."""
    return pooled(values.astype(np.float64), np.ones(len(values)))


def pooled(sums: np.ndarray, counts: np.ndarray, bounds: tuple[float, float] = (-inf, inf)) -> Estimate:
    """Mean over all samples of trials that hold `counts` (n,) samples adding up to `sums` (n,).

    Samples of one trial are alike, so the interval comes from the spread between trials (ratio estimator);
    `std` is the spread of the trials' own means. `bounds` hold whatever the mean is.
    """
    held = counts > 0
    sums, counts = sums[held], counts[held]
    total = float(counts.sum())
    if total == 0:
        return UNKNOWN
    mean = float(sums.sum()) / total
    error = _standard_error(sums, counts, mean)
    own = sums / counts
    std = float(own.std(ddof=1)) if len(own) > 1 else nan
    low, high = max(bounds[0], mean - Z * error), min(bounds[1], mean + Z * error)
    return Estimate(value=mean, low=low, high=high, std=std)


def pooled_rate(successes: np.ndarray, counts: np.ndarray) -> Estimate:
    """Share of samples that succeed, with a Wilson interval.

    Samples of one trial are alike, so they count for fewer: their number is divided by the design effect, how
    much more the trials differ than independent samples would.
    """
    total = float(counts.sum())
    if total == 0:
        return UNKNOWN
    rate = float(successes.sum()) / total
    independent = rate * (1 - rate) / total
    held = counts > 0
    effect = 1.0
    if independent > 0 and held.sum() > 1:
        error = _standard_error(successes[held], counts[held], rate)
        effect = max(1.0, error**2 / independent)
    return wilson(rate * total / effect, total / effect)


def over_seeds(values: Sequence[float], bounds: tuple[float, float] = (-inf, inf)) -> Estimate:
    """Mean of one number per training run, as Student's t has it: another seed's run is another sample.

    One run says nothing about another: its interval is unknown.
    """
    if not values:
        return UNKNOWN
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(value=mean, low=nan, high=nan)
    std = float(np.std(values, ddof=1))
    half = student(len(values) - 1) * std / sqrt(len(values))
    return Estimate(value=mean, low=max(bounds[0], mean - half), high=min(bounds[1], mean + half), std=std)


def student(freedom: int) -> float:
    """Quantile of a two-sided 95 % interval of Student's t; beyond the table by its expansion."""
    if freedom <= len(STUDENT):
        return STUDENT[freedom - 1]
    return Z + (Z**3 + Z) / (4 * freedom) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)


def _standard_error(sums: np.ndarray, counts: np.ndarray, mean: float) -> float:
    n = len(sums)
    if n < 2:
        return nan
    spread = float(((sums - mean * counts) ** 2).sum())
    return sqrt(n / (n - 1) * spread) / float(counts.sum())
