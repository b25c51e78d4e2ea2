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


@pytest.fixture()
def training(tmp_path: Path) -> Training:
    """Of a run whose task differs from the paper's in whatever a rehearsal repeats."""
    config = stand_ins.smoke_config()
    task = replace(
        config.task,
        control_period=0.025,
        substeps=5,
        noise=replace(config.task.noise, joint_position=0.03, gravity=0.07),
        randomization=replace(
            config.task.randomization,
            action_delay=(3, 3),
            delays_in_turn=(),
            added_mass=(4.0, 4.0),
            push_interval=5.0,
            push_velocity=(-0.9, 0.9),
        ),
        termination=replace(config.task.termination, max_roll=0.1),
        commands=replace(config.task.commands, heading_gain=2.0, max_yaw_rate=0.3),
        start_lateral=0.0,
    )
    camera = replace(config.camera, position_range=0.0, orientation_range=0.0)
    RunDirectory.create(tmp_path / "run", replace(config, task=task, camera=camera))
    return Training.of(tmp_path / "run")


def test_the_robot_is_as_different_as_in_the_runs_own_training(training: Training) -> None:
    drawn = luck.draw(training, bodies=20, joints=21, seed=3)
    assert drawn.delay == pytest.approx(3 * 0.025)
    assert float(drawn.dynamics.base_added_mass[0]) == 4.0
    assert (drawn.push_interval, drawn.push, drawn.lateral) == (5.0, 0.9, 0.0)
    assert not drawn.camera.position.any() and not drawn.camera.turn.any()
    noise = luck.sensor_noise(training.task.noise)
    assert (noise.joint_position, noise.tilt) == (0.03, 0.07)


def test_the_operator_and_the_endings_are_the_runs_own(training: Training) -> None:
    commands, limits = training.task.commands, training.task.termination
    assert steer(0.1, 0.0, 1.0, commands)[2] == pytest.approx(-0.2)
    assert steer(1.0, 0.0, 1.0, commands)[2] == pytest.approx(-0.3)
    tile = strip("flat")
    robot = SimulatedRobot(load("x2"), tile)
    upright = robot.truth()
    rolled = replace(upright, quaternion=np.array([np.cos(0.1), np.sin(0.1), 0.0, 0.0]))  # 0.2 rad
    assert fall(upright, tile, limits) is None
    assert fall(rolled, tile, limits) == "fell over"
    assert fall(rolled, tile, replace(limits, max_roll=1.0)) is None
