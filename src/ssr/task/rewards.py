"""Table 6(a): each function is one row for one world, unweighted. N is the number of policy joints.

A row is called as row(m, limits, c, i): the moment, the robot's numbers, the table's parameters, the world.
It is written for two compilers, see `ssr.per_world`.
A new one is a function here and a weight of its name in `RewardConfig`, or in `BootstrapConfig` if it is to
fade out. `ssr.task.row_kernel` runs all of them together.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, hypot
from typing import NamedTuple

import numpy as np

from ssr.per_world import compiled, square
from ssr.robots.spec import RobotSpec

IMITATION_SPREAD = 0.04  #: rad², mean squared distance at which following the reference pays 1/e
ARM = 0.5  #: m; a turn of 1 rad/s counts as much as so many m/s
#: Times what is asked for may be lost at once, so that to drift and snap back pays nothing.
BACKWARD = 4.0
#: Times what is asked for, from which on doing more takes off what was paid: nothing pays for hurry.
HURRIED = 1.2
LEAST_ASKED = 0.07  #: m/s; where less is asked for nobody gets ahead
SHUFFLE = 0.1  #: s; a foot that was in the air for less has not made a step


class Limits(NamedTuple):
    """The robot's numbers the rows compare with, (J,) float32 each."""

    default_position: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    max_velocity: np.ndarray
    max_torque: np.ndarray
    base_height_target: float
    min_foot_distance: float


def limits_of(robot: RobotSpec) -> Limits:
    per_joint = ("lower", "upper", "max_velocity", "max_torque")
    values = lambda name: np.array(robot.values(name), dtype=np.float32)
    return Limits(
        default_position=values("default"),
        **{name: values(name) for name in per_joint},
        base_height_target=robot.base_height_target,
        min_foot_distance=robot.min_foot_distance,
    )


class Parameters(NamedTuple):
    """The symbols of Table 7 that the rows use."""

    sigma_velocity: float  #: σ_v
    sigma_angular: float  #: σ_ω
    sigma_gravity: float  #: σ_g
    sigma_height: float  #: σ_h
    sigma_distance: float  #: σ_d
    air_time_target: float  #: s


TABLE_7 = Parameters(
    sigma_velocity=0.25,
    sigma_angular=0.25,
    sigma_gravity=0.01,
    sigma_height=0.01,
    sigma_distance=0.03,
    air_time_target=0.4,
)


ROWS: dict[str, Callable[..., float]] = {}  #: every row by name, in the order they are written in


def row(function: Callable[..., float]) -> Callable[..., float]:
    """Compile a function and enter it among `ROWS`."""
    ROWS[function.__name__] = compiled(function)
    return ROWS[function.__name__]


@compiled
def joints(m):
    return m.action.shape[1]


@row
def linear_velocity_tracking(m, limits, c, i):
    x, y = m.velocity[i, 0] - m.command[i, 0], m.velocity[i, 1] - m.command[i, 1]
    return exp(-(x * x + y * y) / c.sigma_velocity)


@row
def angular_velocity_tracking(m, limits, c, i):
    return exp(-square(m.angular_velocity[i, 2] - m.command[i, 2]) / c.sigma_angular)


@row
def orientation(m, limits, c, i):
    return exp(-(square(m.gravity[i, 0]) + square(m.gravity[i, 1])) / c.sigma_gravity)


@row
def angular_velocity_xy(m, limits, c, i):
    x, y = square(m.angular_velocity[i, 0]), square(m.angular_velocity[i, 1])
    return exp(-(x + y) / c.sigma_angular)


@row
def base_height(m, limits, c, i):
    return exp(-square(m.base_height[i] - limits.base_height_target) / c.sigma_height)


@row
def action_rate(m, limits, c, i):
    total = float(0.0)
    for j in range(joints(m)):
        total += square(m.action[i, j] - m.previous_action[i, j])
    return total / float(joints(m))


@row
def smoothness(m, limits, c, i):
    total = float(0.0)
    for j in range(joints(m)):
        total += square(m.action[i, j] - 2.0 * m.previous_action[i, j] + m.earlier_action[i, j])
    return total / float(joints(m))


@row
def dof_velocity(m, limits, c, i):
    total = float(0.0)
    for j in range(joints(m)):
        total += square(m.joint_velocity[i, j] / limits.max_velocity[j])
    return total / float(joints(m))


@row
def dof_torque(m, limits, c, i):
    total = float(0.0)
    for j in range(joints(m)):
        total += square(m.torque[i, j] / limits.max_torque[j])
    return total / float(joints(m))


@row
def dof_deviation(m, limits, c, i):
    total = float(0.0)
    for j in range(joints(m)):
        total += abs(m.joint_position[i, j] - limits.default_position[j])
    return total / float(joints(m))


@row
def dof_position_limits(m, limits, c, i):
    outside = int(0)
    for j in range(joints(m)):
        if not (limits.lower[j] <= m.joint_position[i, j] and m.joint_position[i, j] <= limits.upper[j]):
            outside += 1
    return float(outside) / float(joints(m))


@row
def dof_velocity_limits(m, limits, c, i):
    outside = int(0)
    for j in range(joints(m)):
        if abs(m.joint_velocity[i, j]) > limits.max_velocity[j]:
            outside += 1
    return float(outside) / float(joints(m))


@row
def dof_torque_limits(m, limits, c, i):
    outside = int(0)
    for j in range(joints(m)):
        if abs(m.torque[i, j]) > limits.max_torque[j]:
            outside += 1
    return float(outside) / float(joints(m))


@row
def stand_still(m, limits, c, i):
    return dof_deviation(m, limits, c, i) if m.standing[i] else 0.0


@row
def single_support(m, limits, c, i):
    return 1.0 if m.standing[i] or m.recent_single_support[i] else 0.0


@row
def impact_velocity(m, limits, c, i):
    """The vertical speed one step before: once in contact a foot hardly moves."""
    total = float(0.0)
    for s in range(2):
        if m.contact[i, s]:
            total += square(m.falling_speed[i, s])
    return total


@row
def contact_slippage(m, limits, c, i):
    total = float(0.0)
    for s in range(2):
        if m.contact[i, s]:
            total += square(m.foot_velocity[i, s, 0]) + square(m.foot_velocity[i, s, 1])
    return total


@row
def feet_air_time(m, limits, c, i):
    """Signed as printed: swings beyond the target cost."""
    late = float(0.0)
    for s in range(2):
        if m.first_contact[i, s]:
            late += max(m.air_time[i, s] - c.air_time_target, 0.0)
    return late


@row
def feet_stumble(m, limits, c, i):
    sideways = float(0.0)
    for s in range(2):
        force = m.foot_force[i, s]
        if hypot(force[0], force[1]) > 3.0 * abs(force[2]):
            sideways += 1.0
    return sideways


@row
def feet_lateral_distance(m, limits, c, i):
    return exp(min(m.foot_distance[i] - limits.min_foot_distance, 0.0) / c.sigma_distance)


@row
def progress(m, limits, c, i):
    """How much of the command is done, each of its three parts no more than what is asked for and counted by
    its square, turns by `ARM`; nothing where standing is asked for. Who hurries has done less."""
    done = float(0.0)
    asked = float(0.0)
    for axis in range(3):
        part = m.command[i, axis]
        made = m.velocity[i, axis] if axis < 2 else m.angular_velocity[i, axis]
        counts = square(ARM * part) if axis == 2 else square(part)
        asked += counts
        if part != 0.0:
            times = made / part
            done += counts * max(min(times, min(1.0, 1.0 + HURRIED - times)), -BACKWARD)
    return done / asked if asked > square(LEAST_ASKED) else 0.0


@row
def stepping(m, limits, c, i):
    """Air time beyond a shuffle, up to the target, of swings that just ended while walking is asked for."""
    total = float(0.0)
    for s in range(2):
        # An episode's first contact ends no swing.
        if m.first_contact[i, s] and m.air_time[i, s] > 0.0 and not m.standing[i]:
            total += max(min(m.air_time[i, s], c.air_time_target) - SHUFFLE, 0.0)
    return total


@row
def imitation(m, limits, c, i):
    """How near the joints are to the reference motion that is followed, as far as the robot gets ahead."""
    total = float(0.0)
    for j in range(joints(m)):
        total += square(m.joint_position[i, j] - m.reference_position[i, j])
    near = exp(-total / float(joints(m)) / IMITATION_SPREAD)
    return near if m.standing[i] else near * max(progress(m, limits, c, i), 0.0)
