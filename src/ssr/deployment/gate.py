"""The last gate before the wire: whatever computed a command, an impossible one is never sent.

It knows the contract and what it let through before, nothing else. A command passes if every number is finite
and every joint stays within four bounds; otherwise damping goes out in its place, and the reason is told.
A motor turns a command into stiffness · (position - q). Where q is the gate does not know, so what it says of
torque holds wherever the joint is within its range.
Arrays are (..., J), in the contract's order: one robot, or many side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssr.deployment.contract import Contract

STIFFEST = 20.0  #: × a joint's kp: what standing up may ask for
MOST_DAMPED = 10.0  #: × a joint's kd
REACH = 1.5  #: × the deflection at which a motor, at its kp, gives all its torque; policies use it to push
SLACK = 1e-9  #: of rounding


@dataclass(frozen=True, kw_only=True)
class JointTargets:
    """What the joints are to do, in the contract's order."""

    position: np.ndarray  #: rad
    stiffness: np.ndarray  #: N m/rad
    damping: np.ndarray  #: N m s/rad


class Gate:
    def __init__(self, contract: Contract, *, holding: bool = False) -> None:
        """holding: the robot already holds its default pose with the policy's gains; otherwise it is limp."""
        value = lambda name: np.array(contract.values(name))
        self._names, self._lower, self._upper = contract.joint_names, value("lower"), value("upper")
        self._kp, self._kd, self._torque = value("kp"), value("kd"), value("max_torque")
        self._reach = REACH * self._torque / self._kp
        # From all torque one way to all of it the other way, while the joint moves as fast as it can.
        self._most = 2 * self._torque + self._kp * value("max_velocity") * contract.control_period
        self._ebb = self._most / contract.commands_per_action
        zero = np.zeros_like(self._kp)
        self._position, self._stiffness = value("default"), self._kp if holding else zero
        self._stepped = zero if holding else self._most  #: N m that torques were made to step by, lately
        self.damping = JointTargets(position=value("default"), stiffness=zero, damping=self._kd)

    def passed(self, wanted: JointTargets) -> tuple[JointTargets, str]:
        """What is sent, and why it is not what was wanted (empty if it is)."""
        if any(np.shape(part)[-1:] != self._kp.shape for part in vars(wanted).values()):
            return self._sent(self.damping), "a command for another number of joints"
        faults = self.faults(wanted)
        bad = ~np.all([~fault for fault in faults.values()], axis=0).all(-1, keepdims=True)
        if not bad.any():
            return self._sent(wanted), ""
        sent = {name: np.where(bad, getattr(self.damping, name), part) for name, part in vars(wanted).items()}
        why = next(why for why, fault in faults.items() if fault.any())
        joint = self._names[int(np.argwhere(faults[why])[0][-1])]
        return self._sent(JointTargets(**sent)), f"a command for {joint} {why}"

    def faults(self, wanted: JointTargets) -> dict[str, np.ndarray]:
        """Where (..., J) a command is impossible, by reason. What is not a number fails every comparison."""
        position, stiffness, damping = wanted.position, wanted.stiffness, wanted.damping
        with np.errstate(invalid="ignore", over="ignore"):
            beyond = np.maximum(self._lower - position, position - self._upper)
            finite = np.isfinite(position) & np.isfinite(stiffness) & np.isfinite(damping)
            stiff = (stiffness >= 0) & (stiffness <= STIFFEST * self._kp * (1 + SLACK))
            damped = (damping >= 0) & (damping <= MOST_DAMPED * self._kd * (1 + SLACK))
            torque = stiffness * np.maximum(beyond, 0.0) <= REACH * self._torque * (1 + SLACK)
            return {
                "is not finite": ~finite,
                "is beyond its range": ~(beyond <= self._reach * (1 + SLACK)),
                "has impossible gains": ~(stiff & damped),
                "asks for more torque than it has": ~torque,
                "asks for torque too suddenly": ~(self._steps(wanted) <= self._most * (1 + SLACK)),
            }

    def _steps(self, wanted: JointTargets) -> np.ndarray:
        """N m by which torque was made to step lately, and would be now, wherever the joint is.

        A target that moves steps it by stiffness · way, a stiffness that rises by as much more for every rad
        between target and joint; one that falls only lets go.
        """
        way = np.abs(wanted.position - self._position)
        farthest = np.maximum(wanted.position - self._lower, self._upper - wanted.position)
        moved = np.minimum(wanted.stiffness, self._stiffness) * way
        stiffened = np.maximum(wanted.stiffness - self._stiffness, 0.0) * farthest
        return np.maximum(self._stepped - self._ebb, 0.0) + moved + stiffened

    def _sent(self, targets: JointTargets) -> JointTargets:
        # A limp joint has no steps left: it becomes stiff by what ebbs away, little by little.
        self._stepped = np.where(targets.stiffness > 0, self._steps(targets), self._most)
        self._position, self._stiffness = np.array(targets.position), np.array(targets.stiffness)
        return targets
