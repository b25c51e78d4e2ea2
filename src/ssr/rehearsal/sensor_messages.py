"""What the simulated robot senses, as the messages a real one sends."""

from __future__ import annotations

import numpy as np

from ssr.deployment.messages import Header, Imu, JointState, Quaternion, Vector3, stamp
from ssr.rehearsal.simulated_robot import SimulatedRobot

UNKNOWN = np.zeros(9)  #: covariances nobody knows


def joint_message(robot: SimulatedRobot, nanoseconds: int) -> JointState:
    position, velocity, torque = robot.joint_state()
    return JointState(Header(stamp(nanoseconds), ""), robot.joint_names, position, velocity, torque)


def imu_message(robot: SimulatedRobot, nanoseconds: int) -> Imu:
    (w, x, y, z), rate = robot.attitude()
    return Imu(
        Header(stamp(nanoseconds), robot.robot.base_link),
        Quaternion(x, y, z, w),
        UNKNOWN,
        Vector3(*rate),
        UNKNOWN,
        Vector3(),
        UNKNOWN,
    )
