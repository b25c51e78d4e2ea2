"""How safe footholds would be on a course if feet came down anywhere: the level any policy must beat."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

from ssr.evaluation.courses import Course
from ssr.evaluation.waypoints import Way
from ssr.evaluation.worlds import seed_of, strips_for
from ssr.learning.statistics import SAFE_SUPPORT
from ssr.robots.spec import Sole
from ssr.task.terminations import GAP_DEPTH
from ssr.terrain.registry import kind_named
from ssr.terrain.tile import Tile
from ssr.vision.support import resting_deficiency

PLACES = 6000  #: soles put down
STRIPS = 6  #: among which they are shared out
LANE = 1.0  #: m to either side of the middle line
LED_LANE = 0.4  #: m likewise, where an operator leads along a way
YAW_SPREAD = 0.1  #: rad, standard deviation of the soles' yaw


@cache
def safe_by_chance(course: Course, sole: Sole) -> float:
    """Share of soles, put down anywhere between the first and the last edge, that are safe."""
    seeds = [seed_of("chance", course.key, k) for k in range(STRIPS)]
    support = [
        random_support(strip, sole, PLACES // STRIPS, np.random.default_rng(seed))
        for strip, seed in zip(strips_for(course, seeds), seeds, strict=True)
    ]
    return float((np.concatenate(support) > SAFE_SUPPORT).mean())


def random_support(strip: Tile, sole: Sole, count: int, rng: np.random.Generator) -> np.ndarray:
    """Support (≤ count,) of soles at random places of a strip, lying on the highest ground under them.

    What moves lies where it does at first. A sole on the floor of a gap is a fall and no foothold: it does
    not count.
    """
    x, y, heading = _places(strip, count, rng)
    yaw = heading + rng.normal(0.0, YAW_SPREAD, count)
    offsets = sole.offsets().reshape(-1, 2)
    c, s = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    points = np.stack(
        [
            x[:, None] + c * offsets[:, 0] - s * offsets[:, 1],
            y[:, None] + s * offsets[:, 0] + c * offsets[:, 1],
        ],
        axis=-1,
    )
    heights = strip.at_rest().heights(points.reshape(-1, 2)).reshape(count, -1)
    support = 1.0 - resting_deficiency(torch.from_numpy(heights)).numpy()
    if kind_named(strip.kind).has_pits:
        support = support[heights.max(axis=1) > -GAP_DEPTH]
    return support


def _places(strip: Tile, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, y and heading (count,) along the middle line, or beside a way that is not straight."""
    if not strip.way:
        x, y = rng.uniform(strip.first_edge, strip.last_edge, count), rng.uniform(-LANE, LANE, count)
        return x, y, np.zeros(count)
    way = Way(strip.way)
    begin = way.nearest(np.array([strip.first_edge, 0.0]), strip.first_edge)
    along, aside = rng.uniform(begin, way.length, count), rng.uniform(-LED_LANE, LED_LANE, count)
    heading = np.array([way.heading(distance) for distance in along])
    x, y = np.array([way.at(distance) for distance in along]).T
    return x - aside * np.sin(heading), y + aside * np.cos(heading), heading
