"""Sealed files of weights: tensors and what is said of them, under one checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ssr.errors import UserError
from ssr.learning.packing import write_tensors

SEAL = "sha256"  #: key of the checksum over everything else


def checksum(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> str:
    """SHA-256 of names, types, shapes and values, and of the metadata but the seal itself."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name].detach().cpu().contiguous()
        total.update(repr((name, str(value.dtype), tuple(value.shape))).encode())
        total.update(value.view(-1).view(torch.uint8).numpy().data)
    said = {key: value for key, value in metadata.items() if key != SEAL}
    total.update(json.dumps(said, sort_keys=True).encode())
    return total.hexdigest()


def write(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    write_tensors(path, tensors, {**metadata, SEAL: checksum(tensors, metadata)})


def read(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """Metadata and tensors as they are; whoever trusts them calls `require_seal`."""
    try:
        with safe_open(str(path), framework="pt") as file:
            return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError, OSError) as error:
        raise UserError(
            f"{path} is damaged (truncated or not safetensors). Use another copy or an earlier file."
        ) from error


def require_seal(path: Path, metadata: Mapping[str, str], tensors: Mapping[str, Tensor]) -> None:
    if SEAL not in metadata:
        raise UserError(f"{path} has no seal. If you trust it, `scripts/seal {path}` gives it one.")
    if metadata[SEAL] != checksum(tensors, metadata):
        raise UserError(f"{path} was altered: its checksum differs. Use another copy or an earlier file.")
