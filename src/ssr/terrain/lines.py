"""Lines that show what a tile is: the outlines of its surfaces, and a ruling by the metre."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ssr.terrain.tile import TURNED, Tile


def edges(tile: Tile) -> np.ndarray:
    """(s, 2, 3) float32: the outlines of all surfaces a foot can stand on, tile frame."""
    return _segments((span[:2], span[2:], facet) for facet in tile.facets for span in [_own_span(facet)])


def ruling(tile: Tile) -> np.ndarray:
    """(s, 2, 3) float32: lines one metre apart on the same surfaces, so that motion shows on plain ground."""

    def whole(low: float, high: float) -> np.ndarray:
        return np.arange(np.floor(low) + 1.0, np.ceil(high))

    spans = ((_own_span(facet), facet) for facet in tile.facets)
    return _segments((whole(*span[:2]), whole(*span[2:]), facet) for span, facet in spans)


def in_pieces(lines: np.ndarray, longest: float) -> np.ndarray:
    """The same lines (s, 2, 3), each cut evenly into pieces of at most `longest` m."""
    counts = np.maximum(np.ceil(np.linalg.norm(lines[:, 1] - lines[:, 0], axis=-1) / longest), 1).astype(int)
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    share = (number[:, None] + np.array([0.0, 1.0])) / np.repeat(counts, counts)[:, None]
    start, end = np.repeat(lines[:, 0], counts, axis=0), np.repeat(lines[:, 1], counts, axis=0)
    return (start[:, None] + share[..., None] * (end - start)[:, None]).astype(np.float32)


def _own_span(facet: np.ndarray) -> np.ndarray:
    """(4,) from and to along the facet's own x and y; the tile's unless it is turned."""
    along, across = facet[TURNED : TURNED + 2]
    return np.array([-along, along, -across, across]) if along else facet[:4]


def _segments(lines: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> np.ndarray:
    """Across each facet at these x, and along it at these y, both its own."""
    ends = [np.empty((0, 2, 3))]
    for across, along, facet in lines:
        x0, x1, y0, y1 = _own_span(facet)
        drawn = [((x, y0), (x, y1)) for x in across] + [((x0, y), (x1, y)) for y in along]
        flat = np.array(drawn, dtype=np.float64).reshape(-1, 2, 2)
        z = facet[4] + facet[5] * (flat[..., 0] - (0.0 if facet[TURNED] else x0))
        if facet[TURNED]:
            cx, cy, c, s = facet[6:10]
            flat = flat @ np.array([[c, s], [-s, c]]) + (cx, cy)
        ends.append(np.concatenate([flat, z[..., None]], axis=-1))
    return np.concatenate(ends).astype(np.float32)
