"""When an episode is over (A.7), and whether for good."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from torch import Tensor

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
    terminated, truncated = np.empty((2, len(state.finite)), np.bool_)
    bounds = Bounds(
        last_step=round(config.episode_seconds / progress.config.control_period),
        patient=patient,
        once_crossed=config.once_crossed,
    )
    tile, asked, so_far = tuple(field.arrays), tuple(commands.arrays), tuple(progress.arrays)
    _endings(tuple(state), tile, asked, so_far, tuple(bounds), terminated, truncated)
    return Ending(torch.from_numpy(terminated), torch.from_numpy(truncated))


@njit(cache=True, nogil=True)
def _endings(state, ground, asked, advance, bounds, terminated, truncated):
    now, tile, command = Reading(*state), FieldArrays(*ground), Asked(*asked)
    p, c = Advance(*advance), Bounds(*bounds)
    for i in range(len(now.finite)):
        tilted = overturned(now.gravity[i])
        touched = now.body_force[i] > BODY_FORCE
        sole = now.sole_position[i]
        sunk = tile.has_pits[i] and min(sole[0, 2], sole[1, 2]) < -GAP_DEPTH
        fell = tilted or touched or sunk or not now.finite[i]
        gave_up = p.stalled[i] and not c.patient and not p.omnidirectional[i]

        x, y, length = now.base_position[i, 0], abs(now.base_position[i, 1]), tile.length[i]
        forward = command.direction[i] > 0
        past_end = x > length if forward else x < 0.0
        back_out = x < -BEHIND_START if forward else x > length + BEHIND_START
        on_apron = forward and past_end
        half_width = tile.half_width[i]
        aside = y > (max(APRON / 2, half_width) if on_apron else half_width)
        outside = aside or back_out or x > length + APRON

        # Below the top level a crossed tile ends here; backwards there is no apron to go to. Who walks off
        # the apron, or back onto the tile, does what it was told: that is no failure either.
        at_top = p.level[i] >= LEVELS - 1
        left_tile = (past_end or c.once_crossed) and p.crossed[i] and not (at_top and forward)
        left_apron = p.omnidirectional[i] and p.crossed[i] and (outside or x < length)
        terminated[i] = fell or gave_up or (outside and not left_tile and not left_apron)
        truncated[i] = (p.steps[i] >= c.last_step or left_tile or left_apron) and not terminated[i]


@njit(cache=True, nogil=True)
def overturned(gravity: np.ndarray) -> bool:
    """|roll| or |pitch| beyond its limit, from gravity (3,) in the base frame."""
    gx, gy, gz = gravity[0], gravity[1], gravity[2]
    roll, pitch = math.atan2(-gy, -gz), math.atan2(gx, math.hypot(gy, gz))
    return abs(roll) > MAX_ROLL or abs(pitch) > MAX_PITCH
