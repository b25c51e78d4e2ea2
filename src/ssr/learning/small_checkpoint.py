"""Small checkpoints: what is worth keeping of a run in one file of a few megabytes.

Weights and their average in full precision, Adam's moments in bfloat16 (their range matters more than their
digits), normalisers, levels, learning rates and schedule. Training goes on from it while the buffers refill.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ssr.errors import UserError
from ssr.learning.algorithm import SSR
from ssr.learning.config import TrainConfig
from ssr.learning.config_file import as_dict, from_dict
from ssr.learning.optimizer import FlatAdam
from ssr.learning.packing import pack, unpack
from ssr.learning.writing import write_tensors

KIND = "ssr small checkpoint 1"
MOMENTS = ("mean", "square")


def optimizers(algorithm: SSR) -> dict[str, FlatAdam]:
    found = {"ppo": algorithm.ppo.optimizer, "encoder": algorithm.encoder.optimizer}
    if algorithm.imagination is not None:
        found["imagination"] = algorithm.imagination.optimizer
    if algorithm.style is not None:
        found["style"] = algorithm.style.optimizer
    return found


def state_of(algorithm: SSR, levels: dict[str, list[int]]) -> dict[str, Any]:
    """levels: per terrain type, the levels of its worlds on all ranks."""
    moments = {}
    for name, optimizer in optimizers(algorithm).items():
        state = optimizer.state_dict()
        moments[name] = state | {k: state[k].to(torch.bfloat16) for k in MOMENTS}  # type: ignore[attr-defined]
    state = {
        "networks": algorithm.networks.state_dict(),
        "optimizers": moments,
        "schedule": algorithm.schedule.state_dict(),
        "levels": levels,
    }
    if algorithm.imagination is not None:
        state["imagination"] = {"total": algorithm.imagination.total, "rmse": algorithm.imagination.rmse}
    if algorithm.style is not None:
        state["normalizer"] = algorithm.style.normalizer.state_dict()
    if algorithm.average is not None:
        state["average"] = algorithm.average.state_dict()
    return state


def save(
    path: Path, algorithm: SSR, config: TrainConfig, iteration: int, levels: dict[str, list[int]]
) -> None:
    skeleton, tensors = pack(state_of(algorithm, levels))
    settings, _ = pack(as_dict(config))
    metadata = {
        "kind": KIND,
        "iteration": str(iteration),
        "config": json.dumps(settings),
        "state": json.dumps(skeleton),
        "sha256": _sum(tensors),
    }
    write_tensors(path, tensors, metadata)


def _sum(tensors: dict[str, Tensor]) -> str:
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
    try:
        with safe_open(str(path), framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if metadata.get("kind") != KIND:
            raise UserError(f"{path} is not a small checkpoint of ssr. Give e.g. RUN/small.safetensors.")
        if _sum(tensors) != metadata["sha256"]:
            raise UserError(f"{path} was altered: its checksum differs. Use another copy or an earlier file.")
        config = from_dict(TrainConfig, unpack(json.loads(metadata["config"]), {}))
        return int(metadata["iteration"]), config, unpack(json.loads(metadata["state"]), tensors)
    except (SafetensorError, ValueError, KeyError) as error:
        raise UserError(
            f"{path} is damaged (truncated or not safetensors). Use another copy or an earlier file."
        ) from error


def restore(algorithm: SSR, state: dict[str, Any], path: Path) -> None:
    """Put weights, moments, normalisers and schedule into a fresh algorithm of the same shape."""
    try:
        algorithm.networks.load_state_dict(state["networks"])
        for name, optimizer in optimizers(algorithm).items():
            optimizer.load_state_dict(state["optimizers"][name])
    except (RuntimeError, KeyError) as error:
        raise UserError(
            f"{path} has other networks than asked for. Continue with the settings it was trained with."
        ) from error
    algorithm.schedule.load_state_dict(state["schedule"])
    if algorithm.imagination is not None and "imagination" in state:
        algorithm.imagination.total = int(state["imagination"]["total"])
        algorithm.imagination.rmse = float(state["imagination"]["rmse"])
    if algorithm.style is not None and "normalizer" in state:
        algorithm.style.normalizer.load_state_dict(state["normalizer"])
    if algorithm.average is not None:
        algorithm.average.restart()
        if "average" in state:
            algorithm.average.load_state_dict(state["average"])
