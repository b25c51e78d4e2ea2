"""Forward kinematics of whole clips on the robot's own model."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from ssr import rotation
from ssr.motion.limbs import SIDES
from ssr.robots.spec import RobotSpec


@dataclass(frozen=True, kw_only=True)
class Trajectories:
    """Key points over time, world frame; sides are right, left."""

    sole_position: np.ndarray  #: (T, 2, 3) sole centres
    sole_quaternion: np.ndarray  #: (T, 2, 4)
    hand_position: np.ndarray  #: (T, 2, 3)


class Kinematics:
    def __init__(self, robot: RobotSpec):
        self.robot = robot
        self.model = robot.build().compile()
        self.addresses = np.array([self.model.joint(name).qposadr[0] for name in robot.joint_names])

    def configurations(self, position: np.ndarray, quaternion: np.ndarray, joints: np.ndarray) -> np.ndarray:
        """(T, nq) of the model from base pose and policy-ordered joint positions."""
        q = np.tile(self.model.qpos0, (len(position), 1))
        q[:, :3], q[:, 3:7], q[:, self.addresses] = position, quaternion, joints
        return q

    def trajectories(self, configurations: np.ndarray) -> Trajectories:
        data = mujoco.MjData(self.model)
        soles = [self.model.site(f"{s}_sole").id for s in SIDES]
        hands = [self.model.site(f"{s}_hand").id for s in SIDES]
        frames = len(configurations)
        position, hand = np.empty((frames, 2, 3)), np.empty((frames, 2, 3))
        matrix = np.empty((frames, 2, 9))
        for t in range(frames):
            data.qpos[:] = configurations[t]
            mujoco.mj_kinematics(self.model, data)
            position[t], hand[t], matrix[t] = (
                data.site_xpos[soles],
                data.site_xpos[hands],
                data.site_xmat[soles],
            )
        return Trajectories(
            sole_position=position,
            sole_quaternion=rotation.from_matrix(matrix.reshape(frames, 2, 3, 3)),
            hand_position=hand,
        )
