"""Random states across devices."""

from __future__ import annotations

import torch
from torch import Tensor


def restore(generator: torch.Generator, state: Tensor) -> None:
    """Go on drawing from a saved state. One of another kind of device means nothing here: the generator goes
    on from its own seed."""
    on_host = state.to(torch.device("cpu"))
    if len(on_host) == len(generator.get_state()):
        generator.set_state(on_host)
