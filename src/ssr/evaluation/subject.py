"""Whom a trial tries: a run directory, one of its snapshots, a small checkpoint, or a scripted policy."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ssr import pretrained
from ssr.errors import unknown
from ssr.evaluation.scripted import SCRIPTED
from ssr.learning import config_file, registry, saved
from ssr.learning.algorithm import Actor, Imagine, Policy, StyleJudge
from ssr.learning.packing import pack
from ssr.physics.engines import chosen
from ssr.physics.world import PhysicsConfig
from ssr.robots import load as load_robot
from ssr.robots.spec import RobotSpec
from ssr.task.config import BootstrapConfig, TaskConfig
from ssr.vision.camera import CameraConfig

PREFIX = "scripted:"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A policy with all that its trials need: robot, task, camera, and somebody to act."""

    name: str
    robot: RobotSpec
    task: TaskConfig  #: as it was trained, without what only beginners are paid and ended for
    camera: CameraConfig | None  #: None: it sees nothing
    actor: Callable[[], Actor]  #: makes one, with a memory of its own
    digest: str  #: of everything that decides how it acts
    physics: PhysicsConfig = field(default_factory=PhysicsConfig)  #: that it was trained in
    scan: bool = False  #: it walks by a wide map of exact heights
    iteration: int | None = None  #: of training
    policy: Policy | None = None  #: None: scripted

    @property
    def imagine(self) -> Imagine | None:
        """Where it thinks its feet will land, if it learned to."""
        return None if self.policy is None else self.policy.imagine

    @property
    def style_judge(self) -> StyleJudge | None:
        """Who paid it for style, if that is known."""
        return None if self.policy is None else self.policy.style_judge


def load(source: str, iteration: int | None = None) -> Subject:
    """A subject from what a user types: RUN, RUN/small.safetensors, x2 or scripted:NAME."""
    if source.startswith(PREFIX):
        return _scripted(source.removeprefix(PREFIX))
    path = pretrained.located(source)
    found = saved.load(path, iteration)
    config, policy = found.config, found.policy
    method = registry.method(config.algorithm)
    settings = {name: config_file.as_dict(getattr(config, name)) for name in ("task", "camera", "network")}
    settings |= {"engine": chosen(config.env.engine, "cpu")}
    return Subject(
        name=path.stem if path.is_file() else path.resolve().name,
        robot=found.robot,
        task=replace(config.task, bootstrap=BootstrapConfig()),
        camera=config.camera if method.sees(config) else None,
        scan=method.scans(config),
        actor=policy.actor,
        physics=PhysicsConfig(engine=config.env.engine),
        digest=_digest(found.robot, settings, policy.weights()),
        iteration=found.iteration,
        policy=policy,
    )


def home(source: str) -> Path:
    """The folder that belongs to a subject: the run, the folder of its checkpoint, or out/NAME."""
    if source.startswith(PREFIX):
        return Path("out") / source.replace(":", "-")
    return pretrained.home(source)


def run_directory(source: str) -> Path | None:
    """The run directory that a source is, if it is one."""
    if source.startswith(PREFIX):
        return None
    path = pretrained.located(source)
    return path if path.is_dir() else None


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


def _digest(robot: RobotSpec, settings: dict[str, Any], weights: dict[str, Tensor]) -> str:
    total = hashlib.sha256()
    body = (robot.name, robot.joints, robot.shapes, robot.sole, robot.camera, robot.standing_height)
    total.update(repr(body).encode())
    total.update(json.dumps(pack(settings)[0], sort_keys=True).encode())
    for name in sorted(weights):
        total.update(name.encode())
        total.update(weights[name].detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()
