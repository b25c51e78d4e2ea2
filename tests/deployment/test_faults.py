"""The fault table: robot, camera pipeline and controller together, one fault each, and the state it ends in.

The robot hangs on its gantry, so that an untrained policy may move its legs for as long as a test likes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import stand_ins

from ssr.deployment.config import ControllerConfig, StandConfig
from ssr.deployment.controller import Phase
from ssr.deployment.exported import Exported, read
from ssr.rehearsal.config import FaultConfig, GantryConfig
from ssr.rehearsal.faults import Fault
from ssr.rehearsal.lockstep import Lockstep
from ssr.rehearsal.training import Training
from ssr.rehearsal.trial import strip
from ssr.robots import load

AFTER = 0.6  #: s, when the fault begins
CONFIG = ControllerConfig(stand=StandConfig(seconds=0.15, stiffness=1.0))


def hanging(policy: Exported, kind: str = "none") -> Lockstep:
    """A robot in the air whose policy acts."""
    fault = Fault(FaultConfig(kind=kind, after=AFTER))  # type: ignore[arg-type]
    world = Lockstep(
        policy,
        Training(),
        load("x2"),
        strip("flat"),
        config=CONFIG,
        gantry=GantryConfig(mode="hold"),
        fault=fault,
    )
    ticks(world, lambda: world.now >= 0.05)
    assert world.controller.request(world.now, "stand") == ""
    ticks(world, lambda: world.now >= 0.25)
    assert world.controller.request(world.now, "walk") == ""
    ticks(world, lambda: world.now >= AFTER)
    assert world.controller.phase is Phase.WALK, world.controller.reason
    return world


def ticks(world: Lockstep, done: Callable[[], bool], most: int = 5000) -> None:
    for _ in range(most):
        if done():
            return
        world.tick()
    assert done(), f"not done after {most} ms: {world.controller.phase} {world.controller.reason}"


@pytest.fixture(scope="module")
def policy(run: Path) -> Exported:
    return read(run)


#: fault → the longest time (ms) until damping, and the reason given
STOPPED = {
    "silent-joints": (21, "no new joint state"),
    "frozen-joints": (71, "has not changed"),
    "nan-joint": (1, "not finite"),
    "malformed": (21, "no new joint state"),
    "silent-imu": (21, "no new IMU"),
    "jumping-joint": (2, "jumps by"),
    "racing-joint": (1, "more than it can do"),
    "joints-backwards": (4, "joint states run backwards"),
    "frozen-imu": (71, "IMU has not changed"),
    "nan-imu": (1, "not finite"),
    "spinning-imu": (1, "rad/s, more than can be"),
    "heavy-imu": (1, "m/s², more than can be"),
    "bent-imu": (21, "no new IMU"),
    "jumping-imu": (1, "IMU jumps by"),
    "imu-backwards": (4, "IMU messages run backwards"),
    "depth-backwards": (321, "depth images run backwards"),
    "silent-depth": (321, "no new depth image"),
    "frozen-depth": (321, "no new depth image"),
    "repeated-depth": (321, "no new depth image"),
    "cycling-depth": (321, "no new depth image"),
    "blind-depth": (321, "no new depth image"),
    "malformed-depth": (321, "no new depth image"),
}


@pytest.mark.parametrize("kind", STOPPED)
def test_a_fault_ends_in_damping(policy: Exported, kind: str) -> None:
    world = hanging(policy, kind)
    limit, reason = STOPPED[kind]
    begin = world.ticks
    ticks(world, lambda: world.controller.phase is Phase.DAMP, limit)
    assert reason in world.controller.reason
    assert world.ticks - begin <= limit
    world.tick()
    assert not world.robot.motors.stiffness.any() and (world.robot.motors.damping > 0).all()


@pytest.mark.parametrize("kind", ["loss", "clock-jump"])
def test_a_fault_that_is_none_changes_nothing(policy: Exported, kind: str) -> None:
    """A fifth of all messages may be lost, and the robot's clock may be set: it walks on."""
    world = hanging(policy, kind)
    ticks(world, lambda: world.now > AFTER + 1.5)
    assert world.controller.phase is Phase.WALK, world.controller.reason


def test_a_robot_without_commands_damps_itself(policy: Exported) -> None:
    world = hanging(policy)
    assert world.robot.motors.stiffness.any()
    for _ in range(120):
        world.robot.step()
    assert not world.robot.motors.stiffness.any() and (world.robot.motors.damping > 0).all()


def test_the_same_seed_is_the_same_trial_to_the_last_bit(policy: Exported) -> None:
    def walk(seed: int) -> tuple[float, ...]:
        world = Lockstep(policy, Training(), load("x2"), strip("stairs_up", "0.1/0.3"), seed=seed)
        world.scatter()
        world.listen()
        world.controller.begin_walk()
        for _ in range(300):
            world.steer(0.5)
            world.tick()
        return tuple(world.robot.data.qpos)

    first = walk(5)
    assert walk(5) == first and walk(6) != first


def test_it_stands_up_from_the_gantry_and_stays_up() -> None:
    """Idle and limp on the hook, stiff, let down, on its own feet: for every robot."""
    for name in ("x2", "dr02", "g1"):
        robot = load(name)
        contract = stand_ins.contract(stand_ins.robot_config(name))
        bench = stand_ins.Bench(contract, stand=StandConfig(seconds=1.0))
        gantry = GantryConfig(stiff_seconds=1.1, lift=0.05)
        world = stand_ins.Suspended(robot, strip("flat"), bench.controller, gantry)
        world.tick(300)
        world.controller.request(world.now, "stand")
        world.tick(3500)
        assert not world.robot.truth().hanging
        assert world.controller.phase is Phase.STAND, world.controller.reason
        height = world.robot.truth().position[2]
        assert abs(height - robot.standing_height) < 0.03
