"""Faults of the simulated robot, of its policy and of the controller: each must end in damping."""

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
SENSES = tuple(kind for kind in get_args(FaultKind) if kind not in HARMLESS)
OWN = ("policy: not finite", "controller: not finite", "controller: far off", "controller: too stiff")
EACH = 4  #: tries of every fault per seed
DAMPED_WITHIN = 500  #: ms, the slowest being an eye at 10 Hz whose stamps run backwards
NAMES = ("position", "stiffness", "damping")


class Wire:
    """Looks at everything that reaches the motors."""

    def __init__(self, world: Lockstep) -> None:
        value = lambda name: np.array(world.contract.values(name))
        self._lower, self._upper, self._kp, self._kd = map(value, ("lower", "upper", "kp", "kd"))
        self._reach = REACH * value("max_torque") / self._kp
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
            self.wrong += not (finite and within.all() and gains.all())
            send(now, names, position, stiffness, damping, *rest)

        world.robot.motors.command = watched  # type: ignore[method-assign]


def trial(made: Material, seed: int) -> list[Tally]:
    rng, policy, robot = np.random.default_rng(seed), exported.read(made.run), robots.load("x2")
    found = {kind: Tally(f"fault: {kind}") for kind in (*SENSES, *OWN)}
    training, ground = Training.of(made.run), strip("flat")
    for kind, tally in found.items():
        for _ in range(EACH):
            after = float(rng.uniform(0.22, 0.5))
            sensed = kind if kind in SENSES else "none"
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
    tally.times.append(world.ticks - begin)
    limp = not world.robot.motors.stiffness.any() and (world.robot.motors.damping > 0).all()
    if world.controller.phase is Phase.DAMP and not limp:
        world.tick()
        limp = not world.robot.motors.stiffness.any() and (world.robot.motors.damping > 0).all()
    if world.controller.phase is not Phase.DAMP or not limp:
        tally.bad.append(f"after {world.ticks - begin} ms still {world.controller.phase}")
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
    values = {"not finite": rng.choice([np.nan, np.inf]), "far off": 50.0, "too stiff": 1e6}
    name = kind.removeprefix("controller: ")
    part = {"far off": "position", "too stiff": "stiffness"}.get(name, part)

    def spoilt(now: float) -> JointTargets:
        made = {key: np.array(value) for key, value in vars(sound(now)).items()}
        made[part][joint] = values[name]
        return JointTargets(**made)

    controller._targets = spoilt  # type: ignore[method-assign]


def _until(world: Lockstep, now: float) -> None:
    while world.now < now:
        world.tick()
