"""Whom a trial tries: a run directory, one of its snapshots, a small checkpoint, or a scripted policy."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor

from ssr.errors import UserError, unknown
from ssr.evaluation.actors import Actor, NetworkActor
from ssr.evaluation.scripted import SCRIPTED
from ssr.learning import config_file, small_checkpoint
from ssr.learning.algorithm import network_config
from ssr.learning.averaging import shipped
from ssr.learning.config import TrainConfig
from ssr.learning.packing import pack
from ssr.learning.run_directory import CONFIG, SMALL
from ssr.networks.build import Networks
from ssr.robots import load as load_robot
from ssr.robots.spec import RobotSpec
from ssr.task.config import TaskConfig
from ssr.vision.camera import CameraConfig

PREFIX = "scripted:"


@dataclass(frozen=True, kw_only=True)
class Subject:
    name: str
    robot: RobotSpec
    task: TaskConfig  #: as it was trained
    camera: CameraConfig | None
    actor: Callable[[], Actor]
    digest: str  #: of everything that decides how it acts
    iteration: int | None = None  #: of training
    networks: Networks | None = None
    imagines: bool = False  #: its networks learned to imagine footholds


def load(source: str, iteration: int | None = None) -> Subject:
    """A subject from what a user types: RUN, RUN/small.safetensors or scripted:NAME."""
    if source.startswith(PREFIX):
        return _scripted(source.removeprefix(PREFIX))
    path = Path(source)
    if not path.exists():
        raise UserError(
            f"{source} does not exist. Give a run directory made by `ssr train`, or {PREFIX}stand."
        )
    config, found, weights = _read(path, iteration)
    robot = load_robot(config.robot)
    networks = Networks(robot, network_config(config))
    try:
        networks.load_state_dict(weights)
    except RuntimeError as error:
        raise UserError(f"{source}: the weights do not fit the networks of its {CONFIG}.") from error
    settings = {name: config_file.as_dict(getattr(config, name)) for name in ("task", "camera", "network")}
    return Subject(
        name=path.stem if path.is_file() else path.resolve().name,
        robot=robot,
        task=config.task,
        camera=config.camera,
        actor=lambda: NetworkActor(networks.policy()),
        digest=_digest(robot, settings, networks.state_dict()),
        iteration=found,
        networks=networks,
        imagines=not (config.ablation.no_foothold or config.ablation.no_imagination),
    )


def home(source: str) -> Path:
    """The folder that belongs to a subject: the run, the folder of its checkpoint, or out/scripted-NAME."""
    if source.startswith(PREFIX):
        return Path("out") / source.replace(":", "-")
    path = Path(source)
    return path if path.is_dir() else path.parent


def _scripted(name: str) -> Subject:
    if name not in SCRIPTED:
        raise unknown("scripted policy", name, SCRIPTED)
    robot = load_robot("x2")
    script = SCRIPTED[name]
    return Subject(
        name=f"scripted-{name}",
        robot=robot,
        task=script.task,
        camera=None,
        actor=lambda: script.actor(robot, script.task.control_period),
        digest=_digest(robot, {"script": name, "task": config_file.as_dict(script.task)}, {}),
    )


def _read(path: Path, iteration: int | None) -> tuple[TrainConfig, int, dict[str, Tensor]]:
    """Configuration, iteration and weights; of a directory the newest, or those asked for."""
    if path.is_file():
        found, config, state = small_checkpoint.load(path)
        return config, found, shipped(state)
    small, known = path / SMALL, snapshots(path)
    latest = _small_iteration(small)
    if not known and latest is None:
        raise UserError(
            f"{path} holds no weights yet: no {SMALL} and no snapshots. Let `ssr train` save some."
        )
    if iteration is None:
        iteration = max([*known, *([] if latest is None else [latest])])
    if iteration == latest and iteration not in known:  # training replaces it, but never a snapshot
        found, config, state = small_checkpoint.load(small)
        return config, found, shipped(state)
    if iteration not in known:
        listed = ", ".join(map(str, sorted({*known, *([] if latest is None else [latest])})))
        raise UserError(f"{path} has no weights of iteration {iteration}. It has: {listed}.")
    config = config_file.load(path / CONFIG)
    try:
        return config, iteration, load_file(str(known[iteration]))
    except (SafetensorError, OSError) as error:
        raise UserError(f"{known[iteration]} is damaged. Choose another --snapshot.") from error


def snapshots(run: Path) -> dict[int, Path]:
    """Snapshots of a run by their iteration, oldest first."""
    found = sorted((run / "snapshots").glob("[0-9]*.safetensors"))
    return {int(path.stem): path for path in found}


def _small_iteration(path: Path) -> int | None:
    if not path.is_file():
        return None
    try:
        with safe_open(str(path), framework="pt") as file:
            return int((file.metadata() or {})["iteration"])
    except (SafetensorError, KeyError, ValueError) as error:
        raise UserError(f"{path} is damaged. Move it away to use the run's snapshots.") from error


def _digest(robot: RobotSpec, settings: dict[str, Any], weights: dict[str, Tensor]) -> str:
    total = hashlib.sha256()
    body = (robot.name, robot.joints, robot.shapes, robot.sole, robot.camera, robot.standing_height)
    total.update(repr(body).encode())
    total.update(json.dumps(pack(settings)[0], sort_keys=True).encode())
    for name in sorted(weights):
        total.update(name.encode())
        total.update(weights[name].detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()
