"""When an episode is over (A.7), and whether for good."""

from __future__ import annotations

from math import atan2, hypot
from typing import NamedTuple

import torch
from torch import Tensor

from ssr.per_world import compiled, per_world
from ssr.physics.readout import Reading
from ssr.task.commands import Asked, Commands
from ssr.task.config import TerminationConfig
from ssr.task.progress import Advance, Progress
from ssr.terrain.field import FieldArrays, TerrainField
from ssr.terrain.ground import APRON
from ssr.terrain.settings import LEVELS

MAX_ROLL, MAX_PITCH = 1.0, 1.1  #: rad; A.7 names the reasons for an end, the thresholds are ours
BODY_FORCE = 50.0  #: N on base or torso
GAP_DEPTH = 0.15  #: m a sole may sink below the ground plane on tiles with pits
BEHIND_START = 1.0  #: m behind the tile's near end at which the way back is out of bounds


class Ending(NamedTuple):
    terminated: Tensor  #: (n,) bool
    truncated: Tensor  #: (n,) bool


class Bounds(NamedTuple):
    """What ends an episode."""

    last_step: int  #: control steps
    patient: bool  #: standing still ends nothing
    once_crossed: bool  #: a crossed tile ends it, wherever the robot is


def endings(
    state: Reading,
    progress: Progress,
    field: TerrainField,
    commands: Commands,
    config: TerminationConfig,
    patient: bool = True,
) -> Ending:
    """patient: standing still ends no episode."""
    terminated, truncated = progress.full(2, len(state.finite), dtype=torch.bool)
    bounds = Bounds(
        last_step=round(config.episode_seconds / progress.config.control_period),
        patient=patient,
        once_crossed=config.once_crossed,
    )
    given = (state, progress.ground(field), commands.arrays, progress.arrays, bounds)
    end(progress.everywhere, *given, progress.given(terminated), progress.given(truncated))
    return Ending(terminated, truncated)


@per_world(Reading, FieldArrays, Asked, Advance, Bounds)
def end(now, tile, command, p, c, terminated, truncated, i, k):
    gravity = now.gravity[i]
    sole = now.sole_position[i]
    tilted = overturned(gravity[0], gravity[1], gravity[2])
    touched = now.body_force[i] > BODY_FORCE
    sunk = int(tile.has_pits[i]) != 0 and min(sole[0, 2], sole[1, 2]) < -GAP_DEPTH
    fell = tilted or touched or sunk or not now.finite[i]
    gave_up = p.stalled[i] and not c.patient

    x = now.base_position[i, 0]
    y = abs(now.base_position[i, 1])
    length = tile.length[i]
    forward = command.direction[i] > 0.0
    past_end = x > length if forward else x < 0.0
    back_out = x < -BEHIND_START if forward else x > length + BEHIND_START
    on_apron = forward and past_end
    half_width = tile.half_width[i]
    aside = y > (max(APRON / 2.0, half_width) if on_apron else half_width)
    outside = aside or back_out or x > length + APRON

    # Below the top level a crossed tile ends here; backwards there is no apron to go to. Who walks off
    # the apron, or back onto the tile, does what it was told: that is no failure either.
    at_top = p.level[i] >= LEVELS - 1
    stays = p.omnidirectional[i] or (at_top and forward)
    left_tile = (past_end or c.once_crossed) and p.crossed[i] and not stays
    left_apron = p.omnidirectional[i] and p.crossed[i] and (outside or x < length)
    over = fell or gave_up or (outside and not left_tile and not left_apron)
    terminated[i] = over
    truncated[i] = (p.steps[i] >= c.last_step or left_tile or left_apron) and not over


@compiled
def overturned(gx, gy, gz):
    """|roll| or |pitch| beyond its limit, from gravity in the base frame."""
    roll, pitch = atan2(-gy, -gz), atan2(gx, hypot(gy, gz))
    return abs(roll) > MAX_ROLL or abs(pitch) > MAX_PITCH
