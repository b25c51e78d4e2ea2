"""Rows of a tensor written over those of another, for the worlds of a mask: no device is asked which."""

# Warp reads annotations as types, so they must not be postponed to strings here.
# mypy: disable-error-code="valid-type, misc"

from typing import Any

import warp as wp
from torch import Tensor

from ssr import bridge


@wp.kernel(enable_backward=False)
def put_rows(
    chosen: wp.array(dtype=wp.bool),
    rows: wp.array(dtype=wp.int32),
    source: wp.array2d(dtype=Any),
    target: wp.array2d(dtype=Any),
):
    i, j = wp.tid()
    if chosen[i]:
        target[i, j] = source[rows[i], j]


def put(chosen: Tensor, rows: Tensor, source: Tensor, target: Tensor) -> None:
    """target[i] = source[rows[i]] where chosen (n,) bool; rows (n,) int32. Dimensions after the first are the
    same on both sides, and of one type."""
    flat = target.view(len(target), -1)
    values = source.view(len(source), -1)
    inputs = [bridge.array(x) for x in (chosen, rows, values)]
    bridge.launch(put_rows, tuple(flat.shape), inputs, [bridge.array(flat)], target.device)
