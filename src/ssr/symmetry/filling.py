"""Filling a layout's vector from a table of named quantities, whoever made that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ssr.symmetry.layout import Layout

READ_AS = {
    "angular_velocity": "base_angular_velocity",
    "base_velocity": "local_velocity",
    "foot_velocity": "local_foot_velocity",
    "hand_position": "local_hand_position",
    "foot_position": "local_sole_position",
}  #: segments that a reading knows by another name: all vectors are in the base frame


class Filling(NamedTuple):
    """Entry j of a vector is (facts[source[j]] - shift[j]) · scale[j]; (size,) each."""

    source: np.ndarray
    shift: np.ndarray
    scale: np.ndarray

    def filled(self, table: np.ndarray) -> np.ndarray:
        """(n, size) vectors of the facts in table (n, C)."""
        vectors = table.take(self.source, axis=1)
        vectors -= self.shift
        vectors *= self.scale
        return vectors


def filling(layout: Layout, columns: Mapping[str, slice]) -> Filling:
    """How to fill a layout from facts of which `columns` tells where they are."""
    source, scale = np.zeros(layout.size, dtype=np.intp), np.ones(layout.size, dtype=np.float32)
    for segment in layout:
        where = columns[READ_AS.get(segment.name, segment.name)]
        source[layout.slice(segment.name)] = np.arange(where.start, where.stop)
        scale[layout.slice(segment.name)] = segment.scale
    return Filling(source, np.zeros(layout.size, dtype=np.float32), scale)


def vectors_of(layout: Layout, facts: Mapping[str, np.ndarray]) -> np.ndarray:
    """(n, size) float32 of a layout, from quantities (n, ...) by the names that a reading gives them."""
    columns, end = {}, 0
    for name, values in facts.items():
        columns[name] = slice(end, end + values[0].size)
        end += values[0].size
    table = np.concatenate([values.reshape(len(values), -1) for values in facts.values()], axis=1)
    return filling(layout, columns).filled(table.astype(np.float32))
