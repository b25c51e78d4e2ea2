"""Faults of the simulated robot, of its policy and of the controller: each must end in damping and say why.

A robot without a fault, or with one that is none, must walk on: whoever damps always proves nothing.
"""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from material import Material
from tally import Tally

from ssr import robots
from ssr.deployment import exported
from ssr.deployment.config import ControllerConfig, StandConfig
from ssr.deployment.controller import Phase
from ssr.deployment.gate import MOST_DAMPED, REACH, STIFFEST, JointTargets
from ssr.rehearsal.config import FaultConfig, FaultKind, GantryConfig
from ssr.rehearsal.faults import Fault
from ssr.rehearsal.lockstep import Lockstep
from ssr.rehearsal.training import Training
from ssr.rehearsal.trial import strip

CONFIG = ControllerConfig(stand=StandConfig(seconds=0.15, stiffness=1.0))
HARMLESS = ("none", "loss", "clock-jump")
#: What the reason given must tell of each fault.
REASONS = {
    "silent-joints": "no new joint state", "frozen-joints": "joint state has not changed",
    "nan-joint": "reports a number that is not finite", "jumping-joint": "jumps by",
    "racing-joint": "more than it can do", "joints-backwards": "joint states run backwards",
    "malformed": "no new joint state", "silent-imu": "no new IMU", "frozen-imu": "IMU has not changed",
    "nan-imu": "IMU reports a number", "spinning-imu": "rad/s, more than can be",
    "heavy-imu": "m/s², more than can be", "bent-imu": "no new IMU", "jumping-imu": "IMU jumps by",
    "imu-backwards": "IMU messages run backwards", "silent-depth": "no new depth image",
    "frozen-depth": "no new depth image", "repeated-depth": "no new depth image",
    "cycling-depth": "no new depth image", "blind-depth": "no new depth image",
    "malformed-depth": "no new depth image", "depth-backwards": "depth images run backwards",
    "policy: not finite": "policy gave a number", "controller: not finite": "is not finite",
    "controller: far off": "is beyond its range", "controller: too stiff": "has impossible gains",
    "controller: beyond its torque": "more torque than it has", "controller: at once": "too suddenly",
    "controller: too few joints": "another number of joints",
}  # fmt: skip
OWN = tuple(kind for kind in REASONS if ":" in kind)
EACH = 4  #: tries of every fault per seed
DAMPED_WITHIN = 500  #: ms, the slowest being an eye at 10 Hz whose stamps run backwards
NAMES = ("position", "stiffness", "damping")


class Wire:
    """Looks at everything that reaches the motors: by the promise, not by the gate's own arithmetic."""

    def __init__(self, world: Lockstep) -> None:
        value = lambda name: np.array(world.contract.values(name))
        self._lower, self._upper, self._kp, self._kd = map(value, ("lower", "upper", "kp", "kd"))
        self._torque = value("max_torque")
        self._reach = REACH * self._torque / self._kp
        self._step = 2 * self._torque + self._kp * value("max_velocity") * world.contract.control_period
        self._ends, self._before = np.stack([self._lower, self._upper]), (np.zeros(()), 0.0 * self._kp)
        self.messages, self.wrong = 0, 0
        send = world.robot.motors.command

        def watched(now: float, names: Any, position: Any, stiffness: Any, damping: Any, *rest: Any) -> None:
            self.messages += 1
            finite = all(np.isfinite(part).all() for part in (position, stiffness, damping))
            within = (position >= self._lower - self._reach - 1e-6) & (
                position <= self._upper + self._reach + 1e-6
            )
            gains = (stiffness >= 0) & (stiffness <= STIFFEST * self._kp + 1e-6)
            gains &= (damping >= 0) & (damping <= MOST_DAMPED * self._kd + 1e-6)
            beyond = np.maximum(np.maximum(self._lower - position, position - self._upper), 0.0)
            torque = stiffness * beyond <= REACH * self._torque + 1e-6
            self.wrong += not (finite and within.all() and gains.all() and torque.all())
            self.wrong += not self._is_smooth(position, stiffness)
            send(now, names, position, stiffness, damping, *rest)

        world.robot.motors.command = watched  # type: ignore[method-assign]

    def _is_smooth(self, position: Any, stiffness: Any) -> bool:
        """No torque appears at once, wherever within its range a joint is; what lets go may let go."""
        was, now = (k * (p - self._ends) for p, k in (self._before, (position, stiffness)))
        self._before = np.array(position), np.array(stiffness)
        new = now - np.clip(now, np.minimum(was, 0.0), np.maximum(was, 0.0))
        return bool((np.abs(new) <= self._step + 1e-6).all())


def trial(made: Material, seed: int) -> list[Tally]:
    rng, policy, robot = np.random.default_rng(seed), exported.read(made.run), robots.load("x2")
    kinds = (*get_args(FaultKind), *OWN)
    found = {kind: Tally(f"{'no ' if kind in HARMLESS else ''}fault: {kind}") for kind in kinds}
    training, ground = Training.of(made.run), strip("flat")
    for kind, tally in found.items():
        for _ in range(EACH):
            after = float(rng.uniform(0.22, 0.5))
            sensed = "none" if kind in OWN else kind
            fault = Fault(FaultConfig(kind=sensed, after=after), seed=int(rng.integers(1000)))  # type: ignore[arg-type]
            world = Lockstep(
                policy, training, robot, ground, seed=int(rng.integers(1000)), config=CONFIG,
                gantry=GantryConfig(mode="hold"), fault=fault,
            )  # fmt: skip
            _suffer(world, kind, after, tally, rng)
    return list(found.values())


def _suffer(world: Lockstep, kind: str, after: float, tally: Tally, rng: np.random.Generator) -> None:
    tally.tried += 1
    wire = Wire(world)
    _until(world, 0.02)
    world.controller.request(world.now, "stand")
    _until(world, 0.19)
    world.controller.request(world.now, "walk")
    _until(world, after)
    if world.controller.phase is not Phase.WALK:
        tally.bad.append(f"did not walk: {world.controller.reason}")
        return
    if kind in OWN:
        _spoil(world, kind, rng)
    begin = world.ticks
    while world.controller.phase is not Phase.DAMP and world.ticks - begin < DAMPED_WITHIN:
        world.tick()
    if kind in HARMLESS:
        sound = world.controller.phase is Phase.WALK and not wire.wrong
        tally.harmless += sound
        tally.bad += (
            [] if sound else [f"damped without a fault: {world.controller.reason}, {wire.wrong} wrong"]
        )
        return
    tally.times.append(world.ticks - begin)
    limp = not world.robot.motors.stiffness.any() and (world.robot.motors.damping > 0).all()
    if world.controller.phase is Phase.DAMP and not limp:
        world.tick()
        limp = not world.robot.motors.stiffness.any() and (world.robot.motors.damping > 0).all()
    if world.controller.phase is not Phase.DAMP or not limp:
        tally.bad.append(f"after {world.ticks - begin} ms still {world.controller.phase}")
    elif REASONS[kind] not in world.controller.reason:
        tally.bad.append(f"for another reason: {world.controller.reason}")
    elif wire.wrong:
        tally.bad.append(f"{wire.wrong} of {wire.messages} messages were impossible")
    else:
        tally.refused += 1


def _spoil(world: Lockstep, kind: str, rng: np.random.Generator) -> None:
    controller = world.controller
    if kind == "policy: not finite":
        bad = rng.choice([np.nan, np.inf, -np.inf])
        controller._thinker.answer = lambda: np.full(len(controller.contract.joints), bad)  # type: ignore[method-assign]
        return
    sound, joint = controller._targets, int(rng.integers(len(controller.contract.joints)))
    part = NAMES[int(rng.integers(3))]
    name, contract = kind.removeprefix("controller: "), controller.contract
    upper, kp, most = (contract.values(key)[joint] for key in ("upper", "kp", "max_torque"))

    def spoilt(now: float) -> JointTargets:
        made = {key: np.array(value) for key, value in vars(sound(now)).items()}
        if name == "not finite":
            made[part][joint] = rng.choice([np.nan, np.inf, -np.inf])
        elif name == "far off":
            made["position"][joint] = rng.choice([-50.0, 50.0])
        elif name == "too stiff":
            made["stiffness"][joint] = rng.choice([1e6, -1.0])
        elif name == "beyond its torque":
            made["position"][joint], made["stiffness"][joint] = upper + 1.4 * most / kp, 2.0 * kp
        elif name == "at once":
            made["stiffness"][joint] = STIFFEST * kp
        else:
            made = {key: value[:-1] for key, value in made.items()}
        return JointTargets(**made)

    controller._targets = spoilt  # type: ignore[method-assign]


def _until(world: Lockstep, now: float) -> None:
    while world.now < now:
        world.tick()
