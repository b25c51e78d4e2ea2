"""The measures of Sec. 4 for the trials of one course, as one row of a table."""

from __future__ import annotations

from math import inf, isfinite
from typing import Any

import numpy as np

from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.footholds import SAFE_SUPPORT
from ssr.evaluation.intervals import Estimate, per_trial, pooled, pooled_rate, wilson
from ssr.evaluation.trials import LEFT, Trials
from ssr.terrain.settings import check_kind, parse_setting

TRAVERSED = 0.8  #: share of the commanded distance that a traversal covers

Row = dict[str, Any]
MEASURES = ("success", "traversal", "distance", "speed", "steps", "sfr", "msr", "ap", "pfcf")


def measure(trials: Trials, conditions: Conditions) -> dict[str, Estimate]:
    """success, traversal and sfr are shares; msr too; distance in m, ap in W, pfcf in N.

    speed (m/s) and steps (footholds per foot and second) are means over the time until a trial ended.
    """
    n = trials.count
    far = trials.distance >= TRAVERSED * conditions.speed * conditions.seconds
    per = lambda index, values: np.bincount(index, weights=values, minlength=n)
    footholds = np.bincount(trials.foothold_trial, minlength=n)
    stances = np.bincount(trials.stance_trial, minlength=n)
    safe = trials.foothold_support > SAFE_SUPPORT
    return {
        "success": wilson(float(trials.success.sum()), n),
        "traversal": wilson(float((trials.success & far).sum()), n),
        "distance": per_trial(trials.distance),
        "speed": pooled(trials.distance, trials.seconds),
        "steps": pooled(footholds / 2, trials.seconds, (0.0, inf)),
        "sfr": pooled_rate(per(trials.foothold_trial, safe), footholds),
        "msr": pooled(per(trials.foothold_trial, trials.foothold_support), footholds, (0.0, 1.0)),
        "ap": pooled(trials.power * trials.seconds, trials.seconds, (0.0, inf)),
        "pfcf": pooled(per(trials.stance_trial, trials.stance_peak), stances, (0.0, inf)),
    }


def row_of(course: Course, trials: Trials, conditions: Conditions) -> Row:
    """One row of results.json; null where there was nothing to measure."""
    row: Row = {
        "terrain": course.kind,
        "setting": course.text,
        "beyond_training": course.beyond,
        "trials": trials.count,
    }
    for name, estimate in measure(trials, conditions).items():
        row[name] = _number(estimate.value)
        row[f"{name}_low"], row[f"{name}_high"] = _number(estimate.low), _number(estimate.high)
        if name in ("ap", "pfcf"):
            row[f"{name}_std"] = _number(estimate.std)
    row["left_strip"] = int((trials.ending == LEFT).sum())
    row["mean_seconds"] = _number(float(trials.seconds.mean()))
    row["footholds"] = len(trials.foothold_trial)
    return row


def course_of(row: Row) -> Course:
    kind = check_kind(row["terrain"])
    return Course(kind=kind, setting=parse_setting(kind, row["setting"]))


def _number(value: float) -> float | None:
    return round(value, 6) if isfinite(value) else None
