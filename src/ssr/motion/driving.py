"""What a robot's motors must be told to do a clip: joint targets by inverse dynamics.

A joint that is told where to be in a moment lags behind; these tell what its accelerations and the weight of
what hangs on it ask for as well. The ground has no part in it: they are for what moves freely, legs in the
air, waist and arms. How hard a leg that bears the robot must push is for whoever keeps its balance to find.
"""

from __future__ import annotations

import mujoco
import numpy as np

from ssr.motion.clip import Clip, derivative
from ssr.motion.kinematics import Kinematics
from ssr.robots.spec import RobotSpec


class Driver:
    """Turns clips of one robot into targets for its joints."""

    def __init__(self, robot: RobotSpec) -> None:
        self.robot, self.kinematics = robot, Kinematics(robot)
        self.model = self.kinematics.model
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        joints = [self.model.joint(name) for name in robot.joint_names]
        self.degrees = np.array([joint.dofadr[0] for joint in joints])

    def targets(self, clip: Clip) -> np.ndarray:
        """(T, J) rad: told these, with the gains of the robot as built, its joints do the clip."""
        kp, kd, most = (self.robot.values(name) for name in ("kp", "kd", "max_torque"))
        torque = np.clip(self.torques(clip), -most, most)
        return clip.joint_position + (torque + kd * clip.joint_velocity()) / kp

    def torques(self, clip: Clip) -> np.ndarray:
        """(T, J) N m, nothing touching the robot."""
        where = self.kinematics.configurations(clip.base_position, clip.base_quaternion, clip.joint_position)
        velocity = np.zeros((clip.frames, self.model.nv))
        velocity[:, :3] = derivative(clip.base_position)
        velocity[:, 3:6] = clip.angular_velocity()
        velocity[:, self.degrees] = clip.joint_velocity()
        acceleration = derivative(velocity)
        data = mujoco.MjData(self.model)
        torque = np.empty((clip.frames, len(self.degrees)))
        for t in range(clip.frames):
            data.qpos[:], data.qvel[:], data.qacc[:] = where[t], velocity[t], acceleration[t]
            mujoco.mj_inverse(self.model, data)
            torque[t] = data.qfrc_inverse[self.degrees]
        return torque
