"""The whole deployment on one machine: `ssr robot-sim` and `ssr deploy` as processes, an operator between."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ssr.deployment.config import DdsConfig
from ssr.errors import UserError
from ssr.rehearsal.config import TrialConfig
from ssr.rehearsal.operator import PAUSE, Operator
from ssr.rehearsal.trial import Outcome, length_for, outcome, steer

START_SECONDS = 60.0  #: for both processes to be up and the robot to stand on its feet
SETTLE = 1.0  #: s of standing still before the way begins
GOODBYE = 10.0  #: s for a process to end when asked


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where a trial takes place."""

    run: Path
    robot: str
    terrain: str
    setting: str | None = None
    level: int | None = None


class Process:
    """A command of ours, whose words are kept and which is gone at the end."""

    def __init__(self, *words: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ssr.cli.main", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """At once, as if the power failed."""
        self._process.kill()
        self._process.wait()

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self) -> tuple[int, str]:
        """Ask it to stop; its exit code and what it said."""
        self._process.terminate()
        return self.wait()

    def wait(self) -> tuple[int, str]:
        """For it to end by itself; its exit code and what it said."""
        try:
            text, _ = self._process.communicate(timeout=GOODBYE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            text, _ = self._process.communicate()
        return self._process.returncode, text


def robot_words(site: Site, length: float, domain: int, seed: int) -> list[str]:
    words = ["robot-sim", "--run", str(site.run), "--robot", site.robot, "--terrain", site.terrain]
    words += ["--seed", str(seed)]
    words += ["--length", str(length)]
    words += ["--network.domain", str(domain)]
    words += ["--setting", site.setting] if site.setting is not None else []
    words += ["--level", str(site.level)] if site.level is not None else []
    return words


def deploy_words(site: Site, domain: int) -> list[str]:
    return ["deploy", str(site.run), "--arm", "--network.domain", str(domain)]


def run_trial(site: Site, trial: TrialConfig, *, domain: int, seed: int) -> Outcome:
    """One trial by the wall clock: up from the gantry, on to the feet, along the strip."""
    operator = Operator(DdsConfig(domain=domain))
    with ExitStack() as stack:
        robot = Process(*robot_words(site, length_for(trial), domain, seed))
        stack.callback(robot.end)
        controller = Process(*deploy_words(site, domain))
        stack.callback(controller.end)
        on_its_feet = lambda: operator.truth.get("hanging") is False
        ready = (
            operator.bring_to("stand", START_SECONDS)
            and operator.until(on_its_feet, START_SECONDS)
            and operator.bring_to("walk", START_SECONDS)
        )
        if not (ready and robot.running and controller.running):
            words = {"robot-sim": robot.end()[1], "deploy": controller.end()[1]}
            last = "; ".join(f"{who}: {text.strip().splitlines()[-1:]}" for who, text in words.items())
            raise UserError(f"The robot did not come to walk. Last words of {last}.")
        return _walk(operator, trial)


def _walk(operator: Operator, trial: TrialConfig) -> Outcome:
    _drive_for(operator, SETTLE, 0.0)
    start = operator.truth["position"][0]
    seconds, ending = _drive_for(operator, trial.seconds, trial.speed)
    return outcome(trial, seconds, operator.truth["position"][0] - start, ending)


def _drive_for(operator: Operator, seconds: float, speed: float) -> tuple[float, str | None]:
    """Steer along the strip; how long it went well, and why it ended if not by time."""
    begin = operator.truth["time"]
    ending, heard = None, time.monotonic()
    while ending is None and operator.truth["time"] - begin < seconds:
        before = operator.truth["time"]
        operator.look()
        operator.drive(*steer(operator.truth["yaw"], operator.truth["position"][1], speed))
        ending = operator.truth["fall"]
        if ending is None and operator.status.get("phase") == "damp":
            ending = f"damped: {operator.status['reason']}"
        if operator.truth["time"] != before:
            heard = time.monotonic()
        elif time.monotonic() - heard > GOODBYE:
            ending = "the simulated robot fell silent"
        time.sleep(PAUSE)
    return operator.truth["time"] - begin, ending
