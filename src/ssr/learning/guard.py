"""When a number goes bad: name the first tensor in the order data flows, and keep the batch."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from ssr.errors import UserError
from ssr.learning.algorithm import Algorithm
from ssr.learning.packing import write_tensors


def first_bad(algorithm: Algorithm) -> tuple[str, Tensor] | None:
    for name, tensor in algorithm.tensors():
        if not bool(torch.isfinite(tensor).all()):
            return name, tensor
    return None


def report(algorithm: Algorithm, run: Path, iteration: int, rank: int) -> UserError:
    """Dump the iteration's tensors and say which one went bad first."""
    path = run / f"bad_iteration_{iteration:06d}_rank{rank}.safetensors"
    write_tensors(path, dict(algorithm.tensors()))
    bad = first_bad(algorithm)
    if bad is None:
        where = "a loss, though no stored tensor did"
    else:
        name, tensor = bad
        place = (~torch.isfinite(tensor)).nonzero()[0].tolist()
        where = f"{name} at index {place}, {int((~torch.isfinite(tensor)).sum())} of {tensor.numel()} entries"
    return UserError(
        f"Training stopped at iteration {iteration}: {where}, is not finite. The batch is in {path}; "
        f"`ssr train --resume {run}` goes on from the last checkpoint."
    )
