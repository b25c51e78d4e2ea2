"""The height query as Warp functions: the highest facet over a point, for all kernels that ask for it."""

# Warp reads annotations as types, so they must not be postponed to strings here.
# mypy: disable-error-code="valid-type, misc, assignment"

import warp as wp

from ssr.terrain.tile import ABYSS, TURNED

BOTTOM = wp.constant(float(ABYSS))
TURN = wp.constant(TURNED)


@wp.func
def height_at(facets: wp.array3d(dtype=wp.float32), count: int, world: int, x: float, y: float):
    """Over the first `count` facets of a world, rows as `Tile.facets`."""
    best = float(BOTTOM)
    for f in range(count):
        x0 = facets[world, f, 0]
        if facets[world, f, TURN] != 0.0:
            dx = x - facets[world, f, 6]
            dy = y - facets[world, f, 7]
            u = facets[world, f, 8] * dx + facets[world, f, 9] * dy
            v = facets[world, f, 8] * dy - facets[world, f, 9] * dx
            if wp.abs(u) <= facets[world, f, 10] and wp.abs(v) <= facets[world, f, 11]:
                best = wp.max(best, facets[world, f, 4] + facets[world, f, 5] * u)
        elif x >= x0 and x <= facets[world, f, 1] and y >= facets[world, f, 2] and y <= facets[world, f, 3]:
            best = wp.max(best, facets[world, f, 4] + facets[world, f, 5] * (x - x0))
    return best


@wp.kernel(enable_backward=False)
def heights(
    facets: wp.array3d(dtype=wp.float32),
    count: wp.array(dtype=wp.int32),
    points: wp.array3d(dtype=wp.float32),
    out: wp.array2d(dtype=wp.float32),
):
    """out[w, p]: ground under the p-th point of world w."""
    w, p = wp.tid()
    out[w, p] = height_at(facets, count[w], w, points[w, p, 0], points[w, p, 1])
