"""The controller alone, with a clock of its own: states, orders, limits and every reason to stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from stand_ins import Bench, Scripted

from ssr.deployment.config import SafetyConfig, StandConfig
from ssr.deployment.contract import Contract, check_joint_names
from ssr.deployment.controller import Controller, Phase
from ssr.deployment.messages import Header, Quaternion, Twist, Vector3, stamp
from ssr.deployment.robot_state import JointOrder
from ssr.errors import UserError

CONTROL_PERIOD = 20  #: ticks


def test_the_way_is_idle_stand_walk_damp_idle(contract: Contract) -> None:
    bench = Bench(contract, stand=StandConfig(seconds=1.0))
    c = bench.controller
    limp = bench.tick(5)
    assert c.phase is Phase.IDLE and not limp.stiffness.any() and not limp.damping.any()
    assert "once the robot stands" in c.request(bench.now, "walk")
    assert c.request(bench.now, "stand") == ""
    assert "once the robot stands" in c.request(bench.now, "walk")  # it is still getting up
    standing = bench.tick(1010)
    assert c.phase is Phase.STAND
    np.testing.assert_allclose(standing.position, contract.values("default"))
    np.testing.assert_allclose(standing.stiffness, 8.0 * np.array(contract.values("kp")))
    assert c.request(bench.now, "walk") == ""
    walking = bench.tick(30)
    assert c.phase is Phase.WALK
    np.testing.assert_allclose(walking.stiffness, contract.values("kp"))
    np.testing.assert_allclose(walking.damping, contract.values("kd"))
    assert "damp first" in c.request(bench.now, "idle")
    assert c.request(bench.now, "damp") == ""
    damped = bench.tick()
    assert c.phase is Phase.DAMP and not damped.stiffness.any() and (damped.damping > 0).all()
    assert "from idle only" in c.request(bench.now, "stand")
    assert c.request(bench.now, "idle") == "" and c.phase is Phase.IDLE
    assert "unknown request 'fly'" in c.request(bench.now, "fly")


def test_standing_up_begins_where_the_joints_are(contract: Contract) -> None:
    bench = Bench(contract)
    bench.position = bench.position + 0.15
    bench.tick(5)
    bench.controller.request(bench.now, "stand")
    first = bench.tick()
    np.testing.assert_allclose(first.position, bench.position, atol=1e-3)
    steps = [bench.tick() for _ in range(160)]
    assert np.abs(np.diff([step.position for step in steps], axis=0)).max() < 0.02  # no jump on the way
    share = np.array([step.stiffness for step in steps]) / contract.values("kp")
    assert share[0].max() < 0.01 and (share[-1] == 1.0).all(), "stiffness begins at nothing"
    assert np.diff(share, axis=0).min() >= 0.0 and np.diff(share, axis=0).max() < 0.02


def test_nothing_starts_without_a_healthy_robot(contract: Contract) -> None:
    bench = Bench(contract)
    assert "no joint state yet" in bench.controller.request(0.0, "stand")
    bench.says["depth"] = False
    bench.tick(5)
    bench.controller.request(bench.now, "stand")
    bench.tick(170)
    assert "no depth image yet" in bench.controller.request(bench.now, "walk")


def test_joints_are_found_by_name_in_any_order(contract: Contract) -> None:
    straight, shuffled = Bench(contract), Bench(contract)
    names = [*contract.joint_names, *contract.locked_joints]
    shuffled.names = tuple(np.random.default_rng(3).permutation(names))
    for bench in (straight, shuffled):
        bench.position = np.linspace(-0.1, 0.1, 21) + np.array(contract.values("default"))
        bench.tick(10)
    a, b = (bench.controller.senses.joints for bench in (straight, shuffled))
    assert a is not None and b is not None
    np.testing.assert_allclose(a.position, b.position, atol=1e-3)


def test_a_robot_with_other_joints_is_refused_by_name(contract: Contract) -> None:
    names = list(contract.joint_names)
    with pytest.raises(UserError, match="right_knee_joint is missing"):
        check_joint_names(contract, [n for n in names if n != "right_knee_joint"], "The robot")
    with pytest.raises(UserError, match="tail_joint is unknown to the policy"):
        check_joint_names(contract, [*names, "tail_joint"], "The robot")
    with pytest.raises(UserError, match="named twice"):
        check_joint_names(contract, [*names, names[0]], "The robot")
    check_joint_names(contract, [*reversed(names), *contract.locked_joints], "The robot")


def test_a_robot_that_changes_its_joints_is_damped(contract: Contract) -> None:
    bench = Bench(contract).walk()
    bench.names = bench.names[:-1]
    bench.tick()
    assert bench.controller.phase is Phase.DAMP
    assert "left_elbow_joint is missing" in bench.controller.reason


def test_targets_are_default_plus_scaled_action_cut_where_no_motor_notices(contract: Contract) -> None:
    """Wherever a joint is within its range, and for motors a quarter too weak, the torque is the same."""
    rng = np.random.default_rng(0)
    actions = (rng.normal(0.0, 1.0, (200, 21)) * rng.choice([1.0, 10.0, 1e4], (200, 1))).astype(np.float32)
    bench = Bench(contract, Scripted(lambda k: actions[k])).walk()
    array = lambda name: np.array(contract.values(name))
    wanted = array("default") + array("action_scale") * actions
    for _ in range(100):
        target = bench.tick(CONTROL_PERIOD).position
        asked = wanted[len(bench.policy.seen) - 1]
        assert np.abs(target).max() < 15.0
        for share in (0.0, 0.3, 1.0):
            for strength in (0.75, 1.0, 1.3):
                q = array("lower") + share * (array("upper") - array("lower"))
                given, meant = (
                    np.clip(strength * array("kp") * (t - q), -array("max_torque"), array("max_torque"))
                    for t in (target, asked)
                )
                np.testing.assert_allclose(given, meant, rtol=1e-5)
    assert bench.controller.counts["clamped"] > 0


def test_the_policy_sees_its_own_last_action_and_a_new_walk_forgets(contract: Contract) -> None:
    bench = Bench(contract, Scripted(lambda k: np.full(21, 0.01 * k, np.float32))).walk()
    frames = [history[-1, -21:] for history, _ in bench.policy.seen]
    for k, previous in enumerate(frames):
        np.testing.assert_allclose(previous, 0.01 * max(k - 1, 0), atol=1e-6)
    first = bench.policy.seen[0][0]
    assert (first == first[0]).all()  # the first frame fills the history
    bench.controller.request(bench.now, "damp")
    bench.controller.request(bench.now, "idle")
    walked, resets = len(bench.policy.seen), bench.policy.resets
    bench.walk()
    assert bench.policy.resets == resets + 1
    again = bench.policy.seen[walked][0]
    assert (again == again[0]).all() and not again[-1, -21:].any()


def test_a_policy_of_a_slow_camera_is_fed_at_its_rate(contract: Contract) -> None:
    """Images come every 33 ms; one is taken every 5 control steps and held between."""
    bench = Bench(contract).walk()
    bench.tick(1000)
    images = [depth[0, 0] for _, depth in bench.policy.seen]
    period = contract.camera.period
    assert period == 5 and len(images) > 50
    for k, image in enumerate(images):
        assert image == images[k - k % period]
    assert len(set(images)) == -(-len(images) // period)


def test_velocity_is_clamped_and_runs_out(contract: Contract) -> None:
    bench = Bench(contract)
    command = Twist(Vector3(9.0, -9.0, 0.0), Vector3(0.0, 0.0, 0.3))
    bench.controller.hear_velocity(0.0, command)
    np.testing.assert_allclose(bench.controller.velocity(0.1), [1.2, -0.4, 0.3])
    assert not bench.controller.velocity(0.6).any()
    bench.controller.hear_velocity(1.0, replace(command, linear=Vector3(np.nan, 0.0, 0.0)))
    assert not bench.controller.velocity(1.0).any() and bench.controller.counts["malformed"] == 1


# ---- faults ---------------------------------------------------------------------------------------------


def damped_after(bench: Bench, limit: int) -> str:
    """Walking, then a fault: damping within `limit` ticks, for good; the reason."""
    for _ in range(limit):
        targets = bench.tick()
        if bench.controller.phase is Phase.DAMP:
            break
    assert bench.controller.phase is Phase.DAMP and not targets.stiffness.any()
    reason = bench.controller.reason
    bench.says.update(joints=True, imu=True, depth=True)
    bench.tick(200)
    assert bench.controller.phase is Phase.DAMP  # health alone does not end it
    return reason


def test_silent_joints_are_damped_after_one_control_period(contract: Contract) -> None:
    bench = Bench(contract).walk()
    bench.says["joints"] = False
    bench.tick(15)
    assert bench.controller.phase is Phase.WALK
    assert "no new joint state" in damped_after(bench, CONTROL_PERIOD - 15 + 1)


def test_silent_imu_is_damped_after_one_control_period(contract: Contract) -> None:
    bench = Bench(contract).walk()
    bench.says["imu"] = False
    assert "no new IMU" in damped_after(bench, CONTROL_PERIOD + 1)


def test_silent_depth_is_damped(contract: Contract) -> None:
    bench = Bench(contract).walk()
    bench.says["depth"] = False
    assert "no new depth image" in damped_after(bench, 300 + 1)


@pytest.mark.parametrize("value", [np.nan, np.inf, 40.0])
def test_impossible_joint_positions_are_damped_at_once(contract: Contract, value: float) -> None:
    bench = Bench(contract).walk()
    bench.position = bench.position.copy()
    bench.position[3] = value
    assert "right_knee_joint" in damped_after(bench, 1)


def test_impossible_joint_velocity_is_damped_at_once(contract: Contract) -> None:
    bench = Bench(contract).walk()
    sound = bench.joints
    bench.joints = lambda: replace(sound(), velocity=np.full(21, 99.0))  # type: ignore[method-assign]
    assert "rad/s" in damped_after(bench, 1)


def test_a_fall_is_damped_at_once(contract: Contract) -> None:
    bench = Bench(contract).walk()
    half = 0.55
    sound = bench.imu
    lying = Quaternion(np.sin(half), 0.0, 0.0, np.cos(half))
    bench.imu = lambda: replace(sound(), orientation=lying)  # type: ignore[method-assign]
    assert "tilted by 63°" in damped_after(bench, 1)


def test_an_action_that_is_not_finite_is_damped(contract: Contract) -> None:
    broken = Scripted(lambda k: np.full(21, np.nan if k == 8 else 0.0, np.float32))
    bench = Bench(contract, broken).walk()
    assert "not finite" in damped_after(bench, 10 * CONTROL_PERIOD)


def test_an_image_that_is_not_finite_is_damped(contract: Contract) -> None:
    bench = Bench(contract).walk()
    bench.image = np.full_like(bench.image, np.nan)
    assert "depth image" in damped_after(bench, 40)


class Slow:
    """A thinker that is late when told to be."""

    def __init__(self) -> None:
        self.late = False
        self._asked = False

    def forget(self) -> None:
        self._asked = False

    def ask(self, history: np.ndarray, depth: np.ndarray) -> None:
        self._asked = True

    def answer(self) -> np.ndarray | None:
        if self.late or not self._asked:
            return None
        self._asked = False
        return np.zeros(21, np.float32)


def test_one_late_action_holds_the_last_target_two_damp(contract: Contract) -> None:
    bench = Bench(contract)
    slow = Slow()
    bench.controller = Controller(contract, slow, bench.controller.config)
    bench.walk()
    slow.late = True
    bench.tick(2 * CONTROL_PERIOD)
    slow.late = False
    assert bench.controller.counts["missed"] == 1
    bench.tick(5 * CONTROL_PERIOD)
    assert bench.controller.phase is Phase.WALK and bench.controller.counts["missed"] == 1
    slow.late = True
    bench.tick(3 * CONTROL_PERIOD)
    assert bench.controller.phase is Phase.DAMP
    assert "without an action in time" in bench.controller.reason


def test_a_controller_that_slept_too_long_damps(contract: Contract) -> None:
    bench = Bench(contract).walk()
    bench.ticks += 3 * CONTROL_PERIOD
    bench.tick()
    assert bench.controller.phase is Phase.DAMP


def test_stamps_may_jump_without_harm(contract: Contract) -> None:
    """Only the time of receipt counts: a robot whose clock is set back or forth walks on."""
    bench = Bench(contract).walk()
    sound_joints, sound_imu = bench.joints, bench.imu
    for jump in (-3600 * 10**9, 3600 * 10**9):
        header = Header(stamp(10**15 + jump), "")
        bench.joints = lambda h=header: replace(sound_joints(), header=h)  # type: ignore[method-assign, misc]
        bench.imu = lambda h=header: replace(sound_imu(), header=h)  # type: ignore[method-assign, misc]
        bench.frames += jump
        bench.tick(1000)
        assert bench.controller.phase is Phase.WALK, bench.controller.reason


def test_a_message_that_contradicts_itself_is_ignored_until_it_is_the_only_one(contract: Contract) -> None:
    bench = Bench(contract).walk()
    short = replace(bench.joints(), position=np.zeros(20))
    assert JointOrder(contract).read(short) is None
    for _ in range(200):
        bench.controller.hear_joints(bench.now, short)
        bench.tick()
    assert bench.controller.phase is Phase.WALK and bench.controller.counts["malformed"] == 200
    bench.joints = lambda: short  # type: ignore[method-assign]
    assert "no new joint state" in damped_after(bench, CONTROL_PERIOD + 1)


def test_an_orientation_that_is_none_is_ignored(contract: Contract) -> None:
    bench = Bench(contract).walk()
    sound = bench.imu
    bench.imu = lambda: replace(sound(), orientation=Quaternion(0.0, 0.0, 0.0, 0.0))  # type: ignore[method-assign]
    assert "no new IMU" in damped_after(bench, CONTROL_PERIOD + 1)


def test_a_looser_watch_can_be_asked_for(contract: Contract) -> None:
    bench = Bench(contract, safety=SafetyConfig(joint_timeout=0.1)).walk()
    bench.says["joints"] = False
    bench.tick(90)
    assert bench.controller.phase is Phase.WALK


def test_one_impossible_message_among_good_ones_is_enough(contract: Contract) -> None:
    """Several arrive between two commands; not only the newest counts."""
    for spoil in (
        lambda bench: bench.controller.hear_joints(
            bench.now, replace(bench.joints(), position=np.full(len(bench.names), np.nan))
        ),
        lambda bench: bench.controller.hear_imu(
            bench.now, replace(bench.imu(), angular_velocity=Vector3(np.nan, 0.0, 0.0))
        ),
    ):
        bench = Bench(contract).walk()
        spoil(bench)
        bench.tick()
        assert bench.controller.phase is Phase.DAMP and "not finite" in bench.controller.reason


def test_a_walking_robot_is_believed_though_messages_come_in_bursts(contract: Contract) -> None:
    bench = Bench(contract).walk()
    speed = 0.9 * np.array(contract.values("max_velocity"))
    for number in range(300):
        bench.position = np.array(contract.values("default")) + 0.1 * np.sin(speed / 0.1 * number * 0.001)
        bench.says["joints"] = number % 8 == 7  # eight at once
        if bench.says["joints"]:
            for _ in range(8):
                bench.controller.hear_joints(bench.now, bench.joints())
        bench.tick()
    assert bench.controller.phase is Phase.WALK, bench.controller.reason
