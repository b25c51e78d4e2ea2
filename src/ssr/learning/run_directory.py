"""A run's directory: configuration, metrics, snapshots and checkpoints, together."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from errno import ENOSPC
from pathlib import Path
from sys import float_info
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from ssr import robots
from ssr.errors import UserError
from ssr.files import write_text
from ssr.learning import config_file, sealed
from ssr.learning.algorithm import Policy
from ssr.learning.config import TrainConfig
from ssr.learning.wandb_log import WandbLog, project

CONFIG, METRICS, SMALL, SNAPSHOTS = "config.json", "metrics.jsonl", "small.safetensors", "snapshots"

PLACE = {"iteration", "total_steps", "wall_seconds"}  #: when a row of metrics was measured
BEGUN = (METRICS, SMALL, "checkpoints")  #: a run that holds one of these has begun


def default_path(config: TrainConfig) -> Path:
    """runs/<robot>-<preset>-<time>."""
    return Path("runs") / f"{robots.load(config.robot).name}-{config.preset}-{time.strftime('%Y%m%d-%H%M%S')}"


class RunDirectory:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._board: SummaryWriter | None = None
        self._elsewhere: WandbLog | None = None

    @staticmethod
    def create(path: Path, config: TrainConfig) -> RunDirectory:
        if any((path / name).exists() for name in BEGUN):
            raise UserError(f"{path} already holds a run. Go on with --resume {path}, or give another --run.")
        try:
            path.mkdir(parents=True, exist_ok=True)
            config_file.save(path / CONFIG, config)
        except OSError as error:
            raise UserError(f"Cannot make a run in {path}: {error.strerror}.") from error
        return RunDirectory(path)

    @staticmethod
    def open(path: Path) -> tuple[RunDirectory, TrainConfig]:
        if not (path / CONFIG).is_file():
            raise UserError(f"{path} is not a run directory: it has no {CONFIG}. `ssr train` makes one.")
        return RunDirectory(path), config_file.load(path / CONFIG)

    def forget_after(self, iteration: int) -> None:
        """Drop metrics of iterations that a resumed run will do again."""
        path = self.path / METRICS
        if not path.exists():
            return
        kept = [json.dumps(row) + "\n" for row in read_metrics(self.path) if row["iteration"] <= iteration]
        write_text(path, "".join(kept))

    def begin_log(self, config: TrainConfig) -> None:
        """Also log to Weights & Biases, if that is asked for."""
        if project():
            self._elsewhere = WandbLog(self.path, config)

    def log(self, metrics: Mapping[str, float]) -> None:
        """One line of JSON and TensorBoard scalars per iteration; all numbers are finite."""
        _append(self.path / METRICS, json.dumps(metrics) + "\n")
        with suppress(OSError):  # curves for the eye; every number of theirs stands in metrics.jsonl
            if self._board is None:
                self._board = SummaryWriter(str(self.path), purge_step=int(metrics["iteration"]))
            for name, value in metrics.items():
                self._board.add_scalar(name, value, int(metrics["iteration"]))
        if self._elsewhere is not None:
            self._elsewhere.log(metrics)

    def snapshot(self, policy: Policy, iteration: int, config: TrainConfig) -> Path:
        """The weights to ship as of this iteration and their settings, for later evaluation."""
        folder = self.path / SNAPSHOTS
        folder.mkdir(exist_ok=True)
        path = folder / f"{iteration:06d}.safetensors"
        metadata = {"iteration": str(iteration), "config": config_file.as_text(config)}
        sealed.write(path, policy.weights(), metadata)
        return path

    def close(self) -> None:
        if self._board is not None:
            with suppress(OSError):
                self._board.close()
        if self._elsewhere is not None:
            self._elsewhere.close()

    def remove_stub(self, made: bool, *others: str) -> None:
        """Leave nothing behind of a run of which nothing was saved.

        made: with its directory, so that all in it is the run's; others: files that go with its config.
        """
        if any((self.path / name).exists() for name in BEGUN):
            return
        if made:
            shutil.rmtree(self.path, ignore_errors=True)
            return
        for name in (CONFIG, *others, "events.out.tfevents.*"):
            for path in self.path.glob(name):
                path.unlink(missing_ok=True)


def _append(path: Path, line: str) -> None:
    """The whole line or nothing of it."""
    with path.open("ab", buffering=0) as file:
        before = file.tell()
        try:
            done = file.write(line.encode())
            if done != len(line.encode()):
                raise OSError(ENOSPC, os.strerror(ENOSPC), str(path))
        except OSError:
            with suppress(OSError):
                file.truncate(before)
            raise


def read_metrics(run: Path) -> list[dict[str, Any]]:
    """All metrics of a run, one dictionary per iteration.

    A line that was cut off is left out, and so is one that does not say when it was measured; of others only
    what is no finite number.
    """
    path = run / METRICS
    if not path.is_file():
        raise UserError(f"{run} has no {METRICS}. Give a run directory made by `ssr train`.")
    rows = []
    for line in path.read_text(errors="replace").splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        sound = (
            {name: value for name, value in row.items() if _is_finite(value)} if isinstance(row, dict) else {}
        )
        if "iteration" in sound and not PLACE & (row.keys() - sound.keys()):
            rows.append(sound)
    return rows


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) <= float_info.max
