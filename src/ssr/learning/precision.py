"""Where lower precision pays."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch


def autocast(enabled: bool, device: torch.device) -> AbstractContextManager[object]:
    """bfloat16 matrix products inside; weights, losses and optimizers stay in float32."""
    if not enabled:
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)
