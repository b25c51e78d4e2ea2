"""The measures of Sec. 4 and of the gait for the trials of one course, as one row of a table."""

from __future__ import annotations

from math import inf, isfinite, nan
from typing import Any

import numpy as np

from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.intervals import UNKNOWN, Estimate, per_trial, pooled, pooled_rate, wilson
from ssr.evaluation.places import among_obstacles, leading_feet, places, scatter
from ssr.evaluation.trials import LEFT, Trials
from ssr.learning.statistics import SAFE_SUPPORT
from ssr.terrain.registry import kind_named

TRAVERSED = 0.8  #: share of the commanded distance that a traversal covers
LEAST_WAY = 1.0  #: m; a shorter walk says nothing about drift
LEAST_RATED = (
    5  #: landings among the obstacles per trial on average; fewer are of those that fell at the first
)
LEAST_SCATTERED = 50  #: landings; fewer have a spread of their own by luck

Row = dict[str, Any]
WITH_SPREAD = ("ap", "pfcf")  #: measures whose spread between trials is reported too, as in Table 1


def measure(course: Course, trials: Trials, conditions: Conditions) -> dict[str, Estimate]:
    """Every measure of docs/evaluation.md that trials give, by its name in results.json; SI units."""
    n = trials.count
    far = trials.distance >= TRAVERSED * conditions.speed * conditions.seconds
    return {
        "success": wilson(float(trials.success.sum()), n),
        "traversal": wilson(float((trials.success & far).sum()), n),
        "distance": per_trial(trials.distance),
        "speed": pooled(trials.distance, trials.seconds),
        **_walk(trials, conditions),
        **_footholds(course, trials),
        "lead_right": _lead(course, trials),
        "style": pooled(trials.style_paid, trials.style_windows, (0.0, 1.0)),
        "ap": pooled(trials.power * trials.seconds, trials.seconds, (0.0, inf)),
        "pfcf": _per_sample(trials.stance_trial, trials.stance_peak, n, (0.0, inf)),
    }


def _walk(trials: Trials, conditions: Conditions) -> dict[str, Estimate]:
    """How it walks, once it does."""
    seconds, steps = trials.walk_seconds, trials.walk_steps.astype(np.float64)
    asked = seconds * conditions.speed
    gone = trials.distance >= LEAST_WAY
    return {
        "speed_share": pooled(trials.walk_distance, asked),
        "cadence": pooled(steps, seconds, (0.0, inf)),
        "step_length": pooled(trials.walk_distance, steps),
        "air_time": pooled(trials.walk_air, steps, (0.0, inf)),
        "stance_time": pooled(2 * seconds - trials.walk_air, steps, (0.0, inf)),
        "double_support": pooled(trials.walk_double_support, seconds, (0.0, 1.0)),
        "flight": pooled(trials.walk_flight, seconds, (0.0, 1.0)),
        "drift": pooled(10.0 * np.abs(trials.drift[gone]), trials.distance[gone], (0.0, inf)),
    }


def _footholds(course: Course, trials: Trials) -> dict[str, Estimate]:
    """Support where a sole can lack it: not on slopes, whose ground a level patch would miss."""
    if course.terrain.inclined:
        return {"sfr": UNKNOWN, "sfr_all": UNKNOWN, "msr": UNKNOWN, "scatter": UNKNOWN}
    n, rated = trials.count, among_obstacles(trials)
    trial, support = trials.foothold_trial[rated], trials.foothold_support[rated]
    enough = len(trial) >= LEAST_RATED * n
    return {
        "sfr": _safe(trial, support, n) if enough else UNKNOWN,
        "sfr_all": _safe(trials.foothold_trial, trials.foothold_support, n),
        "msr": _per_sample(trial, support, n, (0.0, 1.0)) if enough else UNKNOWN,
        "scatter": _scatter(course, trials),
    }


def _safe(trial: np.ndarray, support: np.ndarray, n: int) -> Estimate:
    """Share of landings (f,) of n trials that are safe."""
    safe = np.bincount(trial, weights=support > SAFE_SUPPORT, minlength=n)
    return pooled_rate(safe, np.bincount(trial, minlength=n))


def _scatter(course: Course, trials: Trials) -> Estimate:
    """Of landings along the tread, m; without an interval."""
    section = course.terrain.section and course.terrain.section(course.setting)
    if not section or not section.foothold:
        return UNKNOWN
    found = places(section, trials)
    if len(found) < LEAST_SCATTERED:
        return UNKNOWN
    return Estimate(value=scatter(found, section.spacing), low=nan, high=nan)


def _lead(course: Course, trials: Trials) -> Estimate:
    """Share of the crossings in which the right foot leads."""
    if course.terrain.crossing is None:
        return UNKNOWN
    return pooled_rate(*reversed(leading_feet(course.terrain.crossing(course.setting), trials)))


def _per_sample(trial: np.ndarray, values: np.ndarray, n: int, bounds: tuple[float, float]) -> Estimate:
    """Mean of `values` (m,), each of which belongs to one of n trials."""
    sums = np.bincount(trial, weights=values, minlength=n)
    return pooled(sums, np.bincount(trial, minlength=n), bounds)


def row_of(course: Course, trials: Trials, conditions: Conditions) -> Row:
    """One row of results.json; null where there was nothing to measure."""
    row: Row = {
        "terrain": course.kind,
        "setting": course.text,
        "beyond_training": course.beyond,
        "trials": trials.count,
    }
    for name, estimate in measure(course, trials, conditions).items():
        row[name] = _number(estimate.value)
        row[f"{name}_low"], row[f"{name}_high"] = _number(estimate.low), _number(estimate.high)
        if name in WITH_SPREAD:
            row[f"{name}_std"] = _number(estimate.std)
    row["left_strip"] = int((trials.ending == LEFT).sum())
    row["mean_seconds"] = _number(float(trials.seconds.mean()))
    row["footholds"] = len(trials.foothold_trial)
    row["rated"] = None if course.terrain.inclined else int(among_obstacles(trials).sum())
    row["walk_trials"] = int((trials.walk_seconds > 0).sum())
    row["walk_seconds"] = _number(float(trials.walk_seconds.sum()))
    return row


def course_of(row: Row) -> Course:
    return Course(kind=row["terrain"], setting=kind_named(row["terrain"]).parse(row["setting"]))


def _number(value: float) -> float | None:
    return round(value, 6) if isfinite(value) else None
