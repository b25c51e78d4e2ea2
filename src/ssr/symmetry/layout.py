"""Layouts: named segments of a flat vector, each with its mirror rule (Table 12).

Every slice, size and mirror map in the project is derived from a `Layout`; nothing else knows an index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ssr.errors import unknown


@dataclass(frozen=True)
class Mirror:
    """A signed permutation: mirrored[i] = sign[i] * original[source[i]]."""

    source: tuple[int, ...]
    sign: tuple[float, ...]

    def __post_init__(self) -> None:
        if sorted(self.source) != list(range(len(self.source))) or len(self.sign) != len(self.source):
            raise ValueError("a mirror rule needs a permutation and one sign per entry")

    @property
    def size(self) -> int:
        return len(self.source)

    @staticmethod
    def signs(*sign: float) -> Mirror:
        """Entries stay in place and change sign."""
        return Mirror(tuple(range(len(sign))), tuple(sign))

    @staticmethod
    def swap(branch: Mirror) -> Mirror:
        """Two equal groups [right, left] (or [left, right]) change places, each mirrored by `branch`."""
        n = branch.size
        source = tuple(s + n for s in branch.source) + branch.source
        return Mirror(source, branch.sign * 2)

    @staticmethod
    def grid(rows: int, columns: int) -> Mirror:
        """A row-major height map whose columns run across y: columns are reversed (M_2D)."""
        source = tuple(r * columns + (columns - 1 - c) for r in range(rows) for c in range(columns))
        return Mirror(source, (1.0,) * (rows * columns))


POLAR = Mirror.signs(1, -1, 1)  #: s_y, vectors such as velocity, gravity, positions
AXIAL = Mirror.signs(-1, 1, -1)  #: s_ω, angular velocity
COMMAND = Mirror.signs(1, -1, -1)  #: s_u, (v_x, v_y, ω_z)


def channel_swap(size: int) -> Mirror:
    """M_c on a symmetry-structured vector [left, right] of `size` entries in all."""
    if size % 2:
        raise ValueError(f"a symmetry-structured vector has two equal halves, got size {size}")
    return Mirror.swap(Mirror.signs(*(1.0,) * (size // 2)))


@dataclass(frozen=True)
class Segment:
    """One named quantity of a flat vector. `scale` is what the raw quantity was multiplied by."""

    name: str
    size: int
    mirror: Mirror
    scale: float | tuple[float, ...] = 1.0

    def __post_init__(self) -> None:
        if self.mirror.size != self.size:
            raise ValueError(f"segment {self.name!r}: size {self.size}, mirror rule for {self.mirror.size}")


@dataclass(frozen=True)
class Layout:
    """An ordered set of segments that together make one flat vector."""

    name: str
    segments: tuple[Segment, ...]  #: in their order within the vector

    @staticmethod
    def of(name: str, *segments: Segment) -> Layout:
        """The layout of these segments, in this order."""
        return Layout(name, tuple(segments))

    def __post_init__(self) -> None:
        names = [s.name for s in self.segments]
        if len(set(names)) != len(names):
            raise ValueError(f"layout {self.name!r} names a segment twice: {names}")

    def __iter__(self) -> Iterator[Segment]:
        return iter(self.segments)

    @cached_property
    def size(self) -> int:
        """Of the whole vector."""
        return sum(s.size for s in self.segments)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each segment stands."""
        out, start = {}, 0
        for s in self.segments:
            out[s.name] = slice(start, start + s.size)
            start += s.size
        return out

    def slice(self, name: str) -> slice:
        """Where a segment stands; one that is not there is an error that lists those that are."""
        if name not in self.slices:
            raise unknown(f"segment of {self.name}", name, self.slices)
        return self.slices[name]

    def get(self, x: Tensor, name: str) -> Tensor:
        """The segment `name` of x (..., size), as a view."""
        return x[..., self.slice(name)]

    def split(self, x: Tensor) -> dict[str, Tensor]:
        """Every segment of x (..., size) by its name, as views."""
        return {s.name: self.get(x, s.name) for s in self.segments}

    @cached_property
    def rule(self) -> Mirror:
        """The mirror rule of the whole vector."""
        source: list[int] = []
        sign: list[float] = []
        for s in self.segments:
            start = len(source)
            source += [start + k for k in s.mirror.source]
            sign += s.mirror.sign
        return Mirror(tuple(source), tuple(sign))

    def mirror(self, x: Tensor) -> Tensor:
        """x (..., size) as the mirrored robot would have it."""
        return apply(self.rule, x)


def concatenate(name: str, parts: Sequence[Layout]) -> Layout:
    """One layout after another; segment names must stay unique."""
    return Layout(name, tuple(s for part in parts for s in part.segments))


def apply(rule: Mirror, x: Tensor) -> Tensor:
    """Mirror the last dimension of x."""
    index, sign = _tensors(rule, x.device, x.dtype)
    return x.index_select(-1, index) * sign


_cache: dict[tuple[Mirror, torch.device, torch.dtype], tuple[Tensor, Tensor]] = {}


def _tensors(rule: Mirror, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    key = (rule, device, dtype)
    if key not in _cache:
        _cache[key] = (
            torch.tensor(rule.source, device=device),
            torch.tensor(rule.sign, device=device, dtype=dtype),
        )
    return _cache[key]
