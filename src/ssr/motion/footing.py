"""The ground a recording was walked on, found from where its feet stood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssr.motion.contacts import Stance
from ssr.motion.ground import Ground
from ssr.motion.recording import Block
from ssr.terrain.tile import Box

SAME_LEVEL = 0.05  #: m, footholds whose heights differ less in a row stand on the same level
FLAT_SPREAD = 0.10  #: m, less spread than this over a whole clip is flat ground
SLOPE_MISFIT = 0.03  #: m, rms of footholds about a straight incline
MARGIN = 0.03  #: m, ground around a sole


@dataclass(frozen=True, kw_only=True)
class Footing:
    """Height and pitch of the ground under each stance, in the stances' order and the recording's scale."""

    height: np.ndarray  #: (n,) m above the lowest
    pitch: np.ndarray  #: (n,) rad, toe down positive
    ankle: float  #: m, the ankle's height above the ground of a foot lying flat
    incline: tuple[float, float] | None  #: a, b of the ground z = max(0, a + b x), for a slope


def find(stances: list[Stance], ground: Ground, blocks: tuple[Block, ...] = ()) -> Footing:
    """Fit `ground` to the stances; recorded blocks, if any, say the heights instead."""
    z = np.array([s.ankle[2] for s in stances])
    x = np.array([s.ankle[0] for s in stances])
    flat = np.zeros(len(z))
    if not len(z):
        return Footing(height=flat, pitch=flat, ankle=0.08, incline=None)
    if blocks:
        height = np.array([_block_height(blocks, s.ankle) for s in stances])
        height -= height.min()
        return Footing(height=height, pitch=flat, ankle=float(np.median(z - height)), incline=None)
    if ground == "auto":
        ground = _guess(x, z, np.array([s.pitch for s in stances]))
    if ground == "flat":
        return Footing(height=flat, pitch=flat, ankle=float(np.median(z)), incline=None)
    if ground == "slope" and len(z) > 2:
        return _slope(x, z)
    height = _levels(z)
    return Footing(height=height, pitch=flat, ankle=float(np.median(z - height)), incline=None)


def uphill(stances: list[Stance], found: Footing) -> np.ndarray | None:
    """(2,) the direction in which the steps from foothold to foothold rise, if they agree on one."""
    places = np.array([s.ankle[:2] for s in stances]).reshape(-1, 2)
    rise, way = np.diff(found.height), np.diff(places, axis=0)
    rise = np.where(np.abs(rise) > 0.5 * SAME_LEVEL, rise, 0.0)
    weighted = rise[:, None] * way
    total = float(np.linalg.norm(weighted, axis=1).sum())
    direction = weighted.sum(0)
    return direction if total > 0.02 and np.linalg.norm(direction) > 0.6 * total else None


def _guess(x: np.ndarray, z: np.ndarray, falls: np.ndarray) -> Ground:
    """Flat, or an incline if the footholds lie on one and the feet tilt with it, else levels."""
    if np.ptp(z) < FLAT_SPREAD:
        return "flat"
    fit = _slope(x, z)
    misfit = np.sqrt(np.mean((z - fit.ankle - fit.height) ** 2))
    if misfit > SLOPE_MISFIT or np.ptp(x) < 1.0:
        return "levels"
    level, tilted = falls[fit.pitch == 0.0], falls[fit.pitch != 0.0]
    tilt = np.median(tilted) - (np.median(level) if len(level) else np.median(falls))
    return "slope" if tilt * fit.pitch.sum() > 0 and abs(tilt) > 0.5 * np.abs(fit.pitch).max() else "levels"


def _levels(z: np.ndarray) -> np.ndarray:
    """Each foothold's level: runs of sorted heights without a gap, each at its mean, the lowest at 0."""
    order = np.argsort(z, kind="stable")
    level = np.concatenate(([0], np.cumsum(np.diff(z[order]) > SAME_LEVEL)))
    means = np.array([z[order][level == k].mean() for k in range(level[-1] + 1)])
    out = np.empty(len(z))
    out[order] = means[level]
    return out - out.min()


def _slope(x: np.ndarray, z: np.ndarray) -> Footing:
    """A level start (or end) and a straight incline."""
    low = z.min()
    above = z > low + 0.06
    if above.sum() < 2 or np.ptp(x[above]) < 0.2:
        above = np.ones(len(z), dtype=bool)
    slope, offset = np.polyfit(x[above], z[above] - low, 1)
    line = offset + slope * x
    height = np.maximum(line, 0.0)
    pitch = np.where(line > 0.0, -np.arctan(slope), 0.0)
    return Footing(
        height=height,
        pitch=pitch,
        ankle=float(np.median(z - height)),
        incline=(float(offset), float(slope)),
    )


def _block_height(blocks: tuple[Block, ...], point: np.ndarray) -> float:
    """The top of the highest block under a foothold that its ankle can stand on, else 0."""
    tops = [b.top for b in blocks if _inside(b.outline, point[:2]) and b.top < point[2] + 0.05]
    return max(tops, default=0.0)


def _inside(outline: np.ndarray, point: np.ndarray, margin: float = 0.08) -> bool:
    """Within `margin` of a convex outline, whichever way it is wound."""
    edge = np.roll(outline, -1, axis=0) - outline
    edge /= np.maximum(np.linalg.norm(edge, axis=1, keepdims=True), 1e-9)
    to = point - outline
    side = edge[:, 0] * to[:, 1] - edge[:, 1] * to[:, 0]
    return bool((side >= -margin).all() or (side <= margin).all())


def boxes(
    centers: np.ndarray, yaws: np.ndarray, sole_half: tuple[float, float], incline: tuple[float, float] | None
) -> tuple[Box, ...]:
    """Solids under soles at `centers` (n, 3): a ramp for an incline, else one block per level and place.

    `yaws` (n, k): the headings each sole takes there, also as it lifts off and lands.
    Blocks of one level that lie close are joined where the joint block covers no lower sole.
    """
    if incline is not None:
        return _ramp(centers, incline)
    soles = [_around(c, turns, sole_half) for c, turns in zip(centers, yaws, strict=True)]
    blocks: list[tuple[np.ndarray, float]] = []
    for k in np.argsort(centers[:, 2], kind="stable"):
        if centers[k, 2] < 1e-3:
            continue
        low = [s for s, c in zip(soles, centers, strict=True) if c[2] < centers[k, 2] - 1e-3]
        rectangle = _trimmed(soles[k] + MARGIN * np.array([[-1, -1], [1, 1]]), soles[k], low)
        for i, (other, top) in enumerate(blocks):
            joined = np.array([np.minimum(other[0], rectangle[0]), np.maximum(other[1], rectangle[1])])
            near = (
                joined[1] - joined[0] <= (other[1] - other[0]) + (rectangle[1] - rectangle[0]) + 0.25
            ).all()
            if abs(top - centers[k, 2]) < 1e-6 and near and not any(_overlap(joined, s) for s in low):
                blocks[i] = (joined, top)
                break
        else:
            blocks.append((rectangle, float(centers[k, 2])))
    return tuple(
        Box(
            (float(r[:, 0].mean()), float(r[:, 1].mean()), 0.5 * top),
            (float(np.ptp(r[:, 0]) / 2), float(np.ptp(r[:, 1]) / 2), 0.5 * top),
        )
        for r, top in blocks
    )


def _around(center: np.ndarray, yaws: np.ndarray, half: tuple[float, float]) -> np.ndarray:
    """(2, 2) lower and upper corner of the upright rectangle around a sole in all its headings (k,)."""
    c, s = np.abs(np.cos(yaws)), np.abs(np.sin(yaws))
    reach = np.array([(half[0] * c + half[1] * s).max(), (half[0] * s + half[1] * c).max()])
    return np.array([center[:2] - reach, center[:2] + reach])


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    return bool((a[0] < b[1] - 1e-6).all() and (b[0] < a[1] - 1e-6).all())


def _trimmed(rectangle: np.ndarray, sole: np.ndarray, lower: list[np.ndarray]) -> np.ndarray:
    """The rectangle, cut back to its own sole's edge wherever it would cover a lower sole."""
    out = rectangle.copy()
    for other in lower:
        if not _overlap(out, other):
            continue
        # Of the four cuts that free the lower sole, take the one that costs least.
        cuts = [(other[1, i] - out[0, i], 0, i) for i in (0, 1)] + [
            (out[1, i] - other[0, i], 1, i) for i in (0, 1)
        ]
        _, end, axis = min(cuts)
        out[end, axis] = other[1 - end, axis]
    return out


def _ramp(centers: np.ndarray, incline: tuple[float, float]) -> tuple[Box, ...]:
    offset, slope = incline
    start = -offset / slope if abs(slope) > 1e-6 else centers[:, 0].min()
    far = (centers[:, 0].max() + 0.5) if slope > 0 else (centers[:, 0].min() - 0.5)
    if abs(far - start) < 0.1:
        return ()
    x0, x1 = min(start, far), max(start, far)
    z0, z1 = offset + slope * x0, offset + slope * x1
    pitch = -np.arctan2(z1 - z0, x1 - x0)
    half, depth = 0.5 * np.hypot(x1 - x0, z1 - z0), 0.05
    center = (0.5 * (x0 + x1) - depth * np.sin(pitch), 0.0, 0.5 * (z0 + z1) - depth * np.cos(pitch))
    return (Box(tuple(map(float, center)), (float(half), 1.5, depth), float(pitch)),)  # type: ignore[arg-type]
