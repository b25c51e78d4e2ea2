"""One trial on a strip of terrain: what is asked, how it ends, what counts as success."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from ssr import rotation
from ssr.evaluation.conditions import LOOK_AHEAD
from ssr.evaluation.intervals import wilson
from ssr.evaluation.measures import TRAVERSED
from ssr.rehearsal.config import TrialConfig
from ssr.rehearsal.simulated_robot import Truth
from ssr.task.commands import HEADING_GAIN, MAX_YAW_RATE
from ssr.task.terminations import BODY_FORCE, GAP_DEPTH, MAX_PITCH, MAX_ROLL
from ssr.terrain.registry import kind_named
from ssr.terrain.strip import STRIP_LENGTH, make_strip
from ssr.terrain.tile import Tile


@dataclass(frozen=True, kw_only=True)
class Outcome:
    seconds: float  #: until the end or the fall
    distance: float  #: m along the strip
    ending: str  #: "time" if nothing went wrong
    traversed: bool  #: nothing went wrong and the commanded distance was covered

    @property
    def success(self) -> bool:
        return self.ending == "time"


def strip(
    kind: str, setting: str | None = None, level: int | None = None, length: float = STRIP_LENGTH
) -> Tile:
    """A strip of at least `length` m, of one setting (`0.15/0.30`) or of a level of the curriculum."""
    known = kind_named(kind)
    return make_strip(kind, known.parse(setting or "") if level is None else known.at(level), length)


def length_for(trial: TrialConfig) -> float:
    """Of a strip that a robot does not reach the end of."""
    return max(STRIP_LENGTH, ceil(1.5 * trial.speed * trial.seconds + 2.0))


def steer(yaw: float, lateral: float, speed: float) -> tuple[float, float, float]:
    """v_x, v_y, yaw rate in base axes of an operator who walks the robot along the strip.

    yaw, lateral: where the robot heads, and how many metres it is off the middle, as `ssr eval` has it.
    """
    turn = float(np.clip(-HEADING_GAIN * yaw, -MAX_YAW_RATE, MAX_YAW_RATE))
    way = -np.arctan2(lateral, LOOK_AHEAD) - yaw
    return speed * float(np.cos(way)), speed * float(np.sin(way)), turn


def fall(truth: Truth, tile: Tile) -> str | None:
    """Why the trial is over (the endings of training), or None."""
    gravity = rotation.gravity(truth.quaternion)
    roll = np.arctan2(-gravity[1], -gravity[2])
    pitch = np.arctan2(gravity[0], np.hypot(gravity[1], gravity[2]))
    if not np.isfinite(truth.position).all():
        return "the simulation went wrong"
    if abs(roll) > MAX_ROLL or abs(pitch) > MAX_PITCH:
        return "fell over"
    if truth.body_force > BODY_FORCE:
        return "touched with its body"
    if kind_named(tile.kind).has_pits and truth.lowest_sole < -GAP_DEPTH:
        return "stepped into a gap"
    if abs(truth.position[1]) > tile.half_width:
        return "left the strip"
    return None


def outcome(config: TrialConfig, seconds: float, distance: float, ending: str | None) -> Outcome:
    enough = distance >= TRAVERSED * config.speed * config.seconds
    return Outcome(
        seconds=seconds, distance=distance, ending=ending or "time", traversed=ending is None and enough
    )


def rate(outcomes: Sequence[Outcome], field: str) -> str:
    """`97 % (93–99)`: a share of trials with its 95 % interval."""
    share = wilson(sum(bool(getattr(o, field)) for o in outcomes), len(outcomes))
    return f"{100 * share.value:.0f} % ({100 * share.low:.0f}–{100 * share.high:.0f})"
