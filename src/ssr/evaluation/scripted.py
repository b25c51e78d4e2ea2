"""Policies without learning, to test the evaluator itself: one stands, one falls, one marches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import pi, sin

import torch
from torch import Tensor

from ssr.learning.algorithm import Actor
from ssr.robots.spec import RobotSpec
from ssr.task.config import RandomizationConfig, TaskConfig
from ssr.task.transition import Observation

STIFFNESS = 5.0  #: times the gains of Table 14, with which X2 topples when left alone


def stiff_task() -> TaskConfig:
    """Stiff joints; neither payload nor pushes, which only a balancing policy survives."""
    calm = RandomizationConfig(
        gains=(STIFFNESS, STIFFNESS),
        added_mass=(0.0, 0.0),
        base_com=(-0.02, 0.02),
        motor_strength=(1.0, 1.0),
        push_velocity=(0.0, 0.0),
    )
    return replace(TaskConfig(), randomization=calm)


class Pose:
    """Holds joint angles given as offsets (rad) from the default pose, by role (`hip_pitch`)."""

    def __init__(self, robot: RobotSpec, period: float, offsets: dict[str, float]) -> None:
        rows = [offsets.get(joint.role, 0.0) / joint.action_scale for joint in robot.joints]
        self.action = torch.tensor(rows, dtype=torch.float32)

    def begin(self, worlds: int) -> None:
        self.worlds = worlds

    def act(self, observation: Observation) -> Tensor:
        return self.action.repeat(self.worlds, 1)


class Stepper:
    """Marches on the spot, open loop: the legs shorten in turn, without looking at anything."""

    FREQUENCY = 2.5  #: strides per second
    LIFT = 0.2  #: rad of hip pitch at the top of a swing
    SWAY = 0.05  #: rad of hip roll at the top of a swing

    def __init__(self, robot: RobotSpec, period: float) -> None:
        self.period = period
        self.scale = torch.tensor(robot.values("action_scale"), dtype=torch.float32)
        self.joints = {(j.role, j.name.startswith("left")): i for i, j in enumerate(robot.joints)}

    def begin(self, worlds: int) -> None:
        self.worlds, self.step = worlds, 0

    def act(self, observation: Observation) -> Tensor:
        phase = 2 * pi * self.FREQUENCY * self.step * self.period
        self.step += 1
        offsets = torch.zeros(len(self.scale))
        for left in (False, True):
            lift = self.LIFT * max(0.0, sin(phase + (pi if left else 0.0)))
            offsets[self.joints["hip_pitch", left]] -= lift
            offsets[self.joints["knee", left]] += 2 * lift
            offsets[self.joints["ankle_pitch", left]] -= lift
            offsets[self.joints["hip_roll", left]] -= self.SWAY * sin(phase)
            offsets[self.joints["ankle_roll", left]] += self.SWAY * sin(phase)
        return (offsets / self.scale).repeat(self.worlds, 1)


@dataclass(frozen=True, kw_only=True)
class Script:
    actor: Callable[[RobotSpec, float], Actor]
    task: TaskConfig = field(default_factory=stiff_task)


SCRIPTED: dict[str, Script] = {
    "stand": Script(actor=lambda robot, period: Pose(robot, period, {})),
    "fall": Script(actor=lambda robot, period: Pose(robot, period, {"ankle_pitch": 0.6, "hip_pitch": 0.4})),
    "stepper": Script(actor=Stepper),
}
