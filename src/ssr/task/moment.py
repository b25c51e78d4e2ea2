"""`Moment`: everything the reward rows read of one control step."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numba import njit

from ssr.physics.readout import Reading
from ssr.task.commands import ZERO_THRESHOLD
from ssr.task.config import TaskConfig
from ssr.task.frames import into_yaw
from ssr.task.gait import FootClocks, Gait

SINGLE_SUPPORT_WINDOW = 0.2  #: s for which one foot alone on the ground counts as recent


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
    recent_single_support: np.ndarray  #: (n,) bool, one foot alone within `SINGLE_SUPPORT_WINDOW`
    reference_position: np.ndarray  #: (n, J) rad, of the reference motion that is followed


class Numbers(NamedTuple):
    """Settings that a moment depends on."""

    base_height_offset: np.float32  #: m, from the robot's base frame to the paper's
    zero_threshold: float  #: ε: a smaller ‖u‖ counts as standing
    control_period: float  #: s
    single_support_window: int  #: control steps


class Moments:
    """The moment of n worlds, in arrays that stay: most belong to others, the rest is worked out here."""

    def __init__(
        self,
        state: Reading,
        gait: Gait,
        command: np.ndarray,
        actions: np.ndarray,
        reference: np.ndarray,
        config: TaskConfig,
        base_height_offset: float,
    ) -> None:
        """actions (n, ≥3, J), newest first; reference (n, J) rad. All of them are the owners' arrays."""
        n, clocks = len(command), gait.arrays
        self.now = Moment(
            velocity=np.zeros((n, 2), np.float32),
            angular_velocity=state.base_angular_velocity,
            gravity=state.gravity,
            command=command,
            standing=np.zeros(n, np.bool_),
            base_height=np.zeros(n, np.float32),
            action=actions[:, 0],
            previous_action=actions[:, 1],
            earlier_action=actions[:, 2],
            joint_position=state.joint_position,
            joint_velocity=state.joint_velocity,
            torque=np.zeros((n, actions.shape[2]), np.float32),
            contact=clocks.contact,
            first_contact=clocks.first_contact,
            air_time=np.zeros((n, 2)),
            foot_velocity=state.foot_velocity,
            falling_speed=clocks.falling_speed,
            foot_force=state.foot_force,
            foot_distance=np.zeros(n, np.float32),
            recent_single_support=np.zeros(n, np.bool_),
            reference_position=reference,
        )
        self._state, self._clocks = state, clocks
        self._numbers = Numbers(
            base_height_offset=np.float32(base_height_offset),
            zero_threshold=ZERO_THRESHOLD,
            control_period=config.control_period,
            single_support_window=config.control_steps(SINGLE_SUPPORT_WINDOW),
        )

    def work_out(self, target: np.ndarray, gains: np.ndarray) -> Moment:
        """The moment after a step towards target (n, J) rad with PD gains (2, n, J), kp and kd."""
        _work_out(
            target, gains, tuple(self._state), tuple(self._clocks), tuple(self._numbers), tuple(self.now)
        )
        return self.now


@njit(cache=True, nogil=True)
def _work_out(target, gains, state, clocks, numbers, moment):
    now, feet, c, m = Reading(*state), FootClocks(*clocks), Numbers(*numbers), Moment(*moment)
    kp, kd, sole = gains[0], gains[1], now.sole_position
    for i in range(len(now.yaw)):
        yaw, x, y, turn = now.yaw[i], m.command[i, 0], m.command[i, 1], m.command[i, 2]
        m.standing[i] = sqrt(x * x + y * y + turn * turn) <= c.zero_threshold
        m.velocity[i] = into_yaw(yaw, now.base_velocity[i, 0], now.base_velocity[i, 1])
        apart = into_yaw(yaw, sole[i, 1, 0] - sole[i, 0, 0], sole[i, 1, 1] - sole[i, 0, 1])
        m.foot_distance[i] = apart[1]
        m.base_height[i] = feet.base_height[i] + c.base_height_offset
        m.recent_single_support[i] = feet.since_single_support[i] <= c.single_support_window
        for s in range(2):
            m.air_time[i, s] = feet.landed_air_steps[i, s] * c.control_period
        for j in range(target.shape[1]):
            error, speed = target[i, j] - m.joint_position[i, j], m.joint_velocity[i, j]
            m.torque[i, j] = kp[i, j] * error - kd[i, j] * speed
