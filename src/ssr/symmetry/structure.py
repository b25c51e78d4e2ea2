"""Symmetry-structured features [left, right]: the operators M_c, M_2D and T of Appendix B.1.

A feature vector is symmetry-structured when mirroring the robot exchanges its two halves and does nothing
else. Equivariant layers keep that form; T brings proprioception into it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ssr.symmetry.layout import Layout, Mirror


def swap_channels(x: Tensor, dim: int = -1) -> Tensor:
    """M_c: the two halves of `dim`, [left, right], change places. Feature maps use dim=-3."""
    left, right = x.chunk(2, dim)
    return torch.cat((right, left), dim)


def flip_width(x: Tensor) -> Tensor:
    """M_2D: images or feature maps (..., height, width) seen in the mirror."""
    return x.flip(-1)


def join_groups(*features: Tensor) -> Tensor:
    """Concatenate structured features side by side: [u_L, v_L, u_R, v_R].

    A plain concatenation [u_L, u_R, v_L, v_R] would not be exchanged by M_c as a whole.
    """
    left, right = zip(*(x.chunk(2, -1) for x in features), strict=True)
    return torch.cat((*left, *right), -1)


def left_entries(rule: Mirror, names: Sequence[str] = ()) -> tuple[int, ...]:
    """The entries that make the left slice of Table 13: one of each exchanged pair, then the midline.

    names: one per entry where they have any. Of a pair, the left one is the one whose name says so; without
    names it is the later one, since right comes before left.
    """

    def left_of(first: int, second: int) -> int:
        return first if names and "left" in names[first] else second

    pairs = sorted(left_of(i, j) for i, j in enumerate(rule.source) if i < j)
    midline = [i for i, j in enumerate(rule.source) if i == j]
    return (*pairs, *midline)


class MirrorMap(nn.Module):
    """`layout.mirror` as a part of a network: its maps move and are exported with it."""

    source: Tensor
    sign: Tensor

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self.register_buffer("source", torch.tensor(layout.rule.source), persistent=False)
        self.register_buffer("sign", torch.tensor(layout.rule.sign), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return x.index_select(-1, self.source) * self.sign


class Reorganization(nn.Module):
    """T (Table 13): a proprioceptive history (..., h, P) as a structured vector (..., 2·S·h), oldest first.

    The left slice holds the entries of the left side and all midline entries; the right slice holds the same
    entries of the mirrored frame. Therefore T(M_p o) = M_c T(o), and midline entries appear in both slices.
    """

    index: Tensor
    sign: Tensor
    place: Tensor
    place_sign: Tensor

    def __init__(self, layout: Layout, joint_names: Sequence[str], history: int) -> None:
        super().__init__()
        left: list[int] = []
        for segment in layout:
            names = joint_names if segment.size == len(joint_names) else ()
            start = layout.slice(segment.name).start
            left += [start + k for k in left_entries(segment.mirror, names)]
        source = torch.tensor((left, [layout.rule.source[k] for k in left]))
        sign = torch.tensor(([1.0] * len(left), [layout.rule.sign[k] for k in left]))
        frame = torch.arange(history) * layout.size
        self.slice_size = len(left)
        self.register_buffer("index", (frame[:, None] + source[:, None]).flatten(), persistent=False)
        self.register_buffer("sign", sign[:, None].expand(2, history, -1).flatten(), persistent=False)
        place, place_sign = self._places(layout.size * history)
        self.register_buffer("place", place, persistent=False)
        self.register_buffer("place_sign", place_sign, persistent=False)

    def _places(self, inputs: int) -> tuple[Tensor, Tensor]:
        """Where each entry of the history goes, (2, inputs), and its sign there; 0 where there is but one."""
        place, sign = torch.zeros(2, inputs, dtype=torch.long), torch.zeros(2, inputs)
        used = [0] * inputs
        for to, (entry, factor) in enumerate(zip(self.index.tolist(), self.sign.tolist(), strict=True)):
            place[used[entry], entry], sign[used[entry], entry] = to, factor
            used[entry] += 1
        return place, sign

    @property
    def size(self) -> int:
        return len(self.index)

    def forward(self, history: Tensor) -> Tensor:
        return history.flatten(-2).index_select(-1, self.index) * self.sign

    def fold(self, weight: Tensor) -> Tensor:
        """W T (outputs, h·P) of the weight (outputs, 2·S·h) of a layer that stands behind T."""
        first, second = (weight.index_select(1, place) for place in self.place)
        return torch.addcmul(first * self.place_sign[0], second, self.place_sign[1])
