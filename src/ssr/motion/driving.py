"""What a robot's motors must be told to do a clip: joint targets by inverse dynamics.

A joint that is told where to be in a moment lags behind, and a leg that bears the robot gives way. These tell
what accelerations, weight and the ground ask of it as well. The ground holds whichever soles stand, and may
pull on them: for a clip that is a walk it hardly has to. A walk that is found while legs in the air are
pulled to such targets makes 2.2 steps/s, pulled to positions 2.6 to 2.9 (docs/training-log.md).
"""

from __future__ import annotations

import mujoco
import numpy as np

from ssr import rotation
from ssr.motion import ground
from ssr.motion.clip import Clip, derivative
from ssr.motion.kinematics import Kinematics, Trajectories
from ssr.motion.limbs import SIDES
from ssr.robots.spec import RobotSpec

NEAR = 0.01  #: m over the ground at which a sole bears 1/e of what it could
STILL = 0.3  #: m/s of its lowest corner at which it does likewise
LEVER = 0.1  #: m; a sole bears a moment as readily as a force at so long an arm
REFUSED = 1e-4  #: share of what is asked for that soles in the air may refuse


class Driver:
    """Turns clips of one robot into targets for its joints."""

    def __init__(self, robot: RobotSpec) -> None:
        self.robot, self.kinematics = robot, Kinematics(robot)
        self.model = self.kinematics.model
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        joints = [self.model.joint(name) for name in robot.joint_names]
        self.degrees = np.array([joint.dofadr[0] for joint in joints])
        self.soles = [self.model.site(f"{side}_sole").id for side in SIDES]

    def targets(self, clip: Clip) -> np.ndarray:
        """(T, J) rad: told these, with the gains of the robot as built, its joints do the clip."""
        kp, kd, most = (self.robot.values(name) for name in ("kp", "kd", "max_torque"))
        torque = np.clip(self.torques(clip), -most, most)
        return clip.joint_position + (torque + kd * clip.joint_velocity()) / kp

    def torques(self, clip: Clip) -> np.ndarray:
        """(T, J) N m. What the base cannot have from its joints comes from the soles that stand, in equal
        parts where both do."""
        where = self.kinematics.configurations(clip.base_position, clip.base_quaternion, clip.joint_position)
        velocity = np.zeros((clip.frames, self.model.nv))
        velocity[:, :3] = derivative(clip.base_position)
        velocity[:, 3:6] = clip.angular_velocity()
        velocity[:, self.degrees] = clip.joint_velocity()
        acceleration = derivative(velocity)
        bears = standing(self.robot, clip, self.kinematics.trajectories(where))
        data, jacobian = mujoco.MjData(self.model), np.zeros((2, 6, self.model.nv))
        torque = np.empty((clip.frames, len(self.degrees)))
        shares = np.repeat(bears, 6, axis=1) * np.tile([1.0, 1.0, 1.0, LEVER**2, LEVER**2, LEVER**2], 2)
        for t in range(clip.frames):
            data.qpos[:], data.qvel[:], data.qacc[:] = where[t], velocity[t], acceleration[t]
            mujoco.mj_inverse(self.model, data)
            for own, site in zip(jacobian, self.soles, strict=True):
                mujoco.mj_jacSite(self.model, data, own[:3], own[3:], site)
            soles = jacobian.reshape(12, -1)
            base = soles[:, :6]
            given = base.T @ (shares[t, :, None] * base) + REFUSED * np.eye(6)
            wrench = shares[t] * (base @ np.linalg.solve(given, data.qfrc_inverse[:6]))
            torque[t] = (data.qfrc_inverse - soles.T @ wrench)[self.degrees]
        return torque


def standing(robot: RobotSpec, clip: Clip, way: Trajectories) -> np.ndarray:
    """(T, 2) how readily each sole bears weight: 1 where its lowest corner lies still on the ground."""
    corners = np.zeros((4, 3))
    corners[:, :2] = robot.sole.offsets(2, 2).reshape(4, 2)
    turned = rotation.rotate(way.sole_quaternion[:, :, None], corners)
    points = way.sole_position[:, :, None] + turned
    above = points[..., 2] - ground.height(clip.boxes, points[..., :2])
    lowest = above.argmin(-1)[..., None]
    speed = np.linalg.norm(derivative(points), axis=-1)
    height, slip = (np.take_along_axis(x, lowest, -1)[..., 0] for x in (above, speed))
    return np.exp(-np.clip(height, 0.0, None) / NEAR - np.square(slip / STILL))
