"""Stand-ins for a trained policy and for the things around a controller, with a clock of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from ssr.deployment.config import ControllerConfig, StandConfig
from ssr.deployment.contract import Contract
from ssr.deployment.controller import Controller, Phase
from ssr.deployment.gate import JointTargets
from ssr.deployment.messages import Header, Imu, JointState, Quaternion, Vector3, stamp
from ssr.deployment.thinking import Immediate
from ssr.export.policy import export, make_contract
from ssr.learning import config_file, presets, sealed
from ssr.learning.config import TrainConfig
from ssr.learning.run_directory import RunDirectory
from ssr.learning.ssr_policy import network_config
from ssr.networks.build import Networks
from ssr.rehearsal.config import GantryConfig
from ssr.rehearsal.sensor_messages import imu_message, joint_message
from ssr.rehearsal.simulated_robot import SimulatedRobot
from ssr.robots import RobotSpec, load
from ssr.terrain.tile import Tile

MILLISECOND = 0.001


def smoke_config() -> TrainConfig:
    return presets.preset("smoke")


def robot_config(robot: str) -> TrainConfig:
    return replace(smoke_config(), robot=robot)


def random_networks(config: TrainConfig, seed: int = 0) -> Networks:
    """An untrained policy. Its last layer is widened, so that its actions differ from zero."""
    torch.manual_seed(seed)
    networks = Networks(load(config.robot), network_config(config))
    with torch.no_grad():
        for name, parameter in networks.actor.named_parameters():
            if name != "std":
                parameter.mul_(1.5)
    return networks


def exported_run(path: Path, config: TrainConfig) -> Path:
    """A run directory with untrained weights, exported."""
    RunDirectory.create(path, config)
    (path / "snapshots").mkdir()
    weights = {k: v.contiguous().clone() for k, v in random_networks(config).state_dict().items()}
    said = {"iteration": "12", "config": config_file.as_text(config)}
    sealed.write(path / "snapshots" / "000012.safetensors", weights, said)
    export(path)
    return path


def contract(config: TrainConfig | None = None) -> Contract:
    config = config or smoke_config()
    networks = random_networks(config)
    return make_contract(load(config.robot), config, networks.encoder.hidden_size, 7, "0" * 64)


class Scripted:
    """A policy whose action is a function of how often it was asked."""

    def __init__(self, action: Callable[[int], np.ndarray]) -> None:
        self._action = action
        self.resets = 0
        self.seen: list[tuple[np.ndarray, np.ndarray]] = []

    def reset(self) -> None:
        self.resets += 1

    def act(self, history: np.ndarray, depth: np.ndarray) -> np.ndarray:
        self.seen.append((history, depth))
        return self._action(len(self.seen) - 1)


def still(count: int) -> Scripted:
    """Zero actions: the default pose."""
    return Scripted(lambda _: np.zeros(count, np.float32))


class Bench:
    """A controller on the bench: healthy messages every millisecond, unless a test replaces them."""

    def __init__(self, contract: Contract, policy: Scripted | None = None, **config: object) -> None:
        self.contract = contract
        self.policy = policy or still(len(contract.joints))
        settings = replace(ControllerConfig(stand=StandConfig(seconds=0.15, stiffness=1.0)), **config)  # type: ignore[arg-type]
        self.controller = Controller(contract, Immediate(self.policy), settings)
        self.ticks = 0
        self.rng = np.random.default_rng(0)
        self.names = contract.joint_names
        self.position = np.array(contract.values("default"))
        self.image = np.full((contract.camera.rows, contract.camera.columns), 1.0, np.float32)
        self.frames = 0
        self.says: dict[str, bool] = {"joints": True, "imu": True, "depth": True}

    @property
    def now(self) -> float:
        return self.ticks * MILLISECOND

    def joints(self) -> JointState:
        noise = self.rng.uniform(-1e-4, 1e-4, len(self.names))
        place = {name: i for i, name in enumerate(self.contract.joint_names)}
        position = np.array([self.position[place[n]] if n in place else 0.0 for n in self.names])
        return JointState(Header(stamp(self.ticks), ""), self.names, position + noise, noise, noise)

    def imu(self) -> Imu:
        zero = np.zeros(9)
        return Imu(
            Header(stamp(self.ticks), ""),
            Quaternion(),
            zero,
            Vector3(0.1, 0.2, 0.3 + self.rng.uniform(-1e-3, 1e-3)),
            zero,
            Vector3(),
            zero,
        )

    def tick(self, count: int = 1) -> JointTargets:
        for _ in range(count):
            if self.says["joints"]:
                self.controller.hear_joints(self.now, self.joints())
            if self.says["imu"]:
                self.controller.hear_imu(self.now, self.imu())
            if self.says["depth"] and self.ticks % 33 == 0:
                self.frames += 1
                self.controller.hear_depth(self.now, self.frames, self.image * self.frames)
            targets = self.controller.tick(self.now, self.ticks)
            self.ticks += 1
        return targets

    def walk(self) -> Bench:
        """Idle → stand → walk, as an operator would do it."""
        self.tick(5)
        assert self.controller.request(self.now, "stand") == ""
        self.tick(round(1000 * self.controller.config.stand.seconds) + 10)
        assert self.controller.request(self.now, "walk") == ""
        self.tick(100)
        assert self.controller.phase is Phase.WALK, self.controller.reason
        return self


class Suspended:
    """A simulated robot under a controller without a camera."""

    def __init__(self, robot: RobotSpec, tile: Tile, controller: Controller, gantry: GantryConfig) -> None:
        self.robot = SimulatedRobot(robot, tile, gantry=gantry)
        self.controller, self.ticks = controller, 0

    @property
    def now(self) -> float:
        return self.ticks * MILLISECOND

    def tick(self, count: int) -> None:
        for _ in range(count):
            self.controller.hear_joints(self.now, joint_message(self.robot, self.ticks))
            self.controller.hear_imu(self.now, imu_message(self.robot, self.ticks))
            t = self.controller.tick(self.now, self.ticks)
            names = self.controller.contract.joint_names
            self.robot.motors.command(self.now, names, t.position, t.stiffness, t.damping)
            self.robot.step()
            self.ticks += 1
