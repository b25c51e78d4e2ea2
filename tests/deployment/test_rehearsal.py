"""The rehearsal repeats what the run itself was trained with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import stand_ins

from ssr.learning.run_directory import RunDirectory
from ssr.rehearsal import luck
from ssr.rehearsal.simulated_robot import SimulatedRobot
from ssr.rehearsal.training import Training
from ssr.rehearsal.trial import fall, steer, strip
from ssr.robots import load
from ssr.task import starts


@pytest.fixture()
def training(tmp_path: Path) -> Training:
    """Of a run whose task differs from the paper's in whatever a rehearsal repeats."""
    config = stand_ins.smoke_config()
    task = replace(
        config.task,
        control_period=0.025,
        noise=2.0,
        randomization=replace(
            config.task.randomization,
            action_delay=(3, 3),
            delays_in_turn=(),
            added_mass=(4.0, 4.0),
            push_velocity=(-0.9, 0.9),
        ),
    )
    camera = replace(config.camera, randomization=0.0)
    RunDirectory.create(tmp_path / "run", replace(config, task=task, camera=camera))
    return Training.of(tmp_path / "run")


def test_the_robot_is_as_different_as_in_the_runs_own_training(training: Training) -> None:
    drawn = luck.draw(training, bodies=20, joints=21, seed=3)
    assert drawn.delay == pytest.approx(3 * 0.025)
    assert float(drawn.dynamics.base_added_mass[0]) == 4.0
    assert drawn.push == 0.9 and abs(drawn.lateral) <= starts.LATERAL
    assert not any(error.any() for error in vars(drawn.camera).values())
    noise = luck.sensor_noise(training.task.noise)
    assert (noise.joint_position, noise.tilt) == (0.02, 0.07)


def test_the_operator_turns_back_to_the_way_and_no_faster_than_in_training() -> None:
    assert steer(0.1, 0.0, 1.0)[2] == pytest.approx(-0.05)
    assert steer(3.0, 0.0, 1.0)[2] == pytest.approx(-1.0)


def test_a_robot_has_fallen_when_training_would_say_so() -> None:
    tile = strip("flat")
    robot = SimulatedRobot(load("x2"), tile)
    upright = robot.truth()
    rolled = lambda angle: replace(
        upright, quaternion=np.array([np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0])
    )
    assert fall(upright, tile) is None and fall(rolled(0.9), tile) is None
    assert fall(rolled(1.05), tile) == "fell over"
