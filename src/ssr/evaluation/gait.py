"""How a robot walks, from what its feet touched at every control step: cadence, steps, flight, drift."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from torch import Tensor

from ssr.task.transition import Transition

WARM_UP = 3.0  #: s at the beginning of a trial that do not count: it starts standing
SHORTEST_SWING = 4  #: control steps; a foot that leaves the ground for less has not taken a step
SHORTEST_STANCE = 2  #: control steps; a foot that touches for less has brushed something


@dataclass(frozen=True, kw_only=True)
class WalkSums:
    """What n trials add up to between warm-up and end; a foot-second is one foot for one second."""

    seconds: np.ndarray  #: (n,) float64 that count
    distance: np.ndarray  #: (n,) float64, m along the strip
    steps: np.ndarray  #: (n,) int32, landings of either foot
    air: np.ndarray  #: (n,) float64, foot-seconds between lift-off and landing
    double_support: np.ndarray  #: (n,) float64, s with both feet in contact
    flight: np.ndarray  #: (n,) float64, s with no foot in contact


def settled(contact: np.ndarray) -> np.ndarray:
    """One foot's contacts (t,) bool without chatter: neither hops too short for a step, nor brushes."""
    grounded = _without_short(contact, False, SHORTEST_SWING)
    return _without_short(grounded, True, SHORTEST_STANCE)


def _without_short(flags: np.ndarray, value: bool, least: int) -> np.ndarray:
    """Runs of `value` shorter than `least` turned over, but not the first and the last, which are cut off."""
    edges = np.flatnonzero(np.diff(flags)) + 1
    cleaned = flags.copy()
    for begin, end in pairwise(edges):
        if flags[begin] == value and end - begin < least:
            cleaned[begin:end] = not value
    return cleaned


def gait_of(contact: np.ndarray, x: np.ndarray, steps: np.ndarray, period: float) -> WalkSums:
    """The gait of n trials that ran side by side for up to t control steps of `period` seconds.

    contact (t, n, 2) bool; x (t, n) m along the strip; steps (n,) int: how many of the t each trial lasted.
    """
    first = round(WARM_UP / period)
    rows = [_sums(contact[:last, i], x[:last, i], first) for i, last in enumerate(steps.tolist())]
    sums = np.array(rows, dtype=np.float64).reshape(-1, 6)
    return WalkSums(
        seconds=sums[:, 0] * period,
        distance=sums[:, 1],
        steps=sums[:, 2].astype(np.int32),
        air=sums[:, 3] * period,
        double_support=sums[:, 4] * period,
        flight=sums[:, 5] * period,
    )


def _sums(contact: np.ndarray, x: np.ndarray, first: int) -> tuple[float, ...]:
    """From `first`: control steps, metres, landings; control steps in the air, on both feet, on none."""
    if len(contact) <= first:
        return (0.0,) * 6
    grounded = np.stack([settled(foot) for foot in contact.T])
    # The step before counts as the past of the first one, so that every landing in the span has one.
    landings = (grounded[:, first:] & ~grounded[:, first - 1 : -1]).sum()
    feet = contact[first:].sum(axis=1)
    return (
        len(feet),
        float(x[-1] - x[first - 1]),
        landings,
        (~grounded[:, first:]).sum(),
        (feet == 2).sum(),
        (feet == 0).sum(),
    )


class GaitRecorder:
    """Keeps what n worlds' feet touched, and where their bases were.

    A step that is not valid has neither: it is taken for a repetition of the one before.
    """

    def __init__(self, worlds: int) -> None:
        self._contact: list[np.ndarray] = []
        self._position: list[np.ndarray] = []
        self._touched, self._stood = np.zeros((worlds, 2), dtype=bool), np.zeros((worlds, 2), np.float32)

    def observe(self, transition: Transition) -> None:
        valid = transition.valid.numpy()[:, None]
        self._touched = np.where(valid, transition.feet.contact.numpy(), self._touched)
        self._stood = np.where(valid, transition.base_position[:, :2].numpy(), self._stood)
        self._contact.append(self._touched)
        self._position.append(self._stood)

    def gait(self, steps: Tensor, period: float) -> WalkSums:
        """steps (n,): how many control steps each trial lasted."""
        return gait_of(np.stack(self._contact), np.stack(self._position)[..., 0], steps.numpy(), period)

    def drift(self, steps: Tensor) -> np.ndarray:
        """(n,) float32, m to the left between the first and the last step of each trial."""
        lateral = np.stack(self._position)[..., 1]
        last = np.maximum(steps.numpy() - 1, 0)
        return (lateral[last, np.arange(len(last))] - lateral[0]).astype(np.float32)
