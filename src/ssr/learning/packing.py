"""Nested state as tensors plus JSON, so that loading it never runs code."""

from __future__ import annotations

from collections.abc import Mapping
from errno import EIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from ssr.files import replacing

TENSOR, ARRAY, TUPLE = "__tensor__", "__array__", "__tuple__"
NON_FINITE = "__float__"


def pack(state: Any) -> tuple[Any, dict[str, Tensor]]:
    """A JSON-ready skeleton of `state`, and its tensors and arrays by path."""
    tensors: dict[str, Tensor] = {}
    return _pack(state, "", tensors), tensors


def _pack(value: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, Tensor):
        tensors[path] = value.detach().cpu().contiguous().clone()
        return {TENSOR: path}
    if isinstance(value, np.ndarray):
        tensors[path] = torch.from_numpy(np.ascontiguousarray(value)).clone()
        return {ARRAY: path}
    if isinstance(value, np.generic):
        return _pack(value.item(), path, tensors)
    if isinstance(value, Mapping):
        return {str(k): _pack(v, f"{path}/{k}", tensors) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_pack(v, f"{path}/{i}", tensors) for i, v in enumerate(value)]
        return {TUPLE: items} if isinstance(value, tuple) else items
    if isinstance(value, float) and not np.isfinite(value):
        return {NON_FINITE: repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"cannot save {path}: {type(value).__name__}")


def unpack(skeleton: Any, tensors: Mapping[str, Tensor]) -> Any:
    """The inverse of `pack`."""
    if isinstance(skeleton, dict):
        if set(skeleton) == {TENSOR}:
            return tensors[skeleton[TENSOR]]
        if set(skeleton) == {ARRAY}:
            return tensors[skeleton[ARRAY]].numpy()
        if set(skeleton) == {TUPLE}:
            return tuple(unpack(v, tensors) for v in skeleton[TUPLE])
        if set(skeleton) == {NON_FINITE}:
            return float(skeleton[NON_FINITE])
        return {k: unpack(v, tensors) for k, v in skeleton.items()}
    if isinstance(skeleton, list):
        return [unpack(v, tensors) for v in skeleton]
    return skeleton


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Tensors by name as a safetensors file, wherever and in whatever memory order they are."""
    plain = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    with replacing(path) as partial:
        try:
            save_file(plain, str(partial), metadata=metadata)
        except SafetensorError as error:  # the disk is full, say; it hides the number of the error
            raise OSError(EIO, str(error), str(path)) from error
