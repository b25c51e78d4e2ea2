"""A robot that is a little different each time: the randomization of training (Table 10), for one robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ssr.physics.simulator import Dynamics
from ssr.physics.world import randomize
from ssr.rehearsal.simulated_robot import SensorNoise, SimulatedRobot
from ssr.rehearsal.training import Training
from ssr.task import starts
from ssr.task.observations import NOISE
from ssr.task.randomization import PUSH_INTERVAL, draw_dynamics
from ssr.vision.camera import error_widths
from ssr.vision.mounting import CameraOffsets


@dataclass(frozen=True, kw_only=True)
class Luck:
    dynamics: Dynamics  #: of one robot
    delay: float  #: s from command to action
    camera: CameraOffsets  #: of one camera
    first_push: float  #: s
    push: float  #: m/s, most on each axis
    lateral: float  #: m from the middle of the strip, at the start


def draw(training: Training, bodies: int, joints: int, seed: int) -> Luck:
    """Training's ranges at their full width."""
    task, camera = training.task, training.camera
    luck = task.randomization
    generator = torch.Generator().manual_seed(seed)
    dynamics = draw_dynamics(1, bodies, joints, luck, 1.0, generator)
    rng = np.random.default_rng(seed)
    spread = lambda half, size: torch.from_numpy(rng.uniform(-half, half, (1, size))).float()
    position, turn, field_of_view = error_widths(camera.randomization)
    return Luck(
        dynamics=dynamics,
        delay=task.control_period * int(rng.integers(luck.action_delay[0], luck.action_delay[1] + 1)),
        camera=CameraOffsets(
            position=spread(position, 3), turn=spread(turn, 3), field_of_view=spread(field_of_view, 2)
        ),
        first_push=float(rng.uniform(0.0, PUSH_INTERVAL)),
        push=max(map(abs, luck.push_velocity)),
        lateral=float(rng.uniform(-starts.LATERAL, starts.LATERAL)),
    )


def sensor_noise(share: float) -> SensorNoise:
    """That of training, at this share of it."""
    width = {name: share * value for name, value in NOISE.items()}
    tilt = width.pop("gravity")
    return SensorNoise(**width, tilt=tilt)


def apply(robot: SimulatedRobot, luck: Luck) -> None:
    """Change the model of a robot that has not been changed before."""
    d = luck.dynamics
    array = lambda x: x[0].double().numpy()
    randomize(robot.model, d)
    strength = array(d.motor_strength)
    robot.motors.stiffness_scale = array(d.kp_scale) * strength
    robot.motors.damping_scale = array(d.kd_scale) * strength
    robot.motors.delay = luck.delay


class Pusher:
    """Shoves the robot now and then."""

    def __init__(self, luck: Luck, rng: np.random.Generator) -> None:
        self._luck, self._rng, self._next = luck, rng, luck.first_push

    def act(self, robot: SimulatedRobot) -> None:
        if robot.time >= self._next:
            self._next += PUSH_INTERVAL
            robot.push(*self._rng.uniform(-self._luck.push, self._luck.push, 2))
