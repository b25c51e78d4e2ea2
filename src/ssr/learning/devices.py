"""Learning may live on a GPU: what goes there, and the few numbers that come back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


def moved(value: T, device: str) -> T:
    """Tensors, lists, dataclasses and mappings of them, on `device`; the same object if they are there."""
    if device == "cpu":
        return value
    return _moved(value, device)


def fetched(numbers: Tensor) -> Tensor:
    """A few numbers on the host. A device is waited for, so ask once for many and never in a rollout."""
    return numbers if numbers.device.type == "cpu" else numbers.to(torch.device("cpu"))


def _moved(value: Any, device: str) -> Any:
    if isinstance(value, Tensor):
        return value.to(device, non_blocking=True)
    if isinstance(value, Mapping):
        return {name: _moved(part, device) for name, part in value.items()}
    if isinstance(value, list):
        return [_moved(part, device) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _moved(getattr(value, f.name), device) for f in fields(value)})
    return value
