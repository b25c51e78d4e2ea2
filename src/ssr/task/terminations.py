"""When an episode is over (A.7), and whether for good."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from torch import Tensor

from ssr.physics.readout import Reading
from ssr.task.commands import Commands
from ssr.task.config import TerminationConfig
from ssr.task.progress import Progress
from ssr.terrain.field import TerrainField
from ssr.terrain.kinds import APRON
from ssr.terrain.settings import LEVELS
from ssr.terrain.tile import KINDS

GAP = KINDS.index("gap")
BEHIND_START = 1.0  #: m behind the tile's near end at which the way back is out of bounds


class Ending(NamedTuple):
    terminated: Tensor  #: (n,) bool
    truncated: Tensor  #: (n,) bool


def endings(
    state: Reading,
    progress: Progress,
    field: TerrainField,
    commands: Commands,
    config: TerminationConfig,
    patient: bool = True,
) -> Ending:
    """patient: standing still ends no episode."""
    tile, so_far = field.arrays, progress.arrays
    terminated, truncated = np.empty((2, len(state.finite)), np.bool_)
    _endings(
        state.base_position, state.gravity, state.body_force, state.sole_position, state.finite,
        tile.kind, tile.length, tile.half_width, commands.arrays.direction,
        so_far.steps, so_far.crossed, so_far.omnidirectional,
        so_far.level, so_far.stalled,
        (config.max_roll, config.max_pitch, config.body_force, config.gap_depth),
        round(config.episode_seconds / progress.config.control_period), patient, config.once_crossed,
        terminated, truncated,
    )  # fmt: skip
    return Ending(torch.from_numpy(terminated), torch.from_numpy(truncated))


@njit(cache=True, nogil=True)
def _endings(
    base, gravity, body_force, sole, finite, kind, length, half_width, direction,
    steps, crossed, omnidirectional, level, stalled, limits, last_step, patient, once_crossed,
    terminated, truncated,
):  # fmt: skip
    max_roll, max_pitch, max_force, gap_depth = limits
    for i in range(len(base)):
        tilted = overturned(gravity[i], max_roll, max_pitch)
        touched = body_force[i] > max_force
        sunk = kind[i] == GAP and min(sole[i, 0, 2], sole[i, 1, 2]) < -gap_depth
        fell = tilted or touched or sunk or not finite[i]
        gave_up = stalled[i] and not patient and not omnidirectional[i]

        x, y, forward = base[i, 0], abs(base[i, 1]), direction[i] > 0
        past_end = x > length[i] if forward else x < 0.0
        back_out = x < -BEHIND_START if forward else x > length[i] + BEHIND_START
        on_apron = forward and past_end
        aside = y > APRON / 2 if on_apron else y > half_width[i]
        outside = aside or back_out or x > length[i] + APRON

        # Below the top level a crossed tile ends here; backwards there is no apron to go to. Who walks off
        # the apron, or back onto the tile, does what it was told: that is no failure either.
        at_top = level[i] >= LEVELS - 1
        left_tile = (past_end or once_crossed) and crossed[i] and not (at_top and forward)
        left_apron = omnidirectional[i] and crossed[i] and (outside or x < length[i])
        terminated[i] = fell or gave_up or (outside and not left_tile and not left_apron)
        truncated[i] = (steps[i] >= last_step or left_tile or left_apron) and not terminated[i]


@njit(cache=True, nogil=True)
def overturned(gravity: np.ndarray, max_roll: float, max_pitch: float) -> bool:
    """|roll| or |pitch| beyond its limit, from gravity (3,) in the base frame."""
    gx, gy, gz = gravity[0], gravity[1], gravity[2]
    roll, pitch = math.atan2(-gy, -gz), math.atan2(gx, math.hypot(gy, gz))
    return abs(roll) > max_roll or abs(pitch) > max_pitch
