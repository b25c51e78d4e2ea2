"""Controller, robot and operator as processes of their own, over DDS on the loopback interface."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader

from ssr.cli.main import main
from ssr.deployment import exported, recording
from ssr.deployment.config import DdsConfig, TopicNames
from ssr.deployment.messages import Header, JointCommand, JointState, String, stamp
from ssr.deployment.topics import Network
from ssr.errors import UserError
from ssr.rehearsal.operator import Operator
from ssr.rehearsal.sim2sim import Process

DOMAIN = 100 + os.getpid() % 120  #: so that two test runs on one machine do not hear each other
PATIENCE = 90.0  #: s, for machines that have other things to do

#: A loaded machine without real-time priority must not fail the test: stop later than on a robot.
LOOSE = [
    *("--controller.safety.joint-timeout", "0.4", "--controller.safety.imu-timeout", "0.4"),
    *("--controller.safety.depth-timeout", "3.0", "--controller.safety.max-missed", "40"),
    *("--controller.stand.seconds", "1.0"),
]
NETWORK = ["--network.domain", str(DOMAIN)]


@pytest.fixture()
def processes() -> Iterator[list[Process]]:
    started: list[Process] = []
    yield started
    for process in started:
        process.end()


def test_loss_nonsense_and_a_robot_that_dies_and_comes_back(
    run: Path, tmp_path: Path, processes: list[Process]
) -> None:
    tape = tmp_path / "live.mcap"
    robot_words = ["robot-sim", "--gantry.mode", "hold", "--network.lossiness", "0.2", *NETWORK]
    robot = Process(*robot_words)
    controller = Process("deploy", str(run), "--arm", "--record", str(tape), *LOOSE, *NETWORK)
    processes += [robot, controller]
    operator = Operator(DdsConfig(domain=DOMAIN))

    # A fifth of the robot's packets are lost, and still it walks.
    assert operator.bring_to("stand", PATIENCE) and operator.bring_to("walk", PATIENCE), operator.status
    end = time.monotonic() + 2.0
    while time.monotonic() < end:
        operator.drive(0.3, 0.0, 0.0)
        operator.look()
        assert operator.status["phase"] == "walk", operator.status
        time.sleep(0.02)
    assert operator.status["velocity"] == [0.3, 0.0, 0.0]

    # Another participant that speaks for the robot is not heard, whatever it says.
    rogue = Network(DdsConfig(domain=DOMAIN)).writer(TopicNames().joint_states, JointState)
    assert operator.until(lambda: rogue.subscribers > 0, PATIENCE)
    names, short = exported.read(run).contract.joint_names, np.zeros(3)
    for _ in range(20):
        rogue.write(JointState(Header(stamp(), ""), names, short, short, short))
        time.sleep(0.005)
    assert operator.until(lambda: operator.status["refused"] > 0, PATIENCE)
    assert operator.status["malformed"] == 0
    assert operator.status["phase"] == "walk", operator.status

    # The robot dies: damping. It comes back: still damping, until an operator begins anew.
    robot.kill()
    assert operator.until(lambda: operator.status["phase"] == "damp", PATIENCE)
    assert operator.status["reason"].startswith("no new")
    processes.append(Process(*robot_words))
    operator.truth = {}
    assert operator.until(lambda: bool(operator.truth), PATIENCE)
    operator.ask("walk")
    time.sleep(0.5)
    operator.look()
    assert operator.status["phase"] == "damp"
    assert operator.bring_to("idle", PATIENCE) and operator.bring_to("stand", PATIENCE)
    assert operator.bring_to("walk", PATIENCE), operator.status

    code, words = controller.end()
    assert code == 0 and "Traceback" not in words, words
    check_recording(tape)


def test_a_controller_whose_terminal_is_lost_leaves_the_robot_damping(
    run: Path, processes: list[Process]
) -> None:
    """Hung up on, or quit by force: what counts is the last that was sent, and that it was sent at all."""
    network = ["--network.domain", str(DOMAIN + 4)]
    wire = Network(DdsConfig(domain=DOMAIN + 4)).reader(TopicNames().joint_commands, JointCommand, depth=300)
    processes.append(Process("robot-sim", "--gantry.mode", "hold", *network))
    operator = Operator(DdsConfig(domain=DOMAIN + 4))
    for asked in (signal.SIGHUP, signal.SIGQUIT):
        controller = Process("deploy", str(run), "--arm", "--no-recording", *LOOSE, *network)
        processes.append(controller)
        operator.status = {}
        assert operator.bring_to("stand", PATIENCE), operator.status
        assert operator.until(lambda: bool(operator.status.get("standing")), PATIENCE)
        wire.take()
        assert operator.until(lambda: wire.wait(0.0), PATIENCE)
        assert all(command.stiffness.all() for command in wire.take())
        controller.signal(asked)
        code, words = controller.wait()
        assert code == 0 and "Traceback" not in words, words
        last = wire.take()
        farewell = [command for command in last if not command.stiffness.any() and command.damping.all()]
        assert len(farewell) > 5 and last[-1] is farewell[-1]


def check_recording(tape: Path) -> None:
    """Complete, with everything in it."""
    with tape.open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None and summary.statistics is not None
    topics = {topic for topic, _, _, _ in recording.read(tape)}
    names = TopicNames()
    expected = {names.joint_states, names.imu, names.depth, names.joint_commands, names.request, names.status}
    assert {f"/{name}" for name in (*expected, names.velocity, "ssr/observation", "ssr/depth")} == topics
    said = [String.deserialize(raw).data for t, _, _, raw in recording.read(tape) if t == f"/{names.status}"]
    for phase in ("idle", "stand", "walk", "damp"):
        assert any(f'"phase": "{phase}"' in text for text in said)


def test_a_robot_with_other_joints_is_refused_before_anything_starts(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 2 and the one line names the joint."""
    domain = DOMAIN + 1
    writer = Network(DdsConfig(domain=domain)).writer(TopicNames().joint_states, JointState)
    stop = threading.Event()

    def speak() -> None:
        none = np.empty(0)
        while not stop.wait(0.01):
            writer.write(JointState(Header(stamp(), ""), ("left_hip_pitch_joint", "tail"), none, none, none))

    speaker = threading.Thread(target=speak)
    speaker.start()
    try:
        words = ["deploy", str(run), "--no-realtime", "--no-recording", "--network.domain", str(domain)]
        assert main(words) == 2
    finally:
        stop.set()
        speaker.join()
    error = capsys.readouterr().err
    assert "right_hip_pitch_joint is missing" in error and error.count("\n") == 1


def test_silence_is_reported_in_one_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["deploy", str(run), "--no-realtime", "--wait", "0.2", "--network.domain", str(DOMAIN + 2)]
    assert main(words) == 2
    assert "No /joint_states within 0.2 s" in capsys.readouterr().err


def test_impossible_networks_are_refused() -> None:
    with pytest.raises(UserError, match=r"network\.domain 233"):
        DdsConfig(domain=233)
    with pytest.raises(UserError, match="no_such_interface"):
        Network(DdsConfig(domain=DOMAIN + 3, interface="no_such_interface"))
