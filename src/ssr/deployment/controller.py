"""The controller: idle → stand → walk → damp, one call per millisecond. No clock, no network, no threads.

`tick` is called once per command period with the time and the number of the period; everything the robot and
its operator say is handed in before. A fault, in whatever state, means damping: no stiffness, only friction.
Damping ends only when an operator asks for idle.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from ssr.deployment.config import ControllerConfig
from ssr.deployment.contract import Contract
from ssr.deployment.gate import REACH, JointTargets
from ssr.deployment.messages import Imu, JointState, Twist
from ssr.deployment.proprioception import Proprioception
from ssr.deployment.robot_state import JointOrder, read_attitude
from ssr.deployment.safety import NEVER, RobotSenses
from ssr.deployment.thinking import Thinker
from ssr.errors import UserError


class Phase(StrEnum):
    IDLE = "idle"  #: limp
    STAND = "stand"  #: into the default pose, stiffly
    WALK = "walk"  #: the policy acts
    DAMP = "damp"  #: no stiffness, until an operator asks for idle


@dataclass(frozen=True, kw_only=True)
class Step:
    """One control step of the policy, for the record."""

    history: np.ndarray  #: (h, P) as the network saw it
    depth: np.ndarray  #: (rows, columns) m
    fresh: bool  #: the image is another one than in the step before


class Controller:
    def __init__(self, contract: Contract, thinker: Thinker, config: ControllerConfig | None = None) -> None:
        self.contract, self.config = contract, config or ControllerConfig()
        self.phase, self.reason = Phase.IDLE, ""
        self.senses = RobotSenses(contract, self.config.safety)
        self.counts: Counter[str] = Counter(missed=0, clamped=0, malformed=0)
        self.last_step: Step | None = None  #: of the newest question put to the policy
        self.last_action = np.zeros(len(contract.joints))
        self._thinker = thinker
        self._order = JointOrder(contract)
        self._proprioception = Proprioception(contract)
        array = lambda name: np.array(contract.values(name))
        self._default, self._scale = array("default"), array("action_scale")
        self._kp, self._kd = array("kp"), array("kd")
        # Policies ask for torque with targets beyond a joint's range; cut there, the ankles would lose what
        # they balance with. Beyond this reach nothing is lost: a motor, even a weak one, is at its limit.
        reach = REACH * array("max_torque") / self._kp
        self._lowest, self._highest = array("lower") - reach, array("upper") + reach
        self._velocity, self._velocity_at = np.zeros(3), NEVER
        self._target: np.ndarray | None = None  #: the policy's, once it has acted
        self._last_tick: int | None = None
        self._stand_from, self._stand_at = self._default, NEVER

    # ---- what it hears ----------------------------------------------------------------------------------

    def hear_joints(self, now: float, message: JointState) -> None:
        try:
            joints = self._order.read(message)
        except UserError as error:
            self.stop(str(error))
            return
        if joints is None:
            self.counts["malformed"] += 1
        else:
            self._doubt(self.senses.hear_joints(now, joints))

    def hear_imu(self, now: float, message: Imu) -> None:
        attitude = read_attitude(message)
        if attitude is None:
            self.counts["malformed"] += 1
        else:
            self._doubt(self.senses.hear_attitude(now, attitude))

    def hear_depth(self, now: float, stamp: int, image: np.ndarray) -> None:
        """image (rows, columns) in m, as the camera pipeline gives it; stamp: when it was taken, in ns."""
        fault = self.senses.hear_depth(now, stamp, image)
        if self.phase is Phase.WALK:
            self._doubt(fault)

    def hear_velocity(self, now: float, message: Twist) -> None:
        """v_x, v_y in m/s and yaw rate in rad/s, base axes; kept within what training knew."""
        wanted = np.array([message.linear.x, message.linear.y, message.angular.z])
        if not np.isfinite(wanted).all():
            self.counts["malformed"] += 1
            return
        limits = np.array(self.contract.velocity_limits)
        self._velocity, self._velocity_at = np.clip(wanted, -limits, limits), now

    def request(self, now: float, wanted: str) -> str:
        """An operator's wish; the answer is empty if it is granted, else the reason why not."""
        if wanted == Phase.DAMP:
            self.stop("asked for")
            return ""
        if wanted == self.phase:
            return ""
        if wanted not in set(Phase):
            return f"unknown request {wanted!r}: expected {', '.join(Phase)}"
        fault = self.senses.body_fault(now)
        if wanted == Phase.IDLE:
            if self.phase in (Phase.STAND, Phase.WALK):
                return f"cannot go limp from {self.phase}: ask for damp first"
            self.phase, self.reason = Phase.IDLE, ""
            return ""
        if fault:
            return fault
        if wanted == Phase.STAND:
            return self._stand(now)
        return self._walk(now)

    def _stand(self, now: float) -> str:
        if self.phase is not Phase.IDLE:
            return f"can stand up from idle only, not from {self.phase}"
        assert self.senses.joints is not None
        self.phase, self.reason = Phase.STAND, ""
        limits = (np.array(self.contract.values(name)) for name in ("lower", "upper"))
        self._stand_from, self._stand_at = np.clip(self.senses.joints.position, *limits), now
        return ""

    def _walk(self, now: float) -> str:
        if self.phase is not Phase.STAND or now - self._stand_at < self.config.stand.seconds:
            return "can walk only once the robot stands"
        if fault := self.senses.depth_fault(now):
            return fault
        self.begin_walk()
        return ""

    def begin_walk(self) -> None:
        """Let the policy act from now on, as at the start of an episode: nothing seen, nothing done."""
        self.phase, self.reason = Phase.WALK, ""
        self._thinker.forget()
        self._proprioception.reset()
        self.last_action = np.zeros(len(self.contract.joints))
        self._target = None
        self._control_steps = self._missed = 0
        self._waiting = False
        self._image: np.ndarray | None = None

    # ---- what it does -----------------------------------------------------------------------------------

    def tick(self, now: float, number: int) -> JointTargets:
        """One command period: number counts them since the start, and skips those that were slept through."""
        per = self.contract.commands_per_action
        passed = number // per - (self._last_tick // per if self._last_tick is not None else -1)
        self._last_tick = number
        if self.phase is Phase.WALK and passed > 1:
            self._miss(passed - 1)
        self._stop_on_fault(now)
        if self.phase is Phase.WALK:
            self._think(now, passed > 0)
            self._stop_on_fault(now)
        return self._targets(now)

    def _stop_on_fault(self, now: float) -> None:
        if self.phase not in (Phase.STAND, Phase.WALK):
            return
        fault = self.senses.body_fault(now)
        if fault is None and self.phase is Phase.WALK:
            fault = self.senses.depth_fault(now) or self._slowness()
        if fault is not None:
            self.stop(fault)

    def _miss(self, control_steps: int) -> None:
        self._missed += control_steps
        self.counts["missed"] += control_steps

    def _slowness(self) -> str | None:
        if self._missed < self.config.safety.max_missed:
            return None
        return f"{self._missed} control steps in a row without an action in time"

    def _think(self, now: float, due: bool) -> None:
        self._hear_answer()
        if not due:
            return
        if self._waiting:
            self._miss(1)
            return  # the last target stands for one more control period
        joints, attitude, seen = self.senses.joints, self.senses.attitude, self.senses.depth
        assert joints is not None and attitude is not None and seen is not None
        fresh = self._control_steps % self.contract.camera.period == 0
        if fresh or self._image is None:
            self._image = seen
        history = self._proprioception.observe(joints, attitude, self.velocity(now), self.last_action)
        self.last_step = Step(history=history, depth=self._image, fresh=fresh)
        self._thinker.ask(history, self._image)
        self._control_steps += 1
        self._waiting = True
        self._hear_answer()

    def _hear_answer(self) -> None:
        action = self._thinker.answer()
        if action is None:
            return
        self._waiting, self._missed = False, 0
        if not np.isfinite(action).all():
            self.stop("the policy gave a number that is not finite")
            return
        self.last_action = action.astype(np.float64)
        wanted = self._default + self._scale * self.last_action
        self._target = np.clip(wanted, self._lowest, self._highest)
        self.counts["clamped"] += int((self._target != wanted).any())

    def velocity(self, now: float) -> np.ndarray:
        """What the operator wants now, (v_x, v_y, yaw rate); zero once it is out of date."""
        late = now - self._velocity_at > self.config.safety.velocity_timeout
        return np.zeros(3) if late else self._velocity

    def _doubt(self, fault: str | None) -> None:
        """One message that cannot be true is enough, even if a good one follows before the next command."""
        if fault is not None and self.phase in (Phase.STAND, Phase.WALK):
            self.stop(fault)

    def stop(self, reason: str) -> None:
        """Damp; the first reason is the one that is told."""
        if self.phase is not Phase.DAMP:
            self.phase, self.reason = Phase.DAMP, reason

    def _targets(self, now: float) -> JointTargets:
        if self.phase is Phase.WALK and self._target is not None:
            return JointTargets(position=self._target, stiffness=self._kp, damping=self._kd)
        if self.phase in (Phase.STAND, Phase.WALK):
            return self._standing(now)
        zero = np.zeros_like(self._kp)
        damping = self._kd * self.config.damping if self.phase is Phase.DAMP else zero
        return JointTargets(position=self._default, stiffness=zero, damping=damping)

    def _standing(self, now: float) -> JointTargets:
        """A smooth way into the default pose, the stiffness growing from nothing to the standing one."""
        stand = self.config.stand
        share = float(np.clip((now - self._stand_at) / stand.seconds, 0.0, 1.0))
        smooth = share * share * (3.0 - 2.0 * share)
        factor = stand.stiffness * smooth
        return JointTargets(
            position=self._stand_from + (self._default - self._stand_from) * smooth,
            stiffness=self._kp * factor,
            damping=self._kd * np.sqrt(max(factor, 1.0)),
        )

    def status(self, now: float) -> dict[str, Any]:
        """For operators and recordings."""
        return {
            "phase": str(self.phase),
            "reason": self.reason,
            "standing": self.phase is Phase.STAND and now - self._stand_at >= self.config.stand.seconds,
            "velocity": [round(float(v), 3) for v in self.velocity(now)],
            **self.counts,
        }
