"""Between PyTorch and Warp: the same memory, the same device, the same stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import warp as wp
from torch import Tensor

wp.config.log_level = wp.LOG_ERROR
wp.init()


def device_of(device: torch.device | str) -> Any:
    """Warp's name of a device; a CUDA device needs its index."""
    return wp.device_from_torch(torch.device(device))


def array(tensor: Tensor, dtype: Any = None) -> Any:
    """Warp's view of a tensor's memory, by default of its own scalar type."""
    return wp.from_torch(tensor.detach(), dtype)


def tensor(array: Any) -> Tensor:
    """A tensor over the memory of one of Warp's arrays; vectors and matrices become trailing dimensions."""
    return wp.to_torch(array)


@contextmanager
def beside(device: torch.device | str) -> Iterator[None]:
    """What Warp launches inside goes to this device, into the stream that PyTorch uses there."""
    at = torch.device(device)
    with wp.ScopedDevice(device_of(at)):
        if at.type != "cuda":
            yield
            return
        with wp.ScopedStream(wp.stream_from_torch(torch.cuda.current_stream(at)), sync_enter=False):
            yield


def launch(
    kernel: Any, dim: tuple[int, ...], inputs: list[Any], outputs: list[Any], device: torch.device | str
) -> None:
    """Run a kernel there, with nothing kept for gradients."""
    with beside(device):
        wp.launch(kernel, dim=dim, inputs=inputs, outputs=outputs, record_tape=False)
