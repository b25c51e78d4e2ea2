"""Nothing impossible passes the last gate, and nothing that a sound controller asks for is held back."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace

import numpy as np
import pytest
import stand_ins
from stand_ins import Bench, Scripted

from ssr.deployment import gate
from ssr.deployment.config import ControllerConfig, StandConfig
from ssr.deployment.contract import Contract
from ssr.deployment.controller import Phase
from ssr.deployment.gate import MOST_DAMPED, REACH, STIFFEST, Gate, JointTargets

STREAMS, COMMANDS = 20_000, 60  #: 1.2 million commands
NAMES = ("position", "stiffness", "damping")
HOSTILE = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 1e6, -1e6, 1e-320, -0.0, -1.0, 40.0])


def values(contract: Contract, name: str) -> np.ndarray:
    return np.array(contract.values(name))


def random_commands(
    contract: Contract, rng: np.random.Generator, before: np.ndarray, limp: np.ndarray
) -> JointTargets:
    """Sound ones, ones at the edge of what is possible, and a hostile number in every tenth, or all over.

    limp (N, J): joints that were not stiff before, most of which become so softly.
    """
    kp, kd = values(contract, "kp"), values(contract, "kd")
    reach = REACH * values(contract, "max_torque") / kp
    shape = before.shape
    far = rng.uniform(values(contract, "lower") - 1.2 * reach, values(contract, "upper") + 1.2 * reach, shape)
    near = before + rng.normal(0.0, 0.05, shape)
    choose = lambda share: rng.random((len(before), 1)) < share
    position = np.where(choose(0.1), far, near)
    stiffness = kp * np.where(choose(0.2), rng.uniform(-1.0, 1.1 * STIFFEST, shape), 1.0)
    stiffness = np.where(choose(0.02), 0.0, stiffness) * np.where(limp, 0.02, 1.0)
    damping = kd * np.where(choose(0.2), rng.uniform(-1.0, 1.1 * MOST_DAMPED, shape), 1.0)
    made = [position, stiffness, damping]
    for k, part in enumerate(made):
        struck = (rng.random(shape) < 0.02) & choose(0.1)
        made[k] = np.where(struck, rng.choice(HOSTILE, shape), part)
    return JointTargets(**dict(zip(NAMES, made, strict=True)))


def test_a_million_commands_random_and_hostile(contract: Contract) -> None:
    """Checked against the promise itself, joint by joint, not against the gate's own arithmetic.

    Of torque: for joints at both ends of their range and between, from one command to the next.
    """
    rng, watched = np.random.default_rng(0), Gate(contract)
    lower, upper, torque = (values(contract, n) for n in ("lower", "upper", "max_torque"))
    kp, kd, default = (values(contract, n) for n in ("kp", "kd", "default"))
    most = 2 * torque + kp * values(contract, "max_velocity") * contract.control_period
    last = np.tile(default, (STREAMS, 1))
    before = last, np.zeros_like(last)
    passed = refused = 0
    for _ in range(COMMANDS):
        softly = (before[1] < 0.5 * kp) & (rng.random((STREAMS, 1)) < 0.9)
        wanted = random_commands(contract, rng, last, softly)
        sent, why = watched.passed(wanted)
        p, k, d = (np.broadcast_to(getattr(sent, n), last.shape) for n in NAMES)
        assert np.isfinite(p).all() and np.isfinite(k).all() and np.isfinite(d).all()
        beyond = np.maximum(np.maximum(lower - p, p - upper), 0.0)
        assert (beyond <= REACH * torque / kp + 1e-6).all()
        assert (k >= 0).all() and (k <= STIFFEST * kp + 1e-6).all()
        assert (d >= 0).all() and (d <= MOST_DAMPED * kd + 1e-6).all()
        assert (k * beyond <= REACH * torque + 1e-6).all()
        for share in (0.0, 0.37, 1.0):
            q = lower + share * (upper - lower)
            was, is_now = before[1] * (before[0] - q), k * (p - q)
            held = np.clip(is_now, np.minimum(was, 0.0), np.maximum(was, 0.0))
            assert (np.abs(is_now - held) <= most + 1e-6).all(), "torque that was not there before"
            grown = k >= before[1]
            assert (np.abs(is_now - was)[grown] <= np.broadcast_to(most, p.shape)[grown] + 1e-6).all()
            limp = before[1] == 0
            softly = most / contract.commands_per_action + 1e-6
            assert (np.abs(is_now)[limp] <= np.broadcast_to(softly, p.shape)[limp]).all()
        changed = np.any([getattr(wanted, n) != getattr(sent, n) for n in NAMES], axis=0).any(-1)
        assert bool(why) == bool(changed.any())
        damped = (k[changed] == 0).all() and (d[changed] == kd).all()
        assert damped, "what is not let through is damped, all joints of it"
        before, last = (p, k), np.where(k > 0, p, last)
        refused += int(changed.sum())
        passed += int((~changed).sum())
    assert passed + refused >= 1_000_000 and passed > 200_000 and refused > 200_000


@pytest.mark.parametrize(
    "part, value, why",
    [
        ("position", np.nan, "is not finite"),
        ("stiffness", np.inf, "is not finite"),
        ("damping", np.nan, "is not finite"),
        ("position", 9.0, "is beyond its range"),
        ("stiffness", 1e6, "has impossible gains"),
        ("stiffness", -1.0, "has impossible gains"),
        ("damping", -1.0, "has impossible gains"),
        ("damping", 1e4, "has impossible gains"),
    ],
)
def test_one_wrong_number_damps_all_joints_and_says_why(
    contract: Contract, part: str, value: float, why: str
) -> None:
    sound = JointTargets(
        position=values(contract, "default"), stiffness=values(contract, "kp"), damping=values(contract, "kd")
    )
    changed = getattr(sound, part).copy()
    changed[3] = value
    watched = Gate(contract, holding=True)
    assert watched.passed(sound) == (sound, "")
    sent, said = watched.passed(replace(sound, **{part: changed}))
    assert said == f"a command for {contract.joint_names[3]} {why}"
    assert not sent.stiffness.any() and (sent.damping == values(contract, "kd")).all()


def test_torque_and_rate_have_reasons_of_their_own(contract: Contract) -> None:
    default, kp, kd = (values(contract, n) for n in ("default", "kp", "kd"))
    reach = values(contract, "upper") + 1.4 * values(contract, "max_torque") / kp
    stiff = JointTargets(position=reach, stiffness=2 * kp, damping=kd)
    assert "asks for more torque than it has" in Gate(contract, holding=True).passed(stiff)[1]
    watched = Gate(contract, holding=True)
    for _ in range(2 * contract.commands_per_action):  # the way there may be long; it takes its time
        there = JointTargets(position=default, stiffness=kp, damping=kd)
        assert watched.passed(there)[1] == ""
    back = JointTargets(position=values(contract, "lower") - 0.5, stiffness=kp, damping=kd)
    assert "asks for torque too suddenly" in watched.passed(back)[1]
    shaking = Gate(contract, holding=True)
    said = []
    for k in range(60):
        here = JointTargets(position=default + 0.3 * (-1) ** k, stiffness=kp, damping=kd)
        said.append(shaking.passed(here)[1])
    assert any("too suddenly" in why for why in said), "small steps add up within a control period"


def test_a_target_that_may_jump_at_the_policys_gains_may_not_when_stiff(contract: Contract) -> None:
    """What steps torque is stiffness times way: at 20 × kp a twentieth of the way is as much."""
    default, kp, kd = (values(contract, n) for n in ("default", "kp", "kd"))
    jump = default + 0.3 * np.sign(values(contract, "upper") + values(contract, "lower") - 2 * default + 1e-9)
    soft = JointTargets(position=jump, stiffness=kp, damping=kd)
    assert Gate(contract, holding=True).passed(soft)[1] == ""
    for factor, why in ((1.0, ""), (STIFFEST, "too suddenly")):
        watched = Gate(contract, holding=True)
        for k in np.linspace(1.0, factor, 3000):  # as stiff as that, in three seconds
            assert watched.passed(JointTargets(position=default, stiffness=k * kp, damping=kd))[1] == ""
        assert why in watched.passed(JointTargets(position=jump, stiffness=factor * kp, damping=kd))[1]


def test_a_limp_robot_becomes_stiff_softly_wherever_its_joints_are(contract: Contract) -> None:
    """Never at once, and also not after it was let go for a moment."""
    default, kp, kd = (values(contract, n) for n in ("default", "kp", "kd"))
    held = JointTargets(position=default, stiffness=kp, damping=kd)
    assert "too suddenly" in Gate(contract).passed(held)[1]
    watched = Gate(contract, holding=True)
    limp = JointTargets(position=default, stiffness=0 * kp, damping=kd)
    assert watched.passed(held)[1] == "" and watched.passed(limp)[1] == ""
    assert "too suddenly" in watched.passed(held)[1]
    for k in np.linspace(0.0, 1.0, 250):
        assert watched.passed(JointTargets(position=default, stiffness=k * kp, damping=kd))[1] == ""


def test_another_number_of_joints_is_damped(contract: Contract) -> None:
    few = np.zeros(3)
    sent, why = Gate(contract).passed(JointTargets(position=few, stiffness=few, damping=few))
    assert "another number of joints" in why and not sent.stiffness.any()


def test_the_controller_may_ask_for_no_more_than_the_gate_lets_through() -> None:
    """The ranges of standing and damping end where the gate does."""
    with pytest.raises(Exception, match="expected"):
        StandConfig(stiffness=STIFFEST * 1.001)
    with pytest.raises(Exception, match="expected"):
        ControllerConfig(damping=MOST_DAMPED * 1.001)
    assert {f.name for f in fields(JointTargets)} == set(NAMES)


@pytest.mark.parametrize("robot", ["x2", "dr02", "g1"])
def test_a_sound_sitting_passes_from_first_to_last(robot: str) -> None:
    """Limp in any posture, up as stiffly and fast as may be asked for, and a walk that shakes all joints."""
    contract = stand_ins.contract(stand_ins.robot_config(robot))
    rng, count = np.random.default_rng(1), len(contract.joints)
    for share, stand in ((0.0, StandConfig()), (1.0, StandConfig(seconds=2.5, stiffness=STIFFEST))):
        watched = Gate(contract)
        policy = Scripted(lambda _: rng.normal(0.0, 1.0, count).astype(np.float32))
        bench = Bench(contract, policy, stand=stand)
        lower, upper = values(contract, "lower"), values(contract, "upper")
        bench.position = lower + share * (upper - lower)
        for number in range(3500):
            if number in (5, 2600):
                wish = "stand" if number == 5 else "walk"
                assert bench.controller.request(bench.now, wish) == ""
            assert watched.passed(bench.tick())[1] == ""
        assert bench.controller.phase is Phase.WALK


def test_it_knows_the_contract_alone_and_can_be_read_in_a_minute() -> None:
    text = inspect.getsource(gate)
    assert [line for line in text.splitlines() if line.startswith("from ssr")] == [
        "from ssr.deployment.contract import Contract"
    ]
    assert len(text.splitlines()) < 110
