"""`TerrainField`: the tiles of all worlds side by side, and exact ground heights under many points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ssr.terrain.heights import Heights
from ssr.terrain.registry import kind_named
from ssr.terrain.settings import TERRAIN_TYPES
from ssr.terrain.tile import ABYSS, BOX_FIELDS, FACET_FIELDS, Tile

NO_LEVEL = -1  #: level of a tile that was made from a setting
MEASURES = ("length", "half_width", "start", "first_edge", "last_edge", "end_height")

PIT = 0.15  #: m below the ground plane: deeper ground of tiles with pits is no ground


def _labels(tile: Tile) -> tuple[int, int, int]:
    """Whether a tile has pits, its type and its level as numbers."""
    kind, level = kind_named(tile.kind), NO_LEVEL if tile.level is None else tile.level
    return int(kind.has_pits), TERRAIN_TYPES.index(kind.terrain_type), level


class FieldArrays(NamedTuple):
    """The tensors of a `TerrainField` that kernels read, as arrays; see there."""

    facets: np.ndarray
    facet_count: np.ndarray
    has_pits: np.ndarray
    type: np.ndarray
    level: np.ndarray
    length: np.ndarray
    half_width: np.ndarray
    start: np.ndarray
    first_edge: np.ndarray
    last_edge: np.ndarray
    end_height: np.ndarray


class TerrainField:
    """One tile per world. Every tensor's first dimension is the world.

    boxes (n, pool, 8): rows as `Tile.rows`, for whoever casts rays or collides.
    facets (n, 2 pool, 12), facet_count (n,) int32: rows as `Tile.facets`, for whoever asks for heights.
    has_pits, type, level (n,) int64: 0 or 1; index into `TERRAIN_TYPES`; -1 without one.
    length, half_width, start, first_edge, last_edge, end_height (n,) float32: as in `Tile`.
    """

    def __init__(self, num_envs: int, pool: int, device: torch.device | str = "cpu") -> None:
        self.num_envs = num_envs
        self.pool = pool
        self.device = torch.device(device)
        self.boxes = self._zeros(num_envs, pool, BOX_FIELDS)
        self.count = self._zeros(num_envs, dtype=torch.int32)
        # Rows of labels and of measures are written at once; their names are views of the columns.
        self._labels = self._zeros(num_envs, 3, dtype=torch.int64)
        self._labels[:, 2] = NO_LEVEL
        self.has_pits, self.type, self.level = self._labels.unbind(1)
        self._measures = self._zeros(num_envs, len(MEASURES))
        self.length, self.half_width, self.start = self._measures[:, :3].unbind(1)
        self.first_edge, self.last_edge, self.end_height = self._measures[:, 3:].unbind(1)
        # A pitched box shows two facets to the sky.
        self.facets = self._zeros(num_envs, 2 * pool, FACET_FIELDS)
        self.facet_count = self._zeros(num_envs, dtype=torch.int32)
        self._fixed = np.zeros(num_envs, dtype=np.int64)  #: facets of the tile itself
        self._heights = Heights(self.facets, self.facet_count)

    def _zeros(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.zeros(*shape, dtype=dtype, device=self.device)

    @property
    def floor(self) -> Tensor:
        """(n,) float32 m: ground at or below it carries nobody: that of a pit, or none at all."""
        return torch.where(self.has_pits > 0, -PIT, ABYSS).to(torch.float32)

    @cached_property
    def arrays(self) -> FieldArrays:
        """The memory of the tensors on the CPU by name, for kernels; they are only ever written in place."""
        return FieldArrays(**{name: getattr(self, name).numpy() for name in FieldArrays._fields})

    @cached_property
    def tensors(self) -> FieldArrays:
        """The tensors themselves, for rules on a device."""
        return FieldArrays(**{name: getattr(self, name) for name in FieldArrays._fields})

    def place(self, env_ids: Tensor | Sequence[int], tiles: Sequence[Tile]) -> None:
        """Give world `env_ids[i]` the tile `tiles[i]`; nothing of its former tile remains."""
        ids = torch.as_tensor(env_ids, dtype=torch.int64, device=self.device)
        if len(ids) != len(tiles):
            raise ValueError(f"{len(ids)} worlds, but {len(tiles)} tiles")
        if not tiles:
            return
        rows = np.empty((len(tiles), self.pool, BOX_FIELDS), dtype=np.float32)
        facets = np.zeros((len(tiles), 2 * self.pool, FACET_FIELDS), dtype=np.float32)
        for k, tile in enumerate(tiles):
            rows[k] = tile.rows(self.pool)
            facets[k, : len(tile.facets)] = tile.facets
        self._write(self.facets, ids, facets)
        self._fixed[ids.cpu().numpy()] = [len(t.facets) for t in tiles]
        self._write(self.facet_count, ids, [len(t.facets) for t in tiles])
        self._write(self.boxes, ids, rows)
        self._write(self.count, ids, [len(t.boxes) for t in tiles])
        self._write(self._labels, ids, [_labels(t) for t in tiles])
        self._write(self._measures, ids, [[getattr(t, name) for name in MEASURES] for t in tiles])

    def take(self, chosen: Tensor, numbers: Tensor, bank: TerrainField) -> None:
        """Give the worlds of a mask (n,) the tiles of these numbers (n,) int32 in a bank on the same device,
        which is a field of as many worlds as it has tiles."""
        from ssr import rows  # when first needed: importing Warp takes longer than all the rest

        for name in ("facets", "facet_count", "boxes", "count", "_labels", "_measures"):
            rows.put(chosen, numbers, getattr(bank, name), getattr(self, name))

    def lay_loose(self, facets: np.ndarray) -> None:
        """Let these facets (n, k, 12) of loose bodies, rows as `Tile.facets`, follow those of each tile."""
        k = facets.shape[1]
        begin = torch.as_tensor(self._fixed, dtype=torch.int64)
        rows = begin[:, None] + torch.arange(k)
        self.facets[torch.arange(self.num_envs)[:, None], rows] = torch.from_numpy(facets).to(self.facets)
        self.facet_count.copy_(begin + k)

    def _write(self, target: Tensor, ids: Tensor, values: np.ndarray | list) -> None:
        """In place: kernels and callers keep views of the field's tensors."""
        if self.device.type == "cpu":
            target.numpy()[ids.numpy()] = values  # a tenth of the time that torch takes for a few worlds
        else:
            target[ids] = torch.as_tensor(np.asarray(values)).to(target)

    def heights(self, points: Tensor, out: Tensor | None = None) -> Tensor:
        """Ground heights (n, ...) in m under points (n, ..., 2) of each world's tile frame, in float32.

        Exact: on an edge the higher side counts, never a blend of both. Where there is no ground, and for a
        point that is not a number, the height is `ABYSS`.
        """
        shape = points.shape[:-1]
        flat = points.reshape(self.num_envs, -1, 2)
        if out is None:
            return self._heights(flat).reshape(shape)
        self._heights(flat, out.view(self.num_envs, -1))
        return out

    def state_dict(self) -> dict[str, Tensor]:
        """All tiles as they lie."""
        kept = ("boxes", "count", "facets", "facet_count", "_labels", "_measures")
        return {name: getattr(self, name).cpu().clone() for name in kept}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name, value in state.items():
            getattr(self, name).copy_(value)
