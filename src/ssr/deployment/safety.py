"""When to stop: every way in which the robot or its sensors can no longer be trusted.

All times are seconds of a clock that never jumps, taken when a message is received; the stamps inside
messages only tell a new image from an old one.
"""

from __future__ import annotations

import numpy as np

from ssr.deployment.config import SafetyConfig
from ssr.deployment.contract import Contract
from ssr.deployment.robot_state import Attitude, Joints

NEVER = float("-inf")


class RobotSenses:
    """The newest of everything the robot has reported, and since when."""

    def __init__(self, contract: Contract, config: SafetyConfig) -> None:
        self.config = config
        self.joints: Joints | None = None
        self.attitude: Attitude | None = None
        self.depth: np.ndarray | None = None
        self._joints_at = self._attitude_at = self._depth_at = self._changed_at = NEVER
        self._depth_stamp: int | None = None
        self._joint_problem: str | None = None
        self._attitude_problem: str | None = None
        self._depth_problem: str | None = None
        margin = config.position_margin
        self._lower = np.array(contract.values("lower")) - margin
        self._upper = np.array(contract.values("upper")) + margin
        self._fastest = np.array(contract.values("max_velocity")) * config.velocity_factor
        self._names = contract.joint_names

    def hear_joints(self, now: float, joints: Joints) -> None:
        before = self.joints
        if (
            before is None
            or not np.array_equal(before.position, joints.position)
            or not np.array_equal(before.velocity, joints.velocity)
        ):
            self._changed_at = now
            self._joint_problem = self._joint_fault(joints)
        self.joints, self._joints_at = joints, now

    def hear_attitude(self, now: float, attitude: Attitude) -> None:
        self.attitude, self._attitude_at = attitude, now
        self._attitude_problem = self._attitude_fault(attitude)

    def hear_depth(self, now: float, stamp: int, image: np.ndarray) -> None:
        """An image whose stamp is the last one's is the last image again."""
        if stamp == self._depth_stamp:
            return
        self.depth, self._depth_at, self._depth_stamp = image, now, stamp
        self._depth_problem = None if bool(np.isfinite(image).all()) else "depth image is not finite"

    def body_fault(self, now: float) -> str | None:
        """Why joints and IMU cannot be trusted, or None."""
        c = self.config
        if now - self._joints_at > c.joint_timeout:
            return self._silence("joint state", now - self._joints_at)
        if now - self._attitude_at > c.imu_timeout:
            return self._silence("IMU message", now - self._attitude_at)
        return self._joint_problem or self._frozen() or self._attitude_problem

    def depth_fault(self, now: float) -> str | None:
        """Why the eye cannot be trusted, or None."""
        if now - self._depth_at > self.config.depth_timeout:
            return self._silence("depth image", now - self._depth_at)
        return self._depth_problem

    def _silence(self, what: str, age: float) -> str:
        return f"no {what} yet" if age == -NEVER else f"no new {what} for {1000 * age:.0f} ms"

    def _joint_fault(self, joints: Joints) -> str | None:
        q, speed = joints.position, np.abs(joints.velocity)
        if ((q >= self._lower) & (q <= self._upper) & (speed <= self._fastest)).all():
            return None
        finite = np.isfinite(q) & np.isfinite(speed)
        if not finite.all():
            return f"{self._names[int(np.argmin(finite))]} reports a number that is not finite"
        beyond = (q < self._lower) | (q > self._upper)
        worst = int(np.argmax(beyond))
        if beyond.any():
            return f"{self._names[worst]} reports {q[worst]:.2f} rad, beyond its limits"
        worst = int(np.argmax(speed > self._fastest))
        return f"{self._names[worst]} reports {speed[worst]:.1f} rad/s, more than it can do"

    def _frozen(self) -> str | None:
        age = self._joints_at - self._changed_at
        if age > self.config.frozen_timeout:
            return f"joint state has not changed for {1000 * age:.0f} ms"
        return None

    def _attitude_fault(self, attitude: Attitude) -> str | None:
        if not (np.isfinite(attitude.gravity).all() and np.isfinite(attitude.angular_velocity).all()):
            return "IMU reports a number that is not finite"
        if attitude.tilt > self.config.max_tilt:
            return f"tilted by {np.rad2deg(attitude.tilt):.0f}°"
        return None
