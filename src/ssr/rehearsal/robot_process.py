"""The simulated robot as a process of its own, behind the topics of a real one."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np

from ssr.deployment.depth_messages import image_message
from ssr.deployment.messages import Image, Imu, JointCommand, JointState, String
from ssr.deployment.realtime import Beat, claim_priority, come_first
from ssr.deployment.topics import Network, Writer
from ssr.rehearsal.config import RobotProcessConfig
from ssr.rehearsal.faults import Fault
from ssr.rehearsal.operator import TRUTH
from ssr.rehearsal.sensor_messages import imu_message, joint_message
from ssr.rehearsal.simulated_camera import SimulatedCamera
from ssr.rehearsal.simulated_robot import STEP, SimulatedRobot
from ssr.rehearsal.training import Training
from ssr.rehearsal.trial import fall
from ssr.robots.spec import RobotSpec
from ssr.terrain.tile import Tile

TRUTH_STEPS = 20
WATCHED_STEPS = 40  #: from one picture for an onlooker to the next
PRIORITY = 45  #: above the controller's: a real robot does not wait for anybody
MOST_CATCHING_UP = 20  #: milliseconds of physics done at once after a delay


class Onlooker(Protocol):
    """Somebody who watches, and must not keep the robot waiting."""

    def show(
        self, now: float, position: np.ndarray, quaternion: np.ndarray, *, hanging: bool, fallen: bool
    ) -> None:
        """All links (L, 3) and (L, 4) at `now` s, in the tile's frame."""
        ...


class RobotProcess:
    def __init__(
        self,
        robot: RobotSpec,
        tile: Tile,
        config: RobotProcessConfig,
        training: Training,
        say: Callable[[str], None] = print,
        onlooker: Onlooker | None = None,
    ) -> None:
        self.config, self.say, self._onlooker = config, say, onlooker
        self.robot = SimulatedRobot(robot, tile, seed=config.seed, gantry=config.gantry)
        self._tile, self._fault = tile, Fault(config.fault, config.seed)
        camera = SimulatedCamera(robot, tile, training.camera, seed=config.seed)
        camera.of(self.robot)  # compiled before the clock starts
        self._notice = claim_priority(PRIORITY) if config.realtime else ""
        network, names = Network(config.network), config.topics
        self._commands = network.reader(names.joint_commands, JointCommand)
        self._joints = network.writer(names.joint_states, JointState)
        self._imu = network.writer(names.imu, Imu)
        self._truth = network.writer(TRUTH, String)
        self._eye = _Eye(camera, network.writer(names.depth, Image), self._fault)
        self._running = True
        self._lag = 0  #: milliseconds of physics given up because the machine was too slow

    def run(self) -> None:
        for asked in (signal.SIGINT, signal.SIGTERM):
            signal.signal(asked, self._stop)
        if self._notice:
            self.say(self._notice)
        c = self.config
        self.say(
            f"{self.robot.robot.name} on {self._tile.kind}, domain {c.network.domain}, gantry {c.gantry.mode}"
        )
        frame_steps = max(1, round(1.0 / (c.camera_hz * STEP)))
        self._eye.start()
        come_first(PRIORITY)
        beat, end = Beat(STEP), c.seconds
        done = step = 0
        while self._running and (end is None or step * STEP < end):
            number = beat.wait()
            self._obey()
            owed = min(number + 1 - done, MOST_CATCHING_UP)
            self._lag += number + 1 - done - owed
            done = number + 1
            for _ in range(owed):
                self.robot.step()
                step += 1
                self._report(step * STEP)
                if step % frame_steps == 0:
                    self._eye.look(step * STEP, *self.robot.link_poses())
                if step % TRUTH_STEPS == 0:
                    self._tell(step * STEP)
                if self._onlooker is not None and step % WATCHED_STEPS == 0:
                    self._let_see(self._onlooker, step * STEP)
        self._eye.close()
        self.say(f"{step * STEP:.1f} s simulated, {beat.mean_rate:.0f} Hz, {self._lag} ms given up")

    def _stop(self, number: int, frame: object) -> None:
        self._running = False

    def _obey(self) -> None:
        for m in self._commands.take()[-1:]:
            sizes = {len(x) for x in (m.position, m.stiffness, m.damping)}
            numbers = np.concatenate([m.position, m.stiffness, m.damping, m.velocity, m.effort])
            if sizes == {len(m.name)} and np.isfinite(numbers).all():
                self.robot.motors.command(
                    self.robot.time, m.name, m.position, m.stiffness, m.damping, m.velocity, m.effort
                )

    def _report(self, now: float) -> None:
        stamp = time.time_ns()
        if joints := self._fault.joints(now, joint_message(self.robot, stamp)):
            self._joints.write(joints)
        if imu := self._fault.imu(now, imu_message(self.robot, stamp)):
            self._imu.write(imu)

    def _tell(self, now: float) -> None:
        truth = self.robot.truth()
        content = {
            "time": round(now, 3),
            "position": [round(float(v), 4) for v in truth.position],
            "yaw": round(truth.yaw, 4),
            "hanging": truth.hanging,
            "fall": None if truth.hanging else fall(truth, self._tile),
            "lag_ms": self._lag,
        }
        self._truth.write(String(json.dumps(content)))

    def _let_see(self, onlooker: Onlooker, now: float) -> None:
        truth = self.robot.truth()
        fallen = not truth.hanging and fall(truth, self._tile) is not None
        onlooker.show(now, *self.robot.link_poses(), hanging=truth.hanging, fallen=fallen)


class _Eye:
    """Renders beside the physics; if it falls behind, frames are skipped, as a camera would."""

    def __init__(self, camera: SimulatedCamera, writer: Writer[Image], fault: Fault) -> None:
        self._camera, self._writer, self._fault = camera, writer, fault
        self._poses: deque[tuple[float, int, np.ndarray, np.ndarray]] = deque(maxlen=1)
        self._wake, self._stop = threading.Event(), False
        self._thread = threading.Thread(target=self._work, name="eye", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def look(self, now: float, position: np.ndarray, quaternion: np.ndarray) -> None:
        self._poses.append((now, time.time_ns(), position, quaternion))
        self._wake.set()

    def close(self) -> None:
        self._stop = True
        self._wake.set()
        self._thread.join(timeout=2.0)

    def _work(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._stop:
                return
            while self._poses:
                now, stamp, position, quaternion = self._poses.popleft()
                message = image_message(self._camera.image(position, quaternion), stamp)
                if sent := self._fault.depth(now, message):
                    self._writer.write(sent)
