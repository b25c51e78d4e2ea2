"""Where lower precision pays."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache

import torch


def autocast(enabled: bool, device: torch.device) -> AbstractContextManager[object]:
    """bfloat16 matrix products inside, where the processor has them; weights and losses stay in float32."""
    if not enabled or (device.type == "cpu" and not _native()):
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)


@cache
def _native() -> bool:
    """Emulated bfloat16 is slower than float32."""
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
