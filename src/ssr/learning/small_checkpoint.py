"""Small checkpoints: what is worth keeping of a run in one file of a few megabytes.

The algorithm's small state, the levels of all worlds and the configuration. Training goes on from it while
the buffers refill.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ssr.errors import UserError
from ssr.learning import sealed
from ssr.learning.algorithm import Algorithm
from ssr.learning.config import TrainConfig
from ssr.learning.config_file import as_text, from_text
from ssr.learning.counters import Counters
from ssr.learning.packing import pack, unpack

KIND = "ssr small checkpoint 2"
FORMER = "ssr small checkpoint 1"  #: its checksum is of the tensors alone


def save(
    path: Path, algorithm: Algorithm, config: TrainConfig, counters: Counters, levels: dict[str, list[int]]
) -> None:
    """levels: per terrain type, the levels of its worlds on all ranks."""
    skeleton, tensors = pack(algorithm.small_state() | {"levels": levels, "counters": asdict(counters)})
    metadata = {
        "kind": KIND,
        "iteration": str(counters.iteration),
        "config": as_text(config),
        "state": json.dumps(skeleton),
    }
    sealed.write(path, tensors, metadata)


def _former_checksum(tensors: dict[str, Tensor]) -> str:
    """SHA-256 of names and values."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        total.update(name.encode())
        total.update(tensors[name].contiguous().view(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def load(path: Path) -> tuple[int, TrainConfig, dict[str, Any]]:
    """Iteration, configuration and state of a small checkpoint."""
    if not path.is_file():
        raise UserError(
            f"{path} does not exist. Give the small checkpoint of a run, e.g. RUN/small.safetensors."
        )
    metadata, tensors = sealed.read(path)
    if metadata.get("kind") not in (KIND, FORMER):
        raise UserError(f"{path} is not a small checkpoint of ssr. Give e.g. RUN/small.safetensors.")
    if metadata["kind"] == KIND:
        sealed.require_seal(path, metadata, tensors)
    elif metadata.get(sealed.SEAL) != _former_checksum(tensors):
        raise UserError(f"{path} was altered: its checksum differs. Use another copy or an earlier file.")
    try:
        config = from_text(metadata["config"])
        return int(metadata["iteration"]), config, unpack(json.loads(metadata["state"]), tensors)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is damaged. Use another copy or an earlier file.") from error


def restore(algorithm: Algorithm, state: dict[str, Any], path: Path, *, moments: bool = True) -> None:
    """Put what `path` held into a fresh algorithm of the same shape, with or without optimizer moments."""
    try:
        algorithm.load_small_state(state, moments=moments)
    except (RuntimeError, KeyError) as error:
        raise UserError(
            f"{path} has other networks than asked for. Continue with the settings it was trained with."
        ) from error
