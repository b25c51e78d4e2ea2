"""The controller on a robot: 1 kHz to the joints, 50 Hz to the policy, everything recorded."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ssr.deployment.config import DeployConfig
from ssr.deployment.contract import as_dict, check_joint_names
from ssr.deployment.controller import Controller, Phase
from ssr.deployment.depth_input import Camera, DepthInput, RealSenseCamera, Seen, TopicCamera
from ssr.deployment.exported import Exported
from ssr.deployment.gate import Gate, JointTargets
from ssr.deployment.keyboard import HELP, Keyboard
from ssr.deployment.messages import (
    Float32MultiArray,
    Header,
    Image,
    Imu,
    JointCommand,
    JointState,
    MultiArrayLayout,
    String,
    Twist,
    stamp,
)
from ssr.deployment.onnx_policy import OnnxPolicy
from ssr.deployment.realtime import Beat, claim_priority, come_first, step_back
from ssr.deployment.recording import Tape
from ssr.deployment.thinking import Background
from ssr.deployment.topics import EVERY, Network, Reader
from ssr.errors import UserError

SLOW_TICKS = 10  #: command periods between looks at operators' topics
STATUS_TICKS = 100  #: command periods between status messages
FAREWELL = 0.2  #: s of damping commands before the controller leaves
NOTHING = np.empty(0)


@dataclass(frozen=True, kw_only=True)
class Report:
    """How a sitting went."""

    seconds: float
    command_rate: float  #: Hz, mean
    skipped_commands: int  #: command periods slept through
    longest_pause: float  #: s, the longest of them in a row
    missed_actions: (
        int  #: control steps whose action came late; the last target was held, or the robot damped
    )
    phase: Phase
    reason: str
    recording: Path | None
    dropped_records: int


class Runtime:
    def __init__(
        self, exported: Exported, config: DeployConfig, run: Path, say: Callable[[str], None] = print
    ) -> None:
        self.config, self.contract, self.say = config, exported.contract, say
        self._notice = claim_priority() if config.realtime else ""
        names, self.network = config.topics, Network(config.network)
        self.joints = self.network.reader(names.joint_states, JointState, pins=True)
        self.imu = self.network.reader(names.imu, Imu, pins=True)
        self.velocity = self.network.reader(names.velocity, Twist, pins=True)
        self.requests = self.network.reader(names.request, String, depth=EVERY, reliable=True, pins=True)
        self.cries = self.network.reader(names.request, String)  #: from those who offer best effort only
        self.commands = self.network.writer(names.joint_commands, JointCommand)
        self.statuses = self.network.writer(names.status, String)
        self.images: Reader[Image] | None = None  #: none with a camera of this computer's own
        self._thinker = Background(OnnxPolicy(exported))
        self.controller = Controller(self.contract, self._thinker, config.controller)
        self.gate = Gate(self.contract)
        self._run = run
        self._running = True
        self._last_seen: Seen | None = None
        self._last_step: object = None
        self._told: tuple[Phase, str] | None = None

    # ---- a sitting --------------------------------------------------------------------------------------

    def run(self) -> Report:
        with ExitStack() as stack:
            stack.callback(self._thinker.close)
            stack.enter_context(self._stopping_on_signals())
            self._greet()
            self._wait_for_robot()
            self.depth = DepthInput(self._camera(), self.contract.camera)
            stack.callback(self.depth.close)
            self.recording = self._open_recording()
            if self.recording is not None:
                stack.callback(self.recording.close)
            keyboard = self._keyboard()
            if keyboard is not None:
                stack.enter_context(keyboard)
            stack.callback(self._farewell)
            report = self._loop(keyboard)
        return report()

    def _greet(self) -> None:
        c = self.contract
        for notice in (self._notice, self.network.exposed):
            if notice:
                self.say(notice)
        mode = (
            "armed: commands go to the robot" if self.config.arm else "dry run: nothing is sent (--arm sends)"
        )
        self.say(f"{c.robot}, policy of iteration {c.iteration}; {mode}")

    def _wait_for_robot(self) -> None:
        """The robot's joints must be the contract's before anything else happens."""
        topic, end = self.config.topics.joint_states, time.monotonic() + self.config.wait
        self.say(f"waiting for /{topic} on domain {self.config.network.domain}")
        while self._running and time.monotonic() < end:
            if self.joints.wait(0.1):
                for message in self.joints.take()[-1:]:
                    check_joint_names(self.contract, tuple(message.name), "The robot's joint state")
                    return
        if self._running:
            why = f" ({self.joints.broken} unreadable messages)" if self.joints.broken else ""
            raise UserError(
                f"No /{topic} within {self.config.wait:g} s{why}. Is the robot on, and on domain "
                f"{self.config.network.domain} and interface {self.config.network.interface!r}?"
            )

    def _camera(self) -> Camera:
        if self.config.camera == "realsense":
            return RealSenseCamera(self.contract.camera)
        self.images = self.network.reader(
            self.config.topics.depth, Image, depth=2, reliable=self.config.reliable_depth, pins=True
        )
        return TopicCamera(self.images, self.contract.camera)

    def _open_recording(self) -> Tape | None:
        if not self.config.recording:
            return None
        default = self._run / "recordings" / f"{time.strftime('%Y%m%d-%H%M%S')}.mcap"
        contract = {"json": json.dumps(as_dict(self.contract))}
        return Tape(self.config.record or default, {"ssr_contract": contract})

    def _keyboard(self) -> Keyboard | None:
        if not (self.config.keyboard and sys.stdin.isatty()):
            return None
        self.say(HELP)
        return Keyboard(self.contract.velocity_limits)

    @contextmanager
    def _stopping_on_signals(self) -> Iterator[None]:
        def stop(number: int, frame: object) -> None:
            self._running = False

        # A terminal that is lost hangs up: the robot must be damped then, too.
        heard = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
        before = {number: signal.signal(number, stop) for number in heard}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _loop(self, keyboard: Keyboard | None) -> Callable[[], Report]:
        come_first()
        beat, end = Beat(self.contract.command_period), self.config.seconds
        start = time.monotonic()
        while self._running and (end is None or time.monotonic() - start < end):
            number = beat.wait()
            now = time.monotonic()
            self._listen(now)
            if number % SLOW_TICKS == 0:
                self._obey(now, keyboard)
            targets = self.controller.tick(now, number)
            self._send(targets)
            self._record_step()
            self._tell(now, number % STATUS_TICKS == 0, beat)
        phase, reason, rate = self.controller.phase, self.controller.reason, beat.mean_rate
        seconds = time.monotonic() - start
        return lambda: Report(
            seconds=seconds,
            command_rate=rate,
            skipped_commands=beat.skipped,
            longest_pause=beat.longest * beat.period,
            missed_actions=self.controller.counts["missed"],
            phase=phase,
            reason=reason,
            recording=self.recording.path if self.recording else None,
            dropped_records=self.recording.dropped if self.recording else 0,
        )

    def _farewell(self) -> None:
        """Leave the robot damping, whatever the reason for leaving."""
        self.controller.request(time.monotonic(), Phase.DAMP)
        end = time.monotonic() + FAREWELL
        while time.monotonic() < end:
            self._send(self.controller.tick(time.monotonic(), 0))
            time.sleep(self.contract.command_period)
        step_back()

    # ---- parts of a millisecond -------------------------------------------------------------------------

    def _listen(self, now: float) -> None:
        topics, controller = self.config.topics, self.controller
        joints, imu = self.joints.take(), self.imu.take()
        for said in joints:
            controller.hear_joints(now, said)
        for felt in imu:
            controller.hear_imu(now, felt)
        seen = self.depth.latest
        if seen is not None and seen is not self._last_seen:
            self._last_seen = seen
            controller.hear_depth(seen.at, seen.stamp, seen.image)
        for said in joints:
            self._record(topics.joint_states, said)
        for felt in imu:
            self._record(topics.imu, felt)

    def _obey(self, now: float, keyboard: Keyboard | None) -> None:
        for twist in self.velocity.take()[-1:]:
            self.controller.hear_velocity(now, twist)
            self._record(self.config.topics.velocity, twist)
        # Who is not the operator may not steer; but anybody may stop the robot, however it is said.
        asked = self.requests.take()
        cried = [*self.cries.take(), *self.requests.strangers]
        wishes = [(w.data, w) for w in cried if w.data == Phase.DAMP] + [(w.data, w) for w in asked]
        if keyboard is not None:
            if keyboard.used:
                twist = keyboard.velocity()
                self.controller.hear_velocity(now, twist)
                self._record(self.config.topics.velocity, twist)
            while keyboard.requests:
                wish = keyboard.requests.popleft()
                wishes.append((wish, String(wish)))
        stops = [wish for wish in wishes if wish[0] == Phase.DAMP]  # beside which nothing else is heard
        for wish, message in stops or wishes:
            self._record(self.config.topics.request, message)
            if wish == Phase.STAND and self.controller.phase is Phase.IDLE:
                self.velocity.pin(self.requests.author)
            if answer := self.controller.request(now, wish):
                why = self.depth.trouble() if "depth" in answer else ""
                self.say(f"not now: {answer}" + (f" ({why})" if why else ""))
        # Who is heard changes only while nothing moves: nobody takes over when a participant leaves.
        for reader in self._heard():
            reader.settled = self.controller.phase in (Phase.STAND, Phase.WALK)
        if self.images is not None:  # not needed to stand, and perhaps not there yet
            self.images.settled = self.controller.phase is Phase.WALK

    def _heard(self) -> list[Reader[Any]]:
        found: list[Reader[Any]] = [self.joints, self.imu, self.velocity, self.requests]
        return found if self.images is None else [*found, self.images]

    def _send(self, wanted: JointTargets) -> None:
        targets, refused = self.gate.passed(wanted)
        if refused:
            self.controller.stop(refused)
        message = JointCommand(
            Header(stamp(), ""),
            self.contract.joint_names,
            targets.position,
            NOTHING,
            NOTHING,
            targets.stiffness,
            targets.damping,
        )
        message.raw = message.serialize()
        if self.config.arm:
            self.commands.write(message)
        self._record(self.config.topics.joint_commands, message)

    def _record_step(self) -> None:
        """What the policy saw, once per control step; the camera's image only when it is another one."""
        step = self.controller.last_step
        if step is None or step is self._last_step or self.recording is None:
            return
        self._last_step = step
        self._record("ssr/observation", _numbers(step.history[-1]))
        if step.fresh:
            self._record("ssr/depth", _as_message(step.depth))
            if self._last_seen is not None:
                self._record(self.config.topics.depth, self._last_seen.message)

    def _record(self, topic: str, message: object) -> None:
        if self.recording is not None:
            self.recording.add(topic, message)  # type: ignore[arg-type]

    def _tell(self, now: float, due: bool, beat: Beat) -> None:
        state = (self.controller.phase, self.controller.reason)
        if state != self._told:
            self._told, due = state, True
            self.say(": ".join(part for part in map(str, state) if part))
        if due:
            counts = self.controller.counts
            unreadable = self.joints.broken + self.imu.broken + self.depth.malformed
            status = self.controller.status(now)
            status["malformed"] = counts["malformed"] + unreadable
            status["stale_images"] = self.depth.stale
            status["command_rate"], status["skipped"] = round(beat.mean_rate, 1), beat.skipped
            status["longest_pause_ms"] = round(1000.0 * beat.longest * beat.period)
            status["refused"] = sum(reader.refused for reader in self._heard())
            status["recording"] = self.recording.failure if self.recording else "off"
            status["dropped"] = self.recording.dropped if self.recording else 0
            message = String(json.dumps(status))
            self.statuses.write(message)
            self._record(self.config.topics.status, message)


def _numbers(values: np.ndarray) -> Float32MultiArray:
    return Float32MultiArray(MultiArrayLayout([], 0), values)


def _as_message(depth: np.ndarray) -> Image:
    rows, columns = depth.shape
    data = depth.astype("<f4", copy=False).reshape(-1).view(np.uint8)
    return Image(Header(stamp(), "depth"), rows, columns, "32FC1", 0, 4 * columns, data)
