"""Under which conditions trials take place: the protocol of Sec. 4.1, and stress beyond it."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated

from ssr.errors import UserError, unknown
from ssr.evaluation.stress.registry import stress_named
from ssr.physics import engines
from ssr.physics.world import PhysicsConfig
from ssr.ranges import Seed, Within, settings
from ssr.task.config import RandomizationConfig, TaskConfig
from ssr.task.randomization import FRICTION_RULES
from ssr.vision.camera import CameraConfig
from ssr.vision.sensor import SensorConfig

SPEED = 1.0  #: m/s, the paper's command
MAX_SPEED = 1.5  #: m/s; a faster robot would run out of its strip in 20 s
LOOK_AHEAD = 3.0  #: m, of an operator where there is one
AVERAGE = FRICTION_RULES[0]


def as_built(luck: RandomizationConfig) -> RandomizationConfig:
    """Every robot alike: nothing added, nothing scaled, no delay, no pushes."""
    return replace(
        luck,
        added_mass=(0.0, 0.0),
        base_com=(0.0, 0.0),
        link_mass=(1.0, 1.0),
        link_com=(0.0, 0.0),
        motor_strength=(1.0, 1.0),
        gains=(1.0, 1.0),
        friction=(1.0, 1.0),
        action_delay=(0, 0),
        delays_in_turn=(),
        push_velocity=(0.0, 0.0),
    )


@settings("--")
class Conditions:
    """20 s at 1.0 m/s along the strip, randomized as in training; the other fields change that."""

    seed: Seed = 0
    speed: Annotated[float, Within(0.0, MAX_SPEED)] = SPEED  #: m/s
    seconds: Annotated[float, Within(0.02, 3600.0)] = 20.0
    look_ahead: Annotated[float, Within(0.0, 100.0)] = 0.0
    """m. 0: straight ahead, heading held, and nobody steers. More: an operator steers to the middle line that
    far ahead."""
    nominal: bool = False  #: no randomization of the dynamics: the robot as built, no pushes, no delay
    sensor: bool = False  #: the depth camera has noise, holes and grass before it
    push: Annotated[float | None, Within(0.0, 3.0)] = None  #: m/s, most on each axis, every 12 s
    friction: Annotated[float | None, Within(0.01, 2.0)] = None  #: between sole and ground, as it acts
    friction_rule: str = AVERAGE  #: Table 10's friction averaged with the ground's 1.0, or direct
    payload: Annotated[float | None, Within(-5.0, 60.0)] = None  #: kg on the base
    freeze_depth: Annotated[float | None, Within(0.0, 3600.0)] = None
    """Seconds, from when on the camera shows nothing new."""
    blind: bool = False  #: the camera shows nothing: every pixel is at its far limit
    engine: str = engines.AUTO  #: of physics; auto: the one a policy was trained in, if it insists on one
    stress: str = ""  #: one of `ssr.evaluation.stress.registry`, or none
    dose: Annotated[float, Within(0.0, 3600.0)] = 0.0  #: of it

    def __post_init__(self) -> None:
        engines.check(self.engine)
        if self.stress:
            stress_named(self.stress).check(self.dose)
        elif self.dose:
            raise UserError(f"--dose {self.dose:g}: of what? Give --stress.")
        if self.friction_rule not in FRICTION_RULES:
            raise unknown("friction rule", self.friction_rule, FRICTION_RULES)
        if self.friction is not None and self.friction_rule != AVERAGE:
            raise UserError(f"--friction {self.friction:g} leaves nothing to read: give no --friction-rule.")

    @property
    def label(self) -> str:
        """`push-1_friction-0.3`; empty for the usual trials."""
        words = [] if self.speed == SPEED else [f"speed-{self.speed:g}"]
        words += [f"look-ahead-{self.look_ahead:g}"] if self.look_ahead else []
        words += [name for name in ("nominal", "sensor", "blind") if getattr(self, name)]
        for name in ("push", "friction", "payload", "freeze_depth"):
            value = getattr(self, name)
            if value is not None:
                words.append(f"{name.replace('_', '-')}-{value:g}")
        words += [f"{self.stress.replace('_', '-')}-{self.dose:g}"] if self.stress else []
        words += [] if self.friction_rule == AVERAGE else [f"friction-rule-{self.friction_rule}"]
        words += [] if self.engine == engines.AUTO else [f"engine-{self.engine}"]
        return "_".join(words)

    def task(self, trained: TaskConfig) -> TaskConfig:
        """The task of a trial, from the one a policy was trained in."""
        luck = replace(trained.randomization, delays_in_turn=(), friction_rule=self.friction_rule)
        if self.nominal:
            luck = as_built(luck)
        if self.push is not None:
            luck = replace(luck, push_velocity=(-self.push, self.push))
        if self.friction is not None:
            luck = replace(luck, friction=(self.friction, self.friction), friction_rule="direct")
        if self.payload is not None:
            luck = replace(luck, added_mass=(self.payload, self.payload))
        ending = replace(trained.termination, episode_seconds=self.seconds, once_crossed=False)
        return replace(trained, randomization=luck, termination=ending, reference_starts=0.0)

    def physics(self, trained: PhysicsConfig) -> PhysicsConfig:
        """That of a trial, for a policy that was trained in this one."""
        return trained if self.engine == engines.AUTO else replace(trained, engine=self.engine)

    def camera(self, trained: CameraConfig) -> tuple[CameraConfig, SensorConfig]:
        """The ideal camera of a trial, and the sensor model to apply to its images."""
        sensor = replace(trained.sensor, enabled=True) if self.sensor else trained.sensor
        return replace(trained, sensor=replace(trained.sensor, enabled=False)), sensor

    def as_dict(self) -> dict[str, object]:
        """As results.json has them."""
        return asdict(self)
