"""The simulated robot's motors: PD control by name, late if told to be, damping when nobody commands."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from ssr.robots.spec import RobotSpec

WATCHDOG = 0.1  #: s without a command after which the robot damps itself


class Motors:
    """torque = stiffness · (position - q) - damping · q̇ + effort, per policy joint in the robot's order."""

    def __init__(self, robot: RobotSpec) -> None:
        self._robot = robot
        self._place = {name: i for i, name in enumerate(robot.joint_names)}
        count = len(robot.joints)
        self.position, self.effort = robot.values("default"), np.zeros(count)
        self.stiffness, self.damping = np.zeros(count), robot.values("kd")
        self.stiffness_scale = self.damping_scale = np.ones(count)  #: how far the motors are off
        self.delay = 0.0  #: s from command to action
        self._waiting: deque[tuple[float, tuple[np.ndarray, ...]]] = deque()
        self._commanded_at = float("-inf")

    def hold(self, now: float) -> None:
        """The default pose with the policy's gains, at once: as an episode of training begins."""
        values = self._robot.values
        self._act(now, (values("default"), values("kp"), values("kd"), np.zeros_like(self.effort)))

    def command(
        self,
        now: float,
        names: Sequence[str],
        position: np.ndarray,
        stiffness: np.ndarray,
        damping: np.ndarray,
        velocity: np.ndarray | None = None,
        effort: np.ndarray | None = None,
    ) -> None:
        """The torques of `JointCommand`; names of other joints are ignored."""
        given = np.array([i for i, name in enumerate(names) if name in self._place], np.intp)
        mine = np.array([self._place[names[i]] for i in given], np.intp)
        wanted = (
            self.position.copy(),
            self.stiffness.copy(),
            self.damping.copy(),
            np.zeros_like(self.effort),
        )
        for whole, part in zip(wanted, (position, stiffness, damping), strict=False):
            whole[mine] = np.asarray(part)[given]
        if velocity is not None and len(velocity):
            wanted[3][mine] += wanted[2][mine] * np.asarray(velocity)[given]
        if effort is not None and len(effort):
            wanted[3][mine] += np.asarray(effort)[given]
        self._waiting.append((now + self.delay, wanted))
        self.update(now)

    def update(self, now: float) -> None:
        """Obey what is due by now."""
        while self._waiting and self._waiting[0][0] <= now + 1e-9:
            self._act(now, self._waiting.popleft()[1])
        if now - self._commanded_at > WATCHDOG:
            self.stiffness, self.effort = np.zeros_like(self.effort), np.zeros_like(self.effort)
            self.damping = self._robot.values("kd")

    def _act(self, now: float, wanted: tuple[np.ndarray, ...]) -> None:
        self.position, self.stiffness, self.damping, self.effort = wanted
        self._commanded_at = now
