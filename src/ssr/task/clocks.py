"""Clocks that run down in whole control steps."""

from __future__ import annotations

import numpy as np

from ssr.kept import kept

NOBODY = np.empty(0, dtype=np.intp)


def run_down(steps_left: np.ndarray) -> np.ndarray:
    """One control step less for each of the (n,) worlds; which of them have none left."""
    return np.flatnonzero(steps_left <= 0) if _run_down(steps_left) else NOBODY


@kept()
def _run_down(steps_left: np.ndarray) -> bool:
    """Whether any has none left."""
    due = False
    for i in range(len(steps_left)):
        steps_left[i] -= 1
        due |= steps_left[i] <= 0
    return due
