"""Where feet come down against the edges of a strip: on treads, at gaps, which foot first."""

from __future__ import annotations

import numpy as np

from ssr.evaluation.trials import Trials
from ssr.terrain.kind import Crossing, Section

SLACK = 0.05  #: m, a sole may hang over an edge this far with its centre


def past_edge(trials: Trials) -> np.ndarray:
    """(f,) m from the first edge of its trial's strip to the centre of each foothold."""
    edges = trials.first_edge.astype(np.float64)[trials.foothold_trial]
    return trials.foothold_position[:, 0].astype(np.float64) - edges


def among_obstacles(trials: Trials, margin: float = 0.0) -> np.ndarray:
    """(f,) bool: footholds with their centre between the first and the last edge, or `margin` m outside.

    The run-up and the ground behind are level: whoever marches there has put no foot among obstacles.
    """
    x = past_edge(trials)
    span = (trials.last_edge - trials.first_edge).astype(np.float64)[trials.foothold_trial]
    return (x > -margin) & (x < span + margin)


def leading_feet(crossing: Crossing, trials: Trials) -> tuple[np.ndarray, np.ndarray]:
    """How often each trial crossed an obstacle (n,), and how often with the right foot first (n,).

    Leads: the first foot that comes down behind a gap, on top of a platform, or past the first edge of a
    flight of stairs, which is one obstacle.
    """
    x, spacing = past_edge(trials) - crossing.landing + SLACK, crossing.spacing
    obstacle = np.floor(x / spacing).astype(int)
    beyond = (obstacle >= 0) & (x % spacing <= crossing.reach + SLACK)
    crossings, right = np.zeros(trials.count, dtype=int), np.zeros(trials.count, dtype=int)
    # Footholds lie trial by trial in the order of time: the first of each pair is the leading one.
    pairs = np.stack([trials.foothold_trial[beyond], obstacle[beyond]], axis=1)
    _, first = np.unique(pairs, axis=0, return_index=True)
    np.add.at(crossings, pairs[first, 0], 1)
    np.add.at(right, pairs[first, 0], trials.foothold_foot[beyond][first] == 0)
    return crossings, right


def places(section: Section, trials: Trials) -> np.ndarray:
    """Sole centres (m) from the near edge of the obstacle they are on or closest to."""
    x = past_edge(trials)
    if section.extent == section.spacing:
        return x[among_obstacles(trials)] % section.spacing
    centre, half = section.extent / 2, section.spacing / 2
    return (x[among_obstacles(trials, section.margin)] - centre + half) % section.spacing - half + centre


def scatter(found: np.ndarray, period: float) -> float:
    """Standard deviation (m) of `found` places (f,) on a circle of `period` metres, as of a wrapped normal.

    Places spread evenly have none to speak of: it then exceeds 0.4 periods and means only that.
    """
    if len(found) == 0:
        return float("nan")
    length = min(abs(np.exp(2j * np.pi * found / period).mean()), 1.0)
    return float(period / (2 * np.pi) * np.sqrt(-2.0 * np.log(max(length, 1e-9))))
