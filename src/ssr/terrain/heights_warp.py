"""The height query as Warp functions: the highest facet over a point, for all kernels that ask for it."""

# Warp reads annotations as types, so they must not be postponed to strings here.
# mypy: disable-error-code="valid-type, misc, assignment"

import warp as wp

from ssr.per_world_warp import twin
from ssr.terrain.heights import height_over

height_at = twin(height_over)


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
