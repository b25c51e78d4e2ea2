"""The environment lives on the CPU; learning may live on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from torch import Tensor

T = TypeVar("T")


def moved(value: T, device: str) -> T:
    """Tensors, dataclasses and mappings of them, on `device`; the same object if they are there."""
    if device == "cpu":
        return value
    return _moved(value, device)


def _moved(value: Any, device: str) -> Any:
    if isinstance(value, Tensor):
        return value.to(device, non_blocking=True)
    if isinstance(value, Mapping):
        return {name: _moved(part, device) for name, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _moved(getattr(value, f.name), device) for f in fields(value)})
    return value
