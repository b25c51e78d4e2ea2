"""Sharp edges of the ground, and how deep feet are in the cylinders that HPL lays along them.

An edge is sharp where level ground ends and the ground beyond lies lower by at least `DROP`. The top edge of
a step is one; the foot of a riser is not.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ssr.kept import kept
from ssr.robots.spec import Sole
from ssr.symmetry.vectors import FOOT_MAP
from ssr.terrain.field import TerrainField
from ssr.terrain.heights import heights_under
from ssr.terrain.tile import ABYSS, TURNED

RADIUS = 0.05  #: m, of the cylinders
DROP = 0.04  #: m: less is uneven ground, not an edge
LAYERS = (0.0, 0.03)  #: m above the sole: the foot is a volume of 10 × 5 × 2 points
PIECE = 0.25  #: m of an edge that is sharp or not as a whole
BESIDE = 0.01  #: m before and beyond an edge where heights are compared
MARGIN = 0.5  #: m beyond a tile's sides where edges still count
LONGEST = 0.2  #: m, no point of a foot is farther from the middle of its sole
NOWHERE = ABYSS / 2  #: m: where the world ends no edge is
MOST = 512  #: pieces kept of a tile


class SharpEdges:
    """The sharp edges under n worlds, found anew whenever they get new tiles."""

    def __init__(self, field: TerrainField, sole: Sole) -> None:
        n = field.num_envs
        self._ground = field.arrays
        self._offsets = np.array(sole.offsets(*FOOT_MAP), dtype=np.float32).reshape(-1, 2)
        #: x, y of both ends and z of each piece
        self.pieces = np.zeros((n, MOST, 5), dtype=np.float32)
        self.count = np.zeros(n, dtype=np.int64)

    def find(self, worlds: Tensor) -> None:
        """Of these worlds (m,)."""
        ground, ids = self._ground, worlds.cpu().numpy()
        _find(ids, ground.facets, ground.facet_count, ground.half_width, self.pieces, self.count)

    def penetration(self, position: Tensor, yaw: Tensor) -> Tensor:
        """(n,) mean over both feet's points of how deep they are in a cylinder: 1 on its axis, 0 outside.

        position (n, 2, 3): sole centres; yaw (n, 2). Feet are taken as level.
        """
        out = np.zeros(len(position), dtype=np.float32)
        centers = position.cpu().numpy().astype(np.float32)
        turns = yaw.cpu().numpy().astype(np.float32)
        layers = np.array(LAYERS, np.float32)
        _penetration(self.pieces, self.count, centers, turns, self._offsets, layers, out)
        return torch.from_numpy(out).to(position.device)


@kept(error_model="numpy")
def _find(worlds, facets, counts, half_width, pieces, found):
    for w in worlds:
        found[w] = 0
        wide = half_width[w] + MARGIN
        for f in range(counts[w]):
            facet = facets[w, f]
            if facet[5] != 0.0 or facet[TURNED] != 0.0:
                continue  # the edges of slopes and of turned blocks are left out
            x0, x1, z = facet[0], facet[1], facet[4]
            y0, y1 = max(facet[2], -wide), min(facet[3], wide)
            for side in range(4):
                along_y = side < 2  # the sides at x0 and x1 run along y
                low, high = (y0, y1) if along_y else (x0, x1)
                if high <= low or (not along_y and (facet[2] < -wide if side == 2 else facet[3] > wide)):
                    continue
                at = x0 if side == 0 else x1 if side == 1 else y0 if side == 2 else y1
                outward = -BESIDE if side % 2 == 0 else BESIDE
                parts = max(1, int(np.ceil((high - low) / PIECE)))
                points = np.empty((2 * parts, 2), dtype=np.float32)
                for k in range(2 * parts):  # within the facet, then beyond it
                    middle = low + (high - low) * (k % parts + 0.5) / parts
                    across = at - outward if k < parts else at + outward
                    points[k, 0] = across if along_y else middle
                    points[k, 1] = middle if along_y else across
                heights = np.empty(2 * parts, dtype=np.float32)
                heights_under(facets[w], counts[w], points, heights)
                for k in range(parts):
                    bare = heights[k] <= z + 1e-4  # nothing higher lies on it
                    beyond = heights[parts + k]
                    if bare and NOWHERE < beyond < z - DROP and found[w] < MOST:
                        a, b = low + (high - low) * k / parts, low + (high - low) * (k + 1) / parts
                        row = pieces[w, found[w]]
                        row[0], row[1] = (at, a) if along_y else (a, at)
                        row[2], row[3] = (at, b) if along_y else (b, at)
                        row[4] = z
                        found[w] += 1


@kept(error_model="numpy")
def _penetration(pieces, count, centers, turns, offsets, layers, out):
    reach = RADIUS + LONGEST
    near = np.empty(MOST, dtype=np.int64)
    for w in range(len(out)):
        total = 0.0
        for side in range(2):
            cx, cy, cz = centers[w, side, 0], centers[w, side, 1], centers[w, side, 2]
            c, s = np.cos(turns[w, side]), np.sin(turns[w, side])
            close = 0
            for p in range(count[w]):
                ax, ay, bx, by, z = pieces[w, p]
                dx, dy = cx - min(max(cx, ax), bx), cy - min(max(cy, ay), by)
                if dx * dx + dy * dy < reach * reach and abs(z - cz) < reach:
                    near[close] = p
                    close += 1
            if close == 0:
                continue
            for j in range(len(offsets)):
                x = cx + c * offsets[j, 0] - s * offsets[j, 1]
                y = cy + s * offsets[j, 0] + c * offsets[j, 1]
                for k in range(len(layers)):
                    nearest = RADIUS
                    for p in near[:close]:
                        ax, ay, bx, by, z = pieces[w, p]
                        dx, dy = x - min(max(x, ax), bx), y - min(max(y, ay), by)
                        dz = cz + layers[k] - z
                        nearest = min(nearest, np.sqrt(dx * dx + dy * dy + dz * dz))
                    total += 1.0 - nearest / RADIUS
        out[w] = total / (2 * len(offsets) * len(layers))
