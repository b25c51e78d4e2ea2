"""Intervals: known values, and they cover the truth as often as they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssr.evaluation.intervals import per_trial, pooled, pooled_rate, wilson


def test_wilson_as_in_the_books() -> None:
    # Newcombe (1998): 81 of 263 is 0.2553–0.3662, 0 of 20 is 0–0.1611.
    assert (wilson(81, 263).low, wilson(81, 263).high) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert (wilson(0, 20).low, wilson(0, 20).high) == pytest.approx((0.0, 0.1611), abs=5e-5)


@given(count=st.integers(1, 5000), share=st.floats(0, 1))
@settings(deadline=None)
def test_wilson_holds_its_rate_and_stays_within_bounds(count: int, share: float) -> None:
    found = wilson(round(share * count), count)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0


def covered(draw, truth: float, rounds: int = 800) -> float:
    rng = np.random.default_rng(0)
    found = [draw(rng) for _ in range(rounds)]
    return float(np.mean([f.low <= truth <= f.high for f in found]))


def test_rates_are_covered_95_times_of_100() -> None:
    assert covered(lambda rng: wilson(rng.binomial(200, 0.9), 200), 0.9) == pytest.approx(0.95, abs=0.025)


def test_footholds_of_one_trial_are_alike_and_count_for_fewer() -> None:
    # Every trial has its own rate, drawn around 0.7; plain Wilson on all footholds would be far too sure.
    def trials(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        counts = rng.integers(20, 60, size=100)
        return rng.binomial(counts, rng.beta(7, 3, size=100)), counts

    assert covered(lambda rng: pooled_rate(*trials(rng)), 0.7) == pytest.approx(0.95, abs=0.03)
    naive = covered(lambda rng: wilson(*(float(x.sum()) for x in trials(rng))), 0.7)
    assert naive < 0.75


def test_means_over_trials_of_unequal_size() -> None:
    def draw(rng: np.random.Generator):
        counts = rng.integers(5, 50, size=80)
        means = 500 + 40 * rng.standard_normal(80)
        return pooled(counts * means, counts)

    assert covered(draw, 500.0) == pytest.approx(0.95, abs=0.03)
    simple = per_trial(np.array([1.0, 2.0, 3.0]))
    assert (simple.value, simple.std) == pytest.approx((2.0, 1.0))


def test_nothing_measured_is_unknown_not_zero() -> None:
    assert np.isnan(wilson(0, 0).value)
    assert np.isnan(pooled(np.zeros(3), np.zeros(3)).value)
    assert np.isnan(pooled_rate(np.zeros(3), np.zeros(3)).value)
