"""The height query: the highest facet over each point, worlds in parallel.

Two kernels with the same arithmetic: Warp for CUDA tensors, one thread a point; Numba for CPU tensors, which
takes neighbouring points in chunks, keeps the few facets near a chunk and compares eight points at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ssr.kept import kept
from ssr.per_world import compiled
from ssr.terrain.tile import ABYSS, TURNED

CHUNK = 32  #: points handled together on the CPU; a sole patch or a height map's row is close together


class Heights:
    """Heights over facets (n, m, 12) float32, of which the first `count` (n,) int32 of each world are in use.

    Both tensors are read at call time: writing into them in place is all a new tile takes.
    """

    def __init__(self, facets: Tensor, count: Tensor) -> None:
        self.device = facets.device
        launch = numba_heights if self.device.type == "cpu" else warp_heights
        self._launch = launch(facets, count)

    def __call__(self, points: Tensor, out: Tensor | None = None) -> Tensor:
        """Heights (n, p) under points (n, p, 2)."""
        points = points.to(self.device, torch.float32).contiguous()
        if out is None:
            out = torch.empty(points.shape[:-1], dtype=torch.float32, device=self.device)
        self._launch(points.detach(), out)
        return out


Launch = Callable[[Tensor, Tensor], None]


def numba_heights(facets: Tensor, count: Tensor) -> Launch:
    facet_view, count_view = facets.numpy(), count.numpy()

    def launch(points: Tensor, out: Tensor) -> None:
        _heights_numba(facet_view, count_view, points.numpy(), out.numpy())

    return launch


@kept(error_model="numpy")
def _heights_numba(facets: np.ndarray, count: np.ndarray, points: np.ndarray, out: np.ndarray) -> None:
    for w in range(len(out)):
        heights_under(facets[w], count[w], points[w], out[w])


@kept(error_model="numpy")
def heights_under(facets: np.ndarray, count: int, points: np.ndarray, out: np.ndarray) -> None:
    """One world, for kernels: heights (p,) float32 under points (p, 2) over the first `count` facets."""
    total = len(out)
    xs = np.empty(CHUNK, dtype=np.float32)
    ys = np.empty(CHUNK, dtype=np.float32)
    best = np.empty(CHUNK, dtype=np.float32)
    abyss = np.float32(ABYSS)
    for begin in range(0, total, CHUNK):
        size = min(CHUNK, total - begin)
        for i in range(CHUNK):
            xs[i] = points[begin + min(i, size - 1), 0]
            ys[i] = points[begin + min(i, size - 1), 1]
            best[i] = abyss
        x_low, x_high, y_low, y_high = xs[0], xs[0], ys[0], ys[0]
        for i in range(1, CHUNK):  # a NaN never enters the bounds or, being first, never leaves them
            x_low = xs[i] if xs[i] < x_low else x_low
            x_high = xs[i] if xs[i] > x_high else x_high
            y_low = ys[i] if ys[i] < y_low else y_low
            y_high = ys[i] if ys[i] > y_high else y_high
        for f in range(count):
            x0, x1, y0, y1 = facets[f, 0], facets[f, 1], facets[f, 2], facets[f, 3]
            # Facets that are surely apart; NaN bounds rule out none, so points are compared singly.
            if x_high < x0 or x_low > x1 or y_high < y0 or y_low > y1:
                continue
            z0, slope = facets[f, 4], facets[f, 5]
            if facets[f, TURNED] != 0.0:
                _over_turned(facets[f], xs, ys, best)
                continue
            for i in range(CHUNK):
                inside = (xs[i] >= x0) & (xs[i] <= x1) & (ys[i] >= y0) & (ys[i] <= y1)
                z = z0 + slope * (xs[i] - x0)
                best[i] = z if inside & (z > best[i]) else best[i]
        for i in range(size):
            out[begin + i] = best[i]


@kept(error_model="numpy")
def _over_turned(facet: np.ndarray, xs: np.ndarray, ys: np.ndarray, best: np.ndarray) -> None:
    """Raise `best` where the points of a chunk lie on a turned facet."""
    z, slope, cx, cy = facet[4], facet[5], facet[6], facet[7]
    c, s, along, across = facet[8], facet[9], facet[10], facet[11]
    for i in range(CHUNK):
        dx, dy = xs[i] - cx, ys[i] - cy
        u, v = c * dx + s * dy, c * dy - s * dx
        inside = (abs(u) <= along) & (abs(v) <= across)
        height = z + slope * u
        best[i] = height if inside & (height > best[i]) else best[i]


@compiled
def height_over(facets, count, world, x, y):
    """Under one point of a world: the highest of the first `count` of its facets (n, m, 12). For rules."""
    best = float(ABYSS)
    for f in range(count):
        x0 = facets[world, f, 0]
        if facets[world, f, TURNED] != 0.0:
            dx = x - facets[world, f, 6]
            dy = y - facets[world, f, 7]
            u = facets[world, f, 8] * dx + facets[world, f, 9] * dy
            v = facets[world, f, 8] * dy - facets[world, f, 9] * dx
            if abs(u) <= facets[world, f, 10] and abs(v) <= facets[world, f, 11]:
                best = max(best, facets[world, f, 4] + facets[world, f, 5] * u)
        elif x >= x0 and x <= facets[world, f, 1] and y >= facets[world, f, 2] and y <= facets[world, f, 3]:
            best = max(best, facets[world, f, 4] + facets[world, f, 5] * (x - x0))
    return best


def warp_heights(facets: Tensor, count: Tensor) -> Launch:
    from ssr import bridge  # when first needed: importing Warp takes longer than all the rest
    from ssr.terrain.heights_warp import heights

    ground = [bridge.array(facets), bridge.array(count)]

    def launch(points: Tensor, out: Tensor) -> None:
        arrays = [bridge.array(points)], [bridge.array(out)]
        bridge.launch(heights, tuple(out.shape), [*ground, *arrays[0]], arrays[1], facets.device)

    return launch
