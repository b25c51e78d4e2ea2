"""Left and right alike: paths in all directions, and which leg leads (Fig. 7a, b)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssr.evaluation.courses import course_sets
from ssr.evaluation.figures.style import LEFT, RIGHT, colour, figure, tidy
from ssr.evaluation.intervals import Estimate
from ssr.evaluation.places import leading_feet
from ssr.evaluation.results import Results
from ssr.evaluation.table import all_courses


def paths(results: Sequence[Results]) -> Figure | None:
    """Fig. 7a: one pair of panels per policy, walking in eight directions and turning on the spot."""
    shown = [result for result in results if result.directions is not None]
    if not shown:
        return None
    made = figure(7.6, 4.3 * len(shown))
    grid = made.subplots(len(shown), 2, squeeze=False)
    for (walking, turning), result in zip(grid, shown, strict=True):
        found = result.directions
        assert found is not None
        positions = np.array(found["paths"])  # (c, r, t, 2)
        commands, seconds = np.array(found["commands"]), found["seconds"]
        # Seen from above with the robot looking up: x goes up, y (left) to the left.
        for k, command in enumerate(commands):
            axes = walking if command[2] == 0 else turning
            for path in positions[k]:
                axes.plot(-path[:, 1], path[:, 0], color=colour(k), lw=0.5, alpha=0.4)
            mean = positions[k].mean(axis=0)
            name = None if command[2] == 0 else f"turn {'left' if command[2] > 0 else 'right'}"
            axes.plot(-mean[:, 1], mean[:, 0], color=colour(k), lw=2, label=name)
            if command[2] == 0:
                aim = command[:2] * seconds
                axes.plot([0, -aim[1]], [0, aim[0]], color="#333", lw=0.8, ls="--")
        _square(walking, 1.15 * np.abs(np.concatenate([positions[:8].ravel(), [5.0]])).max())
        _square(turning, max(0.3, 1.15 * np.abs(positions[8:]).max()))
        turning.legend(fontsize=7, frameon=False, loc="upper right")
        lasted = np.array(found["lasted"])
        uneven, off = np.mean(found["asymmetry"]), np.array(found["end_error"])
        walking.set_title(f"{result.name}: eight directions, {seconds:g} s", fontsize=9)
        turning.set_title(f"turning on the spot, {seconds:g} s", fontsize=9)
        straight, turns = commands[:, 2] == 0, commands[:, 2] != 0
        measured = f"off at the end {off[straight].mean():.2f} m, asymmetry of all {uneven:.2f} m"
        walking.set_xlabel(f"to the right (m)\n{measured},\n{_upright(lasted[straight])}", fontsize=8)
        shares = [share for share in found["turned_share"] if share is not None]
        measured = f"turned {_percent(shares)} % of what was asked, off {off[turns].mean():.2f} m"
        turning.set_xlabel(f"to the right (m)\n{measured},\n{_upright(lasted[turns])}", fontsize=8)
    return made


def _upright(lasted: np.ndarray) -> str:
    return f"{lasted.sum()} of {lasted.size} stayed up"


def _percent(shares: Sequence[float]) -> str:
    """`97 and 95`"""
    return " and ".join(f"{100 * share:.0f}" for share in shares)


def _square(axes: Axes, reach: float) -> None:
    tidy(axes)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), box_aspect=1)
    axes.set_ylabel("ahead (m)", fontsize=8)
    axes.plot(0, 0, "k^", ms=6)


def lead(results: Sequence[Results]) -> Figure | None:
    """Fig. 7b: with which leg gaps and platforms are crossed."""
    bars: list[tuple[str, Estimate, int]] = []
    table2 = course_sets()["table2"]
    tried = {c: c.terrain.crossing(c.setting) for c in all_courses(results) if c.terrain.crossing}
    drawn = [course for course, crossing in tried.items() if crossing.drawn]
    for course in [c for c in drawn if c in table2] or drawn:
        for result in results:
            row = result.find(course)
            trials = result.trials(row) if row else None
            if trials is None:
                continue
            crossings, _ = leading_feet(tried[course], trials)
            if crossings.sum() and row is not None:
                who = f"{result.name}, " if len(results) > 1 else ""
                value, low, high = (row[f"lead_right{end}"] for end in ("", "_low", "_high"))
                bars.append(
                    (f"{who}{course.title}", Estimate(value=value, low=low, high=high), int(crossings.sum()))
                )
    if not bars:
        return None
    made = figure(6.8, 0.42 * len(bars) + 1.1)
    axes = made.subplots()
    tidy(axes)
    for k, (_, share, count) in enumerate(bars):
        value = 100 * share.value
        for width, left, shade, leg in ((value, 0.0, RIGHT, "right"), (100 - value, value, LEFT, "left")):
            label = f"{leg} leg leads" if k == 0 else None
            axes.barh(k, width, left=left, color=shade, alpha=0.85, label=label)
        bounds = [[value - 100 * share.low], [100 * share.high - value]]
        axes.errorbar(value, k, xerr=bounds, color="#111", lw=1, capsize=3)
        axes.text(101, k, f"{count} crossings", va="center", fontsize=7)
    axes.axvline(50, color="white", lw=1.2, ls="--")
    axes.set_yticks(range(len(bars)), [name for name, _, _ in bars], fontsize=8)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlim(0, 116)
    axes.set_xticks(range(0, 101, 25))
    axes.set_xlabel("share of crossings (%)", fontsize=8)
    made.legend(loc="outside upper center", ncols=2, fontsize=8, frameon=False)
    return made
