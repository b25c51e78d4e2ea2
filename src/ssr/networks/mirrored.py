"""Mirroring as a part of a network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ssr.symmetry.layout import Layout


class MirrorMap(nn.Module):
    """x (..., size) as the mirrored robot would have it, by `layout`'s rule."""

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self.register_buffer("source", torch.tensor(layout.rule.source), persistent=False)
        self.register_buffer("sign", torch.tensor(layout.rule.sign), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return x.index_select(-1, self.source) * self.sign.to(x.dtype)

