"""Metrics to Weights & Biases as well, for those who ask for it."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssr.errors import UserError
from ssr.learning.config import TrainConfig
from ssr.learning.config_file import as_dict

VARIABLE = "SSR_WANDB"  #: names the project; not a setting, since it says nothing about the policy


def project() -> str:
    return os.environ.get(VARIABLE, "")


def ask_for(name: str) -> None:
    """Log this run and its ranks to project `name`."""
    wandb()
    os.environ[VARIABLE] = name


class WandbLog:
    """One run there, named like the directory here; a resumed run goes on in the same one."""

    def __init__(self, path: Path, config: TrainConfig) -> None:
        self._run = wandb().init(
            project=project(),
            name=path.resolve().name,
            id=path.resolve().name,
            resume="allow",
            dir=str(path),
            config=as_dict(config),
        )

    def log(self, metrics: Mapping[str, float]) -> None:
        self._run.log(dict(metrics), step=int(metrics["iteration"]))

    def close(self) -> None:
        self._run.finish()


def wandb() -> Any:
    try:
        return importlib.import_module("wandb")
    except ModuleNotFoundError:
        raise UserError("--wandb needs the package wandb: pip install wandb.") from None
