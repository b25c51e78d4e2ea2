"""Episodes that begin among obstacles, in a pose of somebody who was at such a place.

Of some frames of reference motion the one is taken whose surroundings are most like those of the place; the
robot is put down just as far from the nearest edge, with no sole deeper in the ground than it was there.
"""

from __future__ import annotations

from ssr.per_world import per_world, single, square
from ssr.task.imitation import BEYOND_WEIGHT, PLACE_WEIGHT, RISE_WEIGHT, ReferenceTrack
from ssr.task.starts import CLEARANCE
from ssr.terrain.edges_near import REACH, edges_near
from ssr.terrain.field import PIT, FieldArrays
from ssr.terrain.heights import height_over
from ssr.terrain.tile import ABYSS

CANDIDATES = 48  #: frames looked at for each place
LIKE = 0.5  #: surroundings less alike (the squared distance that `nearest` takes) are left alone
TALLER = 0.2  #: m above the standing height is no base of somebody who stands there


@per_world(None, None, None, None, FieldArrays, ReferenceTrack)
def fit(candidates, onward, backwards, tall, tile, reference, position, frame, i, k):
    """The frame (m,) that a world begins in and its position (m, 3), or -1, and its position as it was.

    candidates (m, c): frames; onward (m,): how far between the tile's start and the middle of its obstacles
    it is to begin, 0: not there; tall: m, a base higher than this above a sole's ground does not stand on it.
    """
    frame[k] = -1
    if onward[k] > 0.0 and not backwards[k]:
        middle = 0.5 * (tile.first_edge[i] + tile.last_edge[i])
        x = float(tile.start[i] + onward[k] * (middle - tile.start[i]))
        y = float(position[k, 1])
        around = edges_near(tile.facets, tile.facet_count[i], i, single(x), y)
        behind, ahead = around[0], around[1]
        best, least, place = int(-1), float(LIKE), float(x)
        for c in range(candidates.shape[1]):
            f = int(candidates[k, c])
            if f >= 0:
                edges = reference.edges[f]
                shift = float(0.0)
                if ahead < REACH and edges[1] < REACH:
                    shift = ahead - float(edges[1])
                elif behind < REACH and edges[0] < REACH:
                    shift = float(edges[0]) - behind
                there = single(x + shift)
                back, on, beyond, up, next_up = edges_near(tile.facets, tile.facet_count[i], i, there, y)
                apart = square(PLACE_WEIGHT * (edges[0] - back)) + square(PLACE_WEIGHT * (edges[1] - on))
                apart += square(BEYOND_WEIGHT * (edges[2] - beyond))
                apart += square(RISE_WEIGHT * (edges[3] - up)) + square(RISE_WEIGHT * (edges[4] - next_up))
                if apart < least:
                    best, least, place = f, float(apart), float(there)
        if best >= 0:
            height = float(ABYSS)
            safe = True
            for s in range(2):
                if reference.over[best, s] < tall:  # one above a pit says nothing of how high the base is
                    sole = reference.soles[best, s]
                    ground = height_over(
                        tile.facets, tile.facet_count[i], i, single(place + sole[0]), single(y + sole[1])
                    )
                    height = max(height, ground + reference.over[best, s])
                    if int(tile.has_pits[i]) != 0 and ground <= -PIT:
                        safe = False
            if safe and height > 0.5 * ABYSS:
                frame[k] = best
                position[k, 0] = place
                position[k, 2] = height + CLEARANCE
