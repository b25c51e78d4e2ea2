"""A run directory with an untrained network, and trials written by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from ssr.evaluation.trials import LASTED, Trials
from ssr.learning import config_file, presets, sealed
from ssr.learning.run_directory import RunDirectory
from ssr.learning.ssr_policy import network_config
from ssr.networks.build import Networks
from ssr.robots import load
from ssr.terrain.ground import OBSTACLES_FROM


def write_run(path: Path, seed: int = 0, iterations: tuple[int, ...] = (100,)) -> Path:
    """What `ssr train --preset cpu` leaves behind, with random weights."""
    config = replace(presets.preset("cpu"), seed=seed)
    RunDirectory.create(path, config)
    (path / "snapshots").mkdir()
    for iteration in iterations:
        torch.manual_seed(seed + iteration)
        weights = Networks(load("x2"), network_config(config)).state_dict()
        file = path / "snapshots" / f"{iteration:06d}.safetensors"
        said = {"iteration": str(iteration), "config": config_file.as_text(config)}
        sealed.write(file, {name: value.clone() for name, value in weights.items()}, said)
    return path


def handmade(count: int = 3, **changes: object) -> Trials:
    """Trials that lasted, with no footholds unless given."""
    none, whole = np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.int32)
    values: dict[str, object] = {
        "ending": np.full(count, LASTED, dtype=np.int8),
        "seconds": np.full(count, 20.0),
        "distance": np.full(count, 19.0, dtype=np.float32),
        "power": np.full(count, 100.0),
        "first_edge": np.full(count, OBSTACLES_FROM, dtype=np.float32),
        "last_edge": np.full(count, 22.0, dtype=np.float32),
        "drift": np.zeros(count, dtype=np.float32),
        "walk_seconds": np.full(count, 17.0),
        "walk_distance": np.full(count, 16.0),
        "walk_steps": np.full(count, 34, dtype=np.int32),
        "walk_air": np.full(count, 13.6),
        "walk_double_support": np.full(count, 3.4),
        "walk_flight": np.zeros(count),
        "style_paid": np.zeros(count),
        "style_windows": np.zeros(count, dtype=np.int32),
        "foothold_trial": whole,
        "foothold_foot": whole.astype(np.int8),
        "foothold_step": whole.astype(np.int16),
        "foothold_position": np.zeros((0, 2), dtype=np.float32),
        "foothold_yaw": none,
        "foothold_support": none,
        "stance_trial": whole,
        "stance_foot": whole.astype(np.int8),
        "stance_peak": none,
    }
    return Trials(**(values | changes))  # type: ignore[arg-type]


def stepping(*steps: tuple[int, int, float], count: int = 1) -> dict:
    """Footholds as (trial, foot, x)."""
    trial, foot, x = (np.array(column) for column in zip(*steps, strict=True))
    return {
        "foothold_trial": trial.astype(np.int32),
        "foothold_foot": foot.astype(np.int8),
        "foothold_step": np.arange(len(x), dtype=np.int16),
        "foothold_position": np.stack([x, np.zeros(len(x))], axis=1).astype(np.float32),
        "foothold_yaw": np.zeros(len(x), dtype=np.float32),
        "foothold_support": np.ones(len(x), dtype=np.float32),
    }
