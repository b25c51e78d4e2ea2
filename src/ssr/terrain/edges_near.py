"""Edges before and behind a place along the way: where the ground rises or falls at once."""

from __future__ import annotations

from ssr.per_world import compiled, single
from ssr.terrain.heights import height_over

REACH = 0.4  #: m either way within which edges count; one that is farther off counts as just there
BEYOND = 1.0  #: m on within which the edge after the next one counts, likewise
SPACING = 0.02  #: m from one look at the ground to the next
BACK, ON = round(REACH / SPACING), round(BEYOND / SPACING)  #: looks
LEAST = 0.03  #: m by which the ground rises or falls from one look to the next at an edge; ramps are no edges
DEEP = 0.25  #: m; an edge that is higher or deeper counts as one of this


@compiled
def edges_near(facets, count, world, x, y):
    """As seen from (x, y) along +x, for rules: m back to the nearest edge, on to the next one and to the one
    after it; then by how much the ground rises there, m: at the one behind, at the next one."""
    behind = float(REACH)
    ahead = float(REACH)
    second = float(BEYOND)
    risen = float(0.0)
    rise = float(0.0)
    below = float(height_over(facets, count, world, x, y))
    here = below
    for k in range(1, BACK + 1):
        far = SPACING * float(k)
        height = float(height_over(facets, count, world, single(x - far), y))
        if abs(here - height) > LEAST:
            behind = far - 0.5 * SPACING
            risen = min(max(here - height, -DEEP), DEEP)
            break
        here = height
    here = below
    for k in range(1, ON + 1):
        far = SPACING * float(k)
        height = float(height_over(facets, count, world, single(x + far), y))
        if ahead >= REACH and far > REACH:
            break
        if abs(height - here) > LEAST:
            if ahead < REACH:
                second = far - 0.5 * SPACING
                break
            ahead = far - 0.5 * SPACING
            rise = min(max(height - here, -DEEP), DEEP)
        here = height
    return behind, ahead, second, risen, rise
