"""When to stop: every way in which the robot or its sensors can no longer be trusted.

All times are seconds of a clock that never jumps, taken when a message is received. The stamps inside
messages tell a new image from an old one and whether messages come in order; a robot's clock may be set.
Every message is looked at, and what is wrong with it is the answer to hearing it.
"""

from __future__ import annotations

import numpy as np

from ssr.deployment.config import SafetyConfig
from ssr.deployment.contract import Contract
from ssr.deployment.robot_state import Attitude, Joints

NEVER = float("-inf")
SET_BACK = 2  #: times within FORGIVEN seconds that stamps may step back: somebody set the robot's clock
FORGIVEN = 1.0
JUMP = 0.1  #: rad that a joint may seem to jump besides its way, from noise and messages that come in bursts
TURN = 0.3  #: rad that the vertical may seem to turn besides its way


class Order:
    """Whether the stamps of one sensor run forward."""

    def __init__(self, what: str) -> None:
        self._what, self._stamp = what, 0
        self._steps_back, self._since = 0, NEVER

    def fault(self, now: float, stamp: int) -> str | None:
        backwards, self._stamp = stamp < self._stamp, stamp
        if not backwards:
            return None
        if now - self._since > FORGIVEN:
            self._steps_back, self._since = 0, now
        self._steps_back += 1
        return f"stamps of the {self._what} run backwards" if self._steps_back > SET_BACK else None


class RobotSenses:
    """The newest of everything the robot has reported, and since when."""

    def __init__(self, contract: Contract, config: SafetyConfig) -> None:
        self.config = config
        self.joints: Joints | None = None
        self.attitude: Attitude | None = None
        self.depth: np.ndarray | None = None
        self._joints_at = self._attitude_at = self._depth_at = NEVER
        self._joints_changed_at = self._attitude_changed_at = NEVER
        self._depth_stamp: int | None = None
        self._joint_problem: str | None = None
        self._attitude_problem: str | None = None
        self._depth_problem: str | None = None
        self._order = {what: Order(what) for what in ("joint states", "IMU messages", "depth images")}
        margin = config.position_margin
        self._lower = np.array(contract.values("lower")) - margin
        self._upper = np.array(contract.values("upper")) + margin
        self._fastest = np.array(contract.values("max_velocity")) * config.velocity_factor
        self._names = contract.joint_names

    # ---- hearing: what is wrong with a message, or None --------------------------------------------------

    def hear_joints(self, now: float, joints: Joints) -> str | None:
        before = self.joints
        if (
            before is None
            or not np.array_equal(before.position, joints.position)
            or not np.array_equal(before.velocity, joints.velocity)
        ):
            self._joints_changed_at = now
            self._joint_problem = self._joint_fault(joints) or self._joint_jump(now, joints)
        self.joints, self._joints_at = joints, now
        return self._joint_problem or self._order["joint states"].fault(now, joints.stamp)

    def hear_attitude(self, now: float, attitude: Attitude) -> str | None:
        before = self.attitude
        if (
            before is None
            or not np.array_equal(before.gravity, attitude.gravity)
            or not np.array_equal(before.angular_velocity, attitude.angular_velocity)
        ):
            self._attitude_changed_at = now
        self._attitude_problem = self._attitude_fault(attitude) or self._attitude_jump(now, attitude)
        self.attitude, self._attitude_at = attitude, now
        return self._attitude_problem or self._order["IMU messages"].fault(now, attitude.stamp)

    def hear_depth(self, now: float, stamp: int, image: np.ndarray) -> str | None:
        """An image whose stamp is the last one's is the last image again."""
        if stamp == self._depth_stamp:
            return None
        self.depth, self._depth_at, self._depth_stamp = image, now, stamp
        self._depth_problem = None if bool(np.isfinite(image).all()) else "depth image is not finite"
        return self._depth_problem or self._order["depth images"].fault(now, stamp)

    # ---- faults of the moment ---------------------------------------------------------------------------

    def body_fault(self, now: float) -> str | None:
        """Why joints and IMU cannot be trusted, or None."""
        c = self.config
        if not now - self._joints_at <= c.joint_timeout:
            return self._silence("joint state", now - self._joints_at)
        if not now - self._attitude_at <= c.imu_timeout:
            return self._silence("IMU message", now - self._attitude_at)
        return (
            self._joint_problem
            or self._frozen("joint state", self._joints_at - self._joints_changed_at)
            or self._attitude_problem
            or self._frozen("IMU", self._attitude_at - self._attitude_changed_at)
        )

    def depth_fault(self, now: float) -> str | None:
        """Why the eye cannot be trusted, or None."""
        if not now - self._depth_at <= self.config.depth_timeout:
            return self._silence("depth image", now - self._depth_at)
        return self._depth_problem

    def _silence(self, what: str, age: float) -> str:
        return f"no {what} yet" if age == -NEVER else f"no new {what} for {1000 * age:.0f} ms"

    def _frozen(self, what: str, age: float) -> str | None:
        if age <= self.config.frozen_timeout:
            return None
        return f"{what} has not changed for {1000 * age:.0f} ms"

    # ---- faults of a message ----------------------------------------------------------------------------

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

    def _joint_jump(self, now: float, joints: Joints) -> str | None:
        """Nothing moves further between two messages than it can move in the time between them."""
        if self.joints is None or now - self._joints_at > self.config.joint_timeout:
            return None
        way = np.abs(joints.position - self.joints.position)
        jumped = ~(way <= self._fastest * (now - self._joints_at) + JUMP)
        if not jumped.any():
            return None
        worst = int(np.argmax(jumped))
        return f"{self._names[worst]} jumps by {way[worst]:.2f} rad"

    def _attitude_fault(self, attitude: Attitude) -> str | None:
        c, rate, pull = self.config, attitude.angular_velocity, attitude.acceleration
        if not all(np.isfinite(part).all() for part in (attitude.gravity, rate, pull)):
            return "IMU reports a number that is not finite"
        if not np.abs(rate).max() <= c.max_rotation:
            return f"IMU reports {np.abs(rate).max():.3g} rad/s, more than can be"
        if not np.linalg.norm(pull) <= c.max_acceleration:
            return f"IMU reports {np.linalg.norm(pull):.3g} m/s², more than can be"
        if not attitude.tilt <= c.max_tilt:
            return f"tilted by {np.rad2deg(attitude.tilt):.0f}°"
        return None

    def _attitude_jump(self, now: float, attitude: Attitude) -> str | None:
        if self.attitude is None or now - self._attitude_at > self.config.imu_timeout:
            return None
        turned = float(np.arccos(np.clip(attitude.gravity @ self.attitude.gravity, -1.0, 1.0)))
        if turned <= self.config.max_rotation * (now - self._attitude_at) + TURN:
            return None
        return f"IMU jumps by {np.rad2deg(turned):.0f}°"
