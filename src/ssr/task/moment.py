"""`Moment`: everything the reward rows read of one control step."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import torch

from ssr.per_world import per_world
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
        command: Any,
        actions: Any,
        reference: Any,
        config: TaskConfig,
        base_height_offset: float,
    ) -> None:
        """command (n, 3); actions (n, ≥3, J), newest first; reference (n, J) rad. All of them are the owners'
        arrays, or a device's tensors."""
        n, clocks, given = len(command), gait.arrays, gait.given
        self.now = Moment(
            velocity=given(gait.full(n, 2)),
            angular_velocity=state.base_angular_velocity,
            gravity=state.gravity,
            command=command,
            standing=given(gait.full(n, dtype=torch.bool)),
            base_height=given(gait.full(n)),
            action=actions[:, 0],
            previous_action=actions[:, 1],
            earlier_action=actions[:, 2],
            joint_position=state.joint_position,
            joint_velocity=state.joint_velocity,
            torque=given(gait.full(n, actions.shape[2])),
            contact=clocks.contact,
            first_contact=clocks.first_contact,
            # Multiples of a period: the host has them exactly.
            air_time=given(gait.full(n, 2, dtype=torch.float64 if gait.device is None else torch.float32)),
            foot_velocity=state.foot_velocity,
            falling_speed=clocks.falling_speed,
            foot_force=state.foot_force,
            foot_distance=given(gait.full(n)),
            recent_single_support=given(gait.full(n, dtype=torch.bool)),
            reference_position=reference,
        )
        self._everywhere, self._state, self._clocks = gait.everywhere, state, clocks
        self._numbers = Numbers(
            base_height_offset=np.float32(base_height_offset),
            zero_threshold=ZERO_THRESHOLD,
            control_period=config.control_period,
            single_support_window=config.control_steps(SINGLE_SUPPORT_WINDOW),
        )

    def work_out(self, target: Any, gains: Any) -> Moment:
        """The moment after a step towards target (n, J) rad with PD gains (2, n, J), kp and kd."""
        work_out(
            self._everywhere, target, gains[0], gains[1], self._state, self._clocks, self._numbers, self.now
        )
        return self.now


@per_world(None, None, None, Reading, FootClocks, Numbers, Moment)
def work_out(target, kp, kd, now, feet, c, m, i, k):
    yaw = now.yaw[i]
    sole = now.sole_position[i]
    x = m.command[i, 0]
    y = m.command[i, 1]
    turn = m.command[i, 2]
    m.standing[i] = sqrt(x * x + y * y + turn * turn) <= c.zero_threshold
    ahead, aside = into_yaw(yaw, now.base_velocity[i, 0], now.base_velocity[i, 1])
    m.velocity[i, 0] = ahead
    m.velocity[i, 1] = aside
    ahead, aside = into_yaw(yaw, sole[1, 0] - sole[0, 0], sole[1, 1] - sole[0, 1])
    m.foot_distance[i] = aside
    m.base_height[i] = feet.base_height[i] + c.base_height_offset
    m.recent_single_support[i] = feet.since_single_support[i] <= c.single_support_window
    for s in range(2):
        m.air_time[i, s] = float(feet.landed_air_steps[i, s]) * c.control_period
    for j in range(target.shape[1]):
        error = target[i, j] - m.joint_position[i, j]
        m.torque[i, j] = kp[i, j] * error - kd[i, j] * m.joint_velocity[i, j]
