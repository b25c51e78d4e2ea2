"""Alternated A/B timing: the machine is shared, so only ratios within one run mean anything."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Annotated

from ssr.ranges import Within

Rounds = Annotated[int, Within(1, 10_000)]


def alternate(work: Mapping[str, Callable[[], int]], rounds: int) -> dict[str, list[float]]:
    """Run each piece of work in turn, `rounds` times; units of work per second of every block.

    A callable returns how many units it did.
    """
    rates: dict[str, list[float]] = {name: [] for name in work}
    for number in range(rounds):
        for name, run in work.items():
            begin = time.perf_counter()
            units = run()
            rates[name].append(units / (time.perf_counter() - begin))
        shown = ", ".join(f"{name} {values[-1]:,.0f}/s" for name, values in rates.items())
        print(f"round {number + 1}/{rounds}: {shown}", file=sys.stderr)
    return rates


def median_ratio(rates: Mapping[str, list[float]], a: str, b: str) -> float:
    """Median over rounds of rate a ÷ rate b, each pair measured side by side."""
    return median(x / y for x, y in zip(rates[a], rates[b], strict=True))
