"""Many small launches as one: a CUDA graph, recorded once and then repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import warp as wp

from ssr import bridge


class Recorded:
    """Launches of Warp kernels that are always the same. On CUDA the first call runs them singly, which loads
    their modules; the second records them; from then on they are one launch. On the CPU they stay single."""

    def __init__(self, launches: Callable[[], None], device: torch.device, *, record: bool = True) -> None:
        self._launches, self._device = launches, device
        self._record = record and device.type == "cuda"
        self._warm = False
        self._graph: Any = None

    def __call__(self) -> None:
        if self._record and self._warm and self._graph is None:
            # Into a stream of Warp's own: PyTorch's default one cannot be recorded.
            with wp.ScopedDevice(bridge.device_of(self._device)), wp.ScopedCapture() as capture:
                self._launches()
            self._graph = capture.graph
        with bridge.beside(self._device):
            if self._graph is None:
                self._launches()
            else:
                wp.capture_launch(self._graph)
        self._warm = True
