"""`Moment`: everything the reward rows read of one control step."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numba import njit

from ssr.physics.readout import Reading
from ssr.task.config import TaskConfig
from ssr.task.frames import into_yaw
from ssr.task.gait import Gait


class Moment(NamedTuple):
    """What the rows read. n worlds, J joints, right foot before left."""

    velocity: np.ndarray  #: (n, 2) base velocity, yaw-aligned base frame
    angular_velocity: np.ndarray  #: (n, 3) base frame
    gravity: np.ndarray  #: (n, 3) projected gravity
    command: np.ndarray  #: (n, 3) u
    standing: np.ndarray  #: (n,) bool, ‖u‖ ≤ ε
    base_height: np.ndarray  #: (n,) h_b, in the paper's base frame
    action: np.ndarray  #: (n, J) a_t
    previous_action: np.ndarray  #: (n, J) a_{t-1}
    earlier_action: np.ndarray  #: (n, J) a_{t-2}
    joint_position: np.ndarray  #: (n, J)
    joint_velocity: np.ndarray  #: (n, J)
    torque: np.ndarray  #: (n, J) computed, before clamping
    contact: np.ndarray  #: (n, 2) bool
    first_contact: np.ndarray  #: (n, 2) bool
    air_time: np.ndarray  #: (n, 2) s, of the swing that just ended
    foot_velocity: np.ndarray  #: (n, 2, 3) world axes
    falling_speed: np.ndarray  #: (n, 2) vertical foot velocity one step earlier
    foot_force: np.ndarray  #: (n, 2, 3)
    foot_distance: np.ndarray  #: (n,) d_y, left foot to the left of the right one, yaw-aligned base frame
    recent_single_support: np.ndarray  #: (n,) bool, one foot alone within the last 0.2 s


def moment_of(
    state: Reading,
    gait: Gait,
    command: np.ndarray,
    actions: np.ndarray,
    target: np.ndarray,
    gains: np.ndarray,
    config: TaskConfig,
    base_height_offset: float,
) -> Moment:
    """actions (n, ≥3, J), newest first; target (n, J) rad and gains (2, n, J), kp and kd, of PD control."""
    n = len(command)
    velocity, distance = np.empty((n, 2), np.float32), np.empty(n, np.float32)
    standing, torque = np.empty(n, np.bool_), np.empty((n, actions.shape[2]), np.float32)
    position, speed = state.joint_position, state.joint_velocity
    _in_heading(state.yaw, state.base_velocity, state.sole_position, velocity, distance)
    _at_rest(command, config.commands.zero_threshold, standing)
    _computed_torque(gains[0], gains[1], target, position, speed, torque)
    window = config.control_steps(config.rewards.single_support_window)
    return Moment(
        velocity=velocity,
        angular_velocity=state.base_angular_velocity,
        gravity=state.gravity,
        command=command,
        standing=standing,
        base_height=gait.base_height.numpy() + np.float32(base_height_offset),
        action=actions[:, 0],
        previous_action=actions[:, 1],
        earlier_action=actions[:, 2],
        joint_position=position,
        joint_velocity=speed,
        torque=torque,
        contact=gait.contact.numpy(),
        first_contact=gait.first_contact.numpy(),
        air_time=gait.landed_air_steps.numpy() * config.control_period,
        foot_velocity=state.foot_velocity,
        falling_speed=gait.falling_speed.numpy(),
        foot_force=state.foot_force,
        foot_distance=distance,
        recent_single_support=gait.since_single_support.numpy() <= window,
    )


@njit(cache=True, nogil=True)
def _in_heading(yaw, base_velocity, sole, velocity, distance):
    """What the yaw-aligned base frame shows: the base's velocity, and how far left the left foot is."""
    for i in range(len(yaw)):
        velocity[i] = into_yaw(yaw[i], base_velocity[i, 0], base_velocity[i, 1])
        apart = into_yaw(yaw[i], sole[i, 1, 0] - sole[i, 0, 0], sole[i, 1, 1] - sole[i, 0, 1])
        distance[i] = apart[1]


@njit(cache=True, nogil=True)
def _at_rest(command, threshold, standing):
    for i in range(len(command)):
        x, y, turn = command[i, 0], command[i, 1], command[i, 2]
        standing[i] = sqrt(x * x + y * y + turn * turn) <= threshold


@njit(cache=True, nogil=True)
def _computed_torque(kp, kd, target, position, velocity, torque):
    for i in range(len(torque)):
        for j in range(torque.shape[1]):
            torque[i, j] = kp[i, j] * (target[i, j] - position[i, j]) - kd[i, j] * velocity[i, j]
