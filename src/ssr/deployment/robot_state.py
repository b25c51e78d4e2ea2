"""What the robot says about itself, checked and put into the contract's order."""

from __future__ import annotations

from dataclasses import dataclass
from math import acos

import numpy as np

from ssr import rotation
from ssr.deployment.contract import Contract, check_joint_names
from ssr.deployment.messages import Imu, JointState, nanoseconds

UNIT_TOLERANCE = 0.05  #: how far from 1 the length of an orientation may be


@dataclass(frozen=True, kw_only=True)
class Joints:
    """Policy joints in the contract's order."""

    position: np.ndarray  #: (J,) rad
    velocity: np.ndarray  #: (J,) rad/s
    stamp: int = 0  #: ns, by the robot's clock


@dataclass(frozen=True, kw_only=True)
class Attitude:
    """The base link's attitude, in its own axes."""

    gravity: np.ndarray  #: (3,) unit vector
    angular_velocity: np.ndarray  #: (3,) rad/s
    acceleration: np.ndarray  #: (3,) m/s²; zero from an IMU that does not report it
    stamp: int = 0  #: ns, by the robot's clock

    @property
    def tilt(self) -> float:
        """rad between the base's z axis and the vertical."""
        return acos(min(max(-float(self.gravity[2]), -1.0), 1.0))


class JointOrder:
    """Finds the policy's joints in messages of any order, by name."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._names: tuple[str, ...] = ()
        self._index = np.empty(0, np.intp)

    def read(self, message: JointState) -> Joints | None:
        """None if the message contradicts itself. Raises UserError if the joints are not the contract's."""
        names = tuple(message.name)
        if names != self._names:
            check_joint_names(self._contract, names, "The robot's joint state")
            self._index = np.array([names.index(n) for n in self._contract.joint_names], np.intp)
            self._names = names
        if len(message.position) != len(names) or len(message.velocity) != len(names):
            return None
        return Joints(
            position=np.asarray(message.position)[self._index],
            velocity=np.asarray(message.velocity)[self._index],
            stamp=nanoseconds(message.header.stamp),
        )


def read_attitude(message: Imu) -> Attitude | None:
    """None if the orientation is not one. Numbers that are not finite are passed on for safety to see."""
    q, rate, acceleration = message.orientation, message.angular_velocity, message.linear_acceleration
    quaternion = np.array([q.w, q.x, q.y, q.z])
    if abs(quaternion @ quaternion - 1.0) > UNIT_TOLERANCE:
        return None
    return Attitude(
        gravity=rotation.gravity(quaternion),
        angular_velocity=np.array([rate.x, rate.y, rate.z]),
        acceleration=np.array([acceleration.x, acceleration.y, acceleration.z]),
        stamp=nanoseconds(message.header.stamp),
    )
