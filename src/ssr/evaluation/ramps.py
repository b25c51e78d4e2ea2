"""Soles on ramps that lie among level ground: judged against the plane of the surface they touch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ssr.robots.spec import Sole
from ssr.task.env import TraversalEnv
from ssr.task.transition import Feet
from ssr.terrain.field import TerrainField
from ssr.terrain.registry import kind_named
from ssr.terrain.tile import Tile
from ssr.vision.support import resting_deficiency

REACH = 0.01  #: m to either side of a sole's centre, within which its ground must be one plane
LEAST = 0.02  #: slope of a ramp; what is less steep is level
FLAT = 1e-4  #: m that its ground may bend there: the grain of float32


class Ramps:
    def __init__(self, field: TerrainField, sole: Sole) -> None:
        self.field = field
        self.offsets = torch.tensor(sole.offsets().reshape(-1, 2), dtype=torch.float32)  #: (50, 2) foot frame
        cross = torch.tensor([(0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)])
        self.cross = REACH * cross  #: a sole's centre and what lies around it, tile frame

    def deficiency(self, feet: Feet, level: Tensor) -> Tensor:
        """ρ (n, 2): of soles with a ramp under their centre against its plane, of the others `level`."""
        centre = feet.position[..., :2]
        h = self.field.heights(centre[:, :, None] + self.cross)
        slope = torch.stack([h[..., 1] - h[..., 2], h[..., 3] - h[..., 4]], dim=-1) / (2 * REACH)
        sums = torch.stack([h[..., 1] + h[..., 2], h[..., 3] + h[..., 4]], dim=-1)
        bent = (sums - 2 * h[..., :1]).abs().amax(-1)
        on_ramp = (slope.norm(dim=-1) > LEAST) & (bent < FLAT)
        if not bool(on_ramp.any()):
            return level
        c, s = torch.cos(feet.yaw)[..., None], torch.sin(feet.yaw)[..., None]
        x, y = self.offsets.unbind(-1)
        turned = torch.stack([c * x - s * y, s * x + c * y], dim=-1)
        heights = self.field.heights(centre[:, :, None] + turned)
        above = heights - (turned * slope[:, :, None]).sum(-1)
        return torch.where(on_ramp, resting_deficiency(above), level)


def ramps_of(env: TraversalEnv, tiles: Sequence[Tile]) -> Ramps | None:
    """Somebody to judge soles on these tiles, if any has ramps among level ground."""
    mixed = any(kind_named(tile.kind).has_ramps for tile in tiles)
    return Ramps(env.field, env.robot.sole) if mixed else None
