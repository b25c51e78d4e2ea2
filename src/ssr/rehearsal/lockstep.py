"""Controller and simulated robot in one process: no clock, no network, every trial repeatable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ssr.deployment.config import ControllerConfig
from ssr.deployment.contract import CameraContract
from ssr.deployment.controller import Controller, Phase
from ssr.deployment.depth_messages import as_image, image_message
from ssr.deployment.depth_pipeline import DepthPipeline, ImageSource
from ssr.deployment.exported import Exported
from ssr.deployment.freshness import Freshness
from ssr.deployment.gate import Gate
from ssr.deployment.messages import Twist, Vector3, nanoseconds
from ssr.deployment.onnx_policy import OnnxPolicy
from ssr.deployment.thinking import Immediate
from ssr.rehearsal import luck
from ssr.rehearsal.config import GantryConfig, TrialConfig
from ssr.rehearsal.faults import Fault
from ssr.rehearsal.sensor_messages import imu_message, joint_message
from ssr.rehearsal.simulated_camera import SimulatedCamera
from ssr.rehearsal.simulated_robot import STEP, SimulatedRobot
from ssr.rehearsal.training import Training
from ssr.rehearsal.trial import Outcome, fall, outcome, steer
from ssr.robots.spec import RobotSpec
from ssr.task import starts
from ssr.terrain.tile import Tile


class Eye:
    """The camera pipeline behind the simulated camera."""

    def __init__(self, camera: CameraContract) -> None:
        self._source, self._pipeline = ImageSource(camera), DepthPipeline(camera)
        self.freshness = Freshness()

    def see(self, image: np.ndarray) -> np.ndarray:
        return self._pipeline.process(self._source.frame(image))


class Lockstep:
    """One trial in the making; `tick` is one millisecond of robot and controller."""

    def __init__(
        self,
        exported: Exported,
        training: Training,
        robot: RobotSpec,
        tile: Tile,
        *,
        seed: int = 0,
        config: ControllerConfig | None = None,
        gantry: GantryConfig | None = None,
        fault: Fault | None = None,
        randomize: bool = False,
    ) -> None:
        self.tile, self.contract, self.training = tile, exported.contract, training
        self.robot = SimulatedRobot(
            robot,
            tile,
            seed=seed,
            gantry=gantry or GantryConfig(mode="none"),
            noise=luck.sensor_noise(training.task.noise) if randomize else None,
        )
        self.luck = None
        if randomize:
            self.luck = luck.draw(training, self.robot.model.nbody - 1, len(robot.joints), seed)
            luck.apply(self.robot, self.luck)
            self._pusher = luck.Pusher(self.luck, self.robot.rng)
        offsets = self.luck.camera if self.luck else None
        self.camera = SimulatedCamera(robot, tile, training.camera, offsets, seed=seed)
        self.eye = Eye(self.contract.camera)
        self.controller = Controller(self.contract, Immediate(OnnxPolicy(exported)), config)
        self.gate = Gate(self.contract)
        self.fault = fault or Fault()
        self.ticks = 0
        self._frame_ticks = self.contract.commands_per_action * self.contract.camera.period

    @property
    def now(self) -> float:
        return self.ticks * STEP

    def scatter(self) -> None:
        """Start as an episode of training does: joints, heading and place a little off."""
        rng, model = self.robot.rng, self.robot.robot
        noise = rng.uniform(-starts.JOINT_NOISE, starts.JOINT_NOISE, len(model.joints))
        joints = np.clip(model.values("default") + noise, model.values("lower"), model.values("upper"))
        yaw = float(rng.uniform(-starts.YAW_NOISE, starts.YAW_NOISE))
        position = self.robot.data.qpos[:3].copy()
        position[1] += self.luck.lateral if self.luck else 0.0
        self.robot.place(position, joints, yaw)
        self.robot.motors.hold(self.robot.time)
        self.gate = Gate(self.contract, holding=True)

    def listen(self) -> None:
        """The robot's messages reach the controller, unless a fault is in the way."""
        now, stamp = self.now, round(self.now * 1e9)
        if joints := self.fault.joints(now, joint_message(self.robot, stamp)):
            self.controller.hear_joints(now, joints)
        if imu := self.fault.imu(now, imu_message(self.robot, stamp)):
            self.controller.hear_imu(now, imu)
        if self.ticks % self._frame_ticks == 0:
            message = self.fault.depth(now, image_message(self.camera.of(self.robot), stamp))
            image = None if message is None else as_image(message, self.contract.camera)
            if message is not None and image is not None and self.eye.freshness.is_new(image):
                self.controller.hear_depth(now, nanoseconds(message.header.stamp), self.eye.see(image))

    def steer(self, speed: float) -> None:
        truth = self.robot.truth()
        forward, left, turn = steer(truth.yaw, float(truth.position[1]), speed)
        self.controller.hear_velocity(self.now, Twist(Vector3(forward, left, 0.0), Vector3(0.0, 0.0, turn)))

    def tick(self) -> None:
        self.listen()
        targets, refused = self.gate.passed(self.controller.tick(self.now, self.ticks))
        if refused:
            self.controller.stop(refused)
        names = self.contract.joint_names
        self.robot.motors.command(
            self.robot.time, names, targets.position, targets.stiffness, targets.damping
        )
        if self.luck:
            self._pusher.act(self.robot)
        self.robot.step()
        self.ticks += 1


def run_trial(
    exported: Exported,
    training: Training,
    robot: RobotSpec,
    tile: Tile,
    trial: TrialConfig,
    *,
    seed: int,
    config: ControllerConfig | None = None,
    randomize: bool = False,
    watch: Callable[[Lockstep], None] | None = None,
) -> Outcome:
    """A trial that starts as training's episodes do: on the ground, the policy acting from the first step."""
    world = Lockstep(exported, training, robot, tile, seed=seed, config=config, randomize=randomize)
    world.scatter()
    world.listen()
    world.controller.begin_walk()
    start = world.robot.truth().position[0]
    per = exported.contract.commands_per_action
    ending = None
    while ending is None and world.now < trial.seconds:
        if world.ticks % per == 0:
            world.steer(trial.speed)
        world.tick()
        if world.ticks % per == 0:
            if watch is not None:
                watch(world)
            ending = fall(world.robot.truth(), tile)
            if ending is None and world.controller.phase is Phase.DAMP:
                ending = f"damped: {world.controller.reason}"
    return outcome(trial, world.now, float(world.robot.truth().position[0] - start), ending)
