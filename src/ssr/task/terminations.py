"""When an episode is over (A.7), and whether for good."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ssr.physics.simulator import PhysicsState
from ssr.task.commands import Commands
from ssr.task.config import TerminationConfig
from ssr.task.gait import Gait
from ssr.task.progress import Progress
from ssr.terrain.field import TerrainField
from ssr.terrain.kinds import APRON
from ssr.terrain.tile import KINDS

BEHIND_START = 1.0  #: m behind the tile's near end at which the way back is out of bounds


@dataclass(frozen=True, kw_only=True)
class Ending:
    terminated: Tensor  #: (n,) bool
    truncated: Tensor  #: (n,) bool
    fell: Tensor  #: (n,) bool: tilt, body contact or a foot in a gap


def endings(
    state: PhysicsState,
    gait: Gait,
    progress: Progress,
    field: TerrainField,
    commands: Commands,
    config: TerminationConfig,
) -> Ending:
    tilted = overturned(state.gravity, config)
    touched = state.body_force > config.body_force
    on_gap = field.kind == KINDS.index("gap")
    sunk = on_gap & (state.sole_position[..., 2] < -config.gap_depth).any(-1)
    fell = tilted | touched | sunk | ~state.finite

    x, y = state.base_position[:, 0], state.base_position[:, 1]
    forward = commands.direction > 0
    past_end = torch.where(forward, x > field.length, x < 0.0)
    on_apron = forward & (x > field.length)
    aside = torch.where(on_apron, y.abs() > APRON / 2, y.abs() > field.half_width)
    back_out = torch.where(forward, x < -BEHIND_START, x > field.length + BEHIND_START)
    outside = aside | back_out | (x > field.length + APRON)

    over = progress.steps >= round(config.episode_seconds / progress.config.control_period)
    # Below the top level a crossed tile ends here; backwards there is no apron to go to. Who walks off the
    # apron, or back onto the tile, does what it was told: that is no failure either.
    left_tile = past_end & progress.crossed & ~(progress.at_top & forward)
    left_apron = progress.omnidirectional & progress.crossed & (outside | (x < field.length))
    terminated = fell | (outside & ~left_tile & ~left_apron)
    truncated = (over | left_tile | left_apron) & ~terminated
    return Ending(terminated=terminated, truncated=truncated, fell=fell)


def overturned(gravity: Tensor, config: TerminationConfig) -> Tensor:
    """|roll| or |pitch| beyond its limit, from gravity (n, 3) in the base frame."""
    gx, gy, gz = gravity.unbind(-1)
    roll, pitch = torch.atan2(-gy, -gz), torch.atan2(gx, torch.hypot(gy, gz))
    return (roll.abs() > config.max_roll) | (pitch.abs() > config.max_pitch)
