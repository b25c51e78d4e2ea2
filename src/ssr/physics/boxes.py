"""A tile's boxes as the geom fields of one world."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ssr.kept import kept
from ssr.physics.world import PARKED
from ssr.terrain.tile import Tile


class BoxFields(NamedTuple):
    """One world's geom fields that a tile decides, and how far its boxes reach."""

    position: np.ndarray  #: (ngeom, 3)
    quaternion: np.ndarray  #: (ngeom, 4)
    size: np.ndarray  #: (ngeom, 3)
    radius: np.ndarray  #: (ngeom,) of the bounding sphere
    bounds: np.ndarray  #: (ngeom, 6) centre and half extents of the bounding box
    box_range: np.ndarray  #: (pool, 2) x from, to


def lay(tile: Tile, terrain: np.ndarray, fields: BoxFields) -> None:
    """Write a tile into the geoms (pool,) `terrain` of one world."""
    # A plain tuple: a cache that knows a named tuple breaks when that is renamed.
    _lay(tile.rows(len(terrain)), len(tile.boxes), terrain, tuple(fields))


@kept()
def _lay(rows, used, terrain, fields):
    """Write a tile's box rows (pool, 8) into one world's geoms; the rows from `used` on are parked."""
    into = BoxFields(*fields)
    position, quaternion, size = into.position, into.quaternion, into.size
    radius, bounds, box_range = into.radius, into.bounds, into.box_range
    for b in range(len(rows)):
        geom, half, pitch, yaw = terrain[b], rows[b, 3:6], rows[b, 6], rows[b, 7]
        position[geom] = rows[b, 0:3]
        if b >= used:
            position[geom] = PARKED
        cz, sz, cy, sy = np.cos(yaw / 2), np.sin(yaw / 2), np.cos(pitch / 2), np.sin(pitch / 2)
        quaternion[geom] = (cz * cy, 0.0 - sz * sy, cz * sy, sz * cy)
        size[geom] = half
        radius[geom] = np.sqrt(half[0] ** 2 + half[1] ** 2 + half[2] ** 2)
        bounds[geom, 0:3] = 0.0
        bounds[geom, 3:6] = half
        reach = half[0] if pitch == 0.0 else half[0] + half[2]
        reach = abs(np.cos(yaw)) * reach + abs(np.sin(yaw)) * half[1]
        box_range[b, 0] = rows[b, 0] - reach
        box_range[b, 1] = rows[b, 0] + reach
