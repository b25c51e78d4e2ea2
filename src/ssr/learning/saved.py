"""The newest weights of a run, or those of one of its iterations, as a policy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor

from ssr.errors import UserError
from ssr.learning import config_file, own_robot, registry, sealed, small_checkpoint
from ssr.learning.algorithm import Policy
from ssr.learning.config import TrainConfig
from ssr.learning.run_directory import CONFIG, SMALL, SNAPSHOTS
from ssr.robots.spec import RobotSpec


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A policy and how it was trained."""

    config: TrainConfig
    robot: RobotSpec
    iteration: int
    policy: Policy


def load(path: Path, iteration: int | None = None) -> Saved:
    """The policy of a run directory, by default its newest, or of a small checkpoint."""
    config, found, weights = _read(path, iteration)
    robot = own_robot.robot_of(config, own_robot.home(path))
    try:
        policy = registry.method(config.algorithm).policy(config, robot, weights)
    except RuntimeError as error:
        raise UserError(f"{path}: the weights do not fit the networks of its {CONFIG}.") from error
    return Saved(config=config, robot=robot, iteration=found, policy=policy)


def require_own_settings(run: Path, sealed_with: TrainConfig) -> None:
    """Refuse a config.json that was edited; one without a seal must say what is sealed with the weights."""
    path = run / CONFIG
    if not path.is_file():
        return
    told = config_file.load(path)
    if config_file.is_sealed(path):
        return
    usual = {name: getattr(told, name) for name in ("run", "ranks", "device", "preset")}
    if told != replace(sealed_with, **usual):
        raise UserError(
            f"{path} is not what the weights were trained with, which carry their own settings. Restore it, "
            "or move it away."
        )


def snapshots(run: Path) -> dict[int, Path]:
    """Snapshots of a run by their iteration, oldest first."""
    found = sorted((run / SNAPSHOTS).glob("[0-9]*.safetensors"))
    return {int(path.stem): path for path in found}


def _read(path: Path, iteration: int | None) -> tuple[TrainConfig, int, dict[str, Tensor]]:
    """Configuration, iteration and weights."""
    if path.is_file():
        return _small(path)
    small, known = path / SMALL, snapshots(path)
    latest = small_iteration(small)
    if not known and latest is None:
        if not (path / CONFIG).is_file():
            raise UserError(f"{path} is not a run directory: it has no {CONFIG}. `ssr train` makes one.")
        raise UserError(
            f"{path} holds no weights yet: no {SMALL} and no snapshots. Let `ssr train` save some."
        )
    if iteration is None:
        iteration = max([*known, *([] if latest is None else [latest])])
    if iteration == latest and iteration not in known:  # training replaces it, but never a snapshot
        return _small(small)
    if iteration not in known:
        listed = ", ".join(map(str, sorted({*known, *([] if latest is None else [latest])})))
        raise UserError(f"{path} has no weights of iteration {iteration}. It has: {listed}.")
    return _snapshot(known[iteration])


def _snapshot(path: Path) -> tuple[TrainConfig, int, dict[str, Tensor]]:
    """Its settings are those of its stage, which it carries itself."""
    metadata, weights = sealed.read(path)
    sealed.require_seal(path, metadata, weights)
    try:
        return config_file.from_text(metadata["config"]), int(metadata["iteration"]), weights
    except (ValueError, KeyError) as error:
        raise UserError(f"{path} is damaged. Choose another --snapshot.") from error


def _small(path: Path) -> tuple[TrainConfig, int, dict[str, Tensor]]:
    iteration, config, state = small_checkpoint.load(path)
    return config, iteration, registry.method(config.algorithm).shipped(state)


def small_iteration(path: Path) -> int | None:
    """The iteration of a small checkpoint, without reading its weights; None where there is none."""
    if not path.is_file():
        return None
    try:
        with safe_open(str(path), framework="pt") as file:
            return int((file.metadata() or {})["iteration"])
    except (SafetensorError, KeyError, ValueError) as error:
        raise UserError(f"{path} is damaged. Move it away to use the run's snapshots.") from error
