"""How fast a policy was learned: return, hardest level and memory over wall time (Fig. 7c)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssr.evaluation.figures.style import figure, tidy
from ssr.evaluation.results import Results

SMOOTHING = 25  #: iterations a curve is averaged over
ENDS = ("_low", "_high")  #: of an interval over seeds, where there are several


def training(results: Sequence[Results]) -> Figure | None:
    shown = [(number, result) for number, result in enumerate(results) if len(result.metrics()) > 1]
    if not shown:
        return None
    made = figure(10.5, 3.0)
    total, top, memory = made.subplots(1, 3, width_ratios=(2, 2, 1))
    peaks = []
    for number, result in shown:
        metrics = result.metrics()
        _curve(total, metrics, "return/locomotion", 1.0, result.colour(number), result.name)
        _curve(top, [_top(m) for m in metrics], "reached_top", 100.0, result.colour(number), result.name)
        peaks.append(max(m.get("peak_memory_mb", 0.0) for m in metrics) / 1024)
    for axes, title, label in (
        (total, "episode return (locomotion)", "return"),
        (top, "worlds that have crossed the hardest level", "worlds (%)"),
    ):
        tidy(axes)
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("hours", fontsize=8)
        axes.set_ylabel(label, fontsize=8)
    top.set_ylim(0, max(5.0, top.get_ylim()[1]))
    total.legend(fontsize=7, frameon=False)
    tidy(memory)
    memory.bar(
        range(len(shown)), peaks, color=[result.colour(number) for number, result in shown], alpha=0.85
    )
    for k, peak in enumerate(peaks):
        memory.text(k, peak, f"{peak:.2f}", ha="center", va="bottom", fontsize=8)
    memory.set_xticks(range(len(shown)), [result.name for _, result in shown], fontsize=7, rotation=20)
    memory.set_title("peak memory (GB)", fontsize=9)
    memory.set_xlim(-0.8, len(shown) - 0.2)
    return made


def _top(metrics: dict) -> dict:
    """Mean over the terrain types; of several seeds it is known."""
    if "reached_top" in metrics:
        return metrics
    return {"wall_seconds": metrics["wall_seconds"], **reached_top(metrics)}


def reached_top(metrics: dict) -> dict[str, float]:
    """Share of the worlds that have crossed the hardest tile, if it was measured."""
    values = [v for name, v in metrics.items() if name.startswith("reached_top/")]
    return {"reached_top": float(np.mean(values))} if values else {}


def _curve(axes: Axes, metrics: list[dict], name: str, factor: float, shade: str, label: str) -> None:
    known = [m for m in metrics if name in m]
    if not known:
        return
    hours = np.array([m["wall_seconds"] / 3600 for m in known])
    values = factor * np.array([m[name] for m in known])
    axes.plot(hours, smoothed(values), color=shade, lw=1.6, label=label)
    if all(f"{name}{end}" in m for m in known for end in ENDS):
        low, high = (smoothed(factor * np.array([m[f"{name}{end}"] for m in known])) for end in ENDS)
        axes.fill_between(hours, low, high, color=shade, alpha=0.15, lw=0)
    else:
        axes.plot(hours, values, color=shade, lw=0.4, alpha=0.3)


def smoothed(values: np.ndarray) -> np.ndarray:
    """Each value as the mean of those before it."""
    size = min(SMOOTHING, max(1, len(values) // 4))
    return np.convolve(np.pad(values, (size - 1, 0), mode="edge"), np.ones(size) / size, mode="valid")
