"""E[ρ] of many imagined landings on the CPU, one pass over each world's facets.

Most landings lie wholly on one tread, which bounds alone can tell; only patches that meet an edge are
sampled. Where a turned facet is near, which is never so in training, every patch is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ssr.kept import kept
from ssr.terrain.heights import heights_under
from ssr.terrain.tile import ABYSS, TURNED

F = np.float32
PLAIN = 6  #: fields of a facet that say all about one that is not turned
CARRIED, LOST = -1, -2  #: a whole patch rests on level ground, or on none
NEAR = 32  #: most facets kept around one landing; more than a tile has within reach


class Landings(NamedTuple):
    """Where feet are expected, float32."""

    mean: np.ndarray  #: (n, 2, 2) m
    std: np.ndarray  #: (n, 2) m
    yaw: np.ndarray  #: (n, 2)
    needed: np.ndarray  #: (n, 2) bool


class Sampling(NamedTuple):
    """How an expectation is taken, float32."""

    patch: np.ndarray  #: (p, 2) m, offsets from the sole's centre
    points: np.ndarray  #: (2, k, 2) in units of σ, per foot
    weights: np.ndarray  #: (k,)
    tolerance: np.float32  #: m


class Rectangle(NamedTuple):
    """Bounds, m."""

    x0: float
    x1: float
    y0: float
    y1: float


class TurnedPatch(NamedTuple):
    """The patch (p,) under one foot, turned as the foot is."""

    dx: np.ndarray  #: m, from its centre
    dy: np.ndarray
    heights: np.ndarray  #: m, of the ground under it, to be filled


_compiled = kept(fastmath=True, error_model="numpy")
#: for what takes a named tuple: a cache that knows one breaks when that is renamed
_within = njit(fastmath=True, error_model="numpy", nogil=True)


@_within
def _close(facets, count, inside, near, lowest):
    """Copy the facets that touch the `Rectangle` into `near`; returns how many, if they matter.

    They do not where a level facet covers the whole rectangle and no other one touching it rises higher: then
    it is CARRIED, or LOST if nothing there is above `lowest`.
    """
    kept = 0
    cover = F(ABYSS)
    highest = F(ABYSS)
    for f in range(count):
        a, b, c, d, z, slope = (
            facets[f, 0],
            facets[f, 1],
            facets[f, 2],
            facets[f, 3],
            facets[f, 4],
            facets[f, 5],
        )
        if b < inside.x0 or a > inside.x1 or d < inside.y0 or c > inside.y1 or kept == near.shape[0]:
            continue
        for k in range(PLAIN):
            near[kept, k] = facets[f, k]
        kept += 1
        top = max(z, z + slope * (b - a))
        highest = max(highest, top)
        covers = a <= inside.x0 and b >= inside.x1 and c <= inside.y0 and d >= inside.y1
        if covers and slope == F(0.0):
            cover = max(cover, z)
    if highest <= lowest:
        return LOST
    return CARRIED if cover >= highest else kept


@_within
def _deficiency(near, kept, sole, x, y, tolerance, lowest):
    """ρ of the `TurnedPatch` around x, y, resting on its highest point."""
    dx, dy, heights = sole.dx, sole.dy, sole.heights
    for i in range(heights.size):
        heights[i] = F(ABYSS)
    for f in range(kept):
        a, b, c, d = near[f, 0] - x, near[f, 1] - x, near[f, 2] - y, near[f, 3] - y
        z, slope = near[f, 4], near[f, 5]
        for i in range(heights.size):
            inside = (dx[i] >= a) & (dx[i] <= b) & (dy[i] >= c) & (dy[i] <= d)
            height = z + slope * (dx[i] - a)
            heights[i] = height if inside & (height > heights[i]) else heights[i]
    return _hanging(heights, tolerance, lowest)


@_compiled
def _hanging(heights, tolerance, lowest):
    """ρ of a patch with these heights under it, resting on the highest; none at or below `lowest` carries."""
    highest = F(ABYSS)
    for i in range(heights.size):
        highest = heights[i] if heights[i] > highest else highest
    carried = 0
    for i in range(heights.size):
        carried += 1 if (highest - heights[i] < tolerance) & (heights[i] > lowest) else 0
    return F(1.0) - F(carried) / F(heights.size)


@_within
def _turned_near(facets, count, inside):
    """Whether a turned facet's bounds touch the `Rectangle`; these come last."""
    for f in range(count - 1, -1, -1):
        if facets[f, TURNED] == F(0.0):
            return False
        along = facets[f, 1] >= inside.x0 and facets[f, 0] <= inside.x1
        if along and facets[f, 3] >= inside.y0 and facets[f, 2] <= inside.y1:
            return True
    return False


@_compiled
def expect(facets, facet_count, floor, landings, sampling, out):
    """Fill out (n, 2) with E[ρ].

    facets (n, m, 12) float32, facet_count (n,); floor (n,) float32 m: no ground at or below it carries;
    landings, sampling: `Landings`, `Sampling`, as plain tuples.
    """
    feet, rule = Landings(*landings), Sampling(*sampling)
    mean, std, yaw, needed = feet.mean, feet.std, feet.yaw, feet.needed
    patch, points, weights, tolerance = rule.patch, rule.points, rule.weights, rule.tolerance
    size = patch.shape[0]
    dx, dy, heights = np.empty(size, F), np.empty(size, F), np.empty(size, F)
    around = np.empty((NEAR, PLAIN), F)
    under = np.empty((NEAR, PLAIN), F)
    under_sole = np.empty((size, 2), F)
    sole = TurnedPatch(dx, dy, heights)
    for n in range(out.shape[0]):
        for foot in range(out.shape[1]):
            out[n, foot] = F(0.0)
            if not needed[n, foot]:
                continue
            cosine, sine = F(math.cos(yaw[n, foot])), F(math.sin(yaw[n, foot]))
            left, right, low, high = F(0.0), F(0.0), F(0.0), F(0.0)
            for i in range(size):
                dx[i] = cosine * patch[i, 0] - sine * patch[i, 1]
                dy[i] = sine * patch[i, 0] + cosine * patch[i, 1]
                left, right = min(left, dx[i]), max(right, dx[i])
                low, high = min(low, dy[i]), max(high, dy[i])
            x, y, sigma = mean[n, foot, 0], mean[n, foot, 1], std[n, foot]
            reach = F(0.0)
            for k in range(weights.size):
                reach = max(reach, max(abs(points[foot, k, 0]), abs(points[foot, k, 1])))
            reach *= sigma
            total = F(0.0)
            within = Rectangle(x + left - reach, x + right + reach, y + low - reach, y + high + reach)
            if _turned_near(facets[n], facet_count[n], within):
                for k in range(weights.size):
                    for i in range(size):
                        under_sole[i, 0] = x + sigma * points[foot, k, 0] + dx[i]
                        under_sole[i, 1] = y + sigma * points[foot, k, 1] + dy[i]
                    heights_under(facets[n], facet_count[n], under_sole, heights)
                    total += weights[k] * _hanging(heights, tolerance, floor[n])
                out[n, foot] = total
                continue
            kept = _close(facets[n], facet_count[n], within, around, floor[n])
            if kept == LOST:
                total = F(1.0)
            elif kept > 0:
                for k in range(weights.size):
                    px, py = x + sigma * points[foot, k, 0], y + sigma * points[foot, k, 1]
                    patch_bounds = Rectangle(px + left, px + right, py + low, py + high)
                    below = _close(around, kept, patch_bounds, under, floor[n])
                    if below == LOST:
                        total += weights[k]
                    elif below > 0:
                        rho = _deficiency(under, below, sole, px, py, tolerance, floor[n])
                        total += weights[k] * rho
            out[n, foot] = total
