"""The foothold reward r^f (Eq. 2, 3): support under stance feet now, under swing feet as imagined."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ssr.learning.config import FootholdConfig
from ssr.robots.spec import Sole
from ssr.symmetry.layout import Layout
from ssr.task.transition import Transition
from ssr.terrain.field import TerrainField
from ssr.terrain.settings import SLOPE
from ssr.vision.support import expected_deficiency, resting_deficiency


@dataclass(frozen=True, kw_only=True)
class Imagined:
    """Where the feet are expected to come down: round Gaussians in the tile frame."""

    mean: Tensor  #: (n, 2 feet, 2) m
    std: Tensor  #: (n, 2) m
    usable: Tensor  #: (n,) bool: this world's prediction counts


def stance_deficiency(layout: Layout, transition: Transition) -> Tensor:
    """ρ (n, 2) under each foot where it is now, from the foot height maps of the privileged state."""
    segment = next(s for s in layout if s.name == "foot_height_maps")
    assert isinstance(segment.scale, float)
    below_sole = layout.get(transition.privileged, segment.name).unflatten(-1, (2, -1)) / segment.scale
    slope = (transition.terrain_type == SLOPE).unsqueeze(-1).expand(below_sole.shape[:-1])
    return resting_deficiency(-below_sole, slope=slope)


def foothold_reward(deficiency: Tensor, terrain_type: Tensor, sigma: float) -> Tensor:
    """r^f (n,) of ρ̃ (n, 2): exp(-(Σ ρ̃)² / σ_f); always 1 on slopes."""
    total = torch.where(terrain_type == SLOPE, 0.0, deficiency.sum(-1))
    return torch.exp(-total.square() / sigma)


def guidance(
    transition: Transition,
    stance: Tensor,
    imagined: Imagined | None,
    field: TerrainField,
    sole: Sole,
    config: FootholdConfig,
) -> Tensor:
    """ρ̃ (n, 2): ρ of feet in contact after the step, E_q[ρ] of feet in the air where that is usable."""
    contact = transition.feet.contact
    deficiency = torch.where(contact, stance, 0.0)
    if imagined is None:
        return deficiency
    swing = ~contact & imagined.usable.unsqueeze(-1) & (transition.terrain_type != SLOPE).unsqueeze(-1)
    expected = expected_deficiency(
        field,
        imagined.mean,
        imagined.std,
        transition.feet.yaw,
        sole,
        rule=config.landing_rule,
        needed=swing.to(field.device),
    )
    return torch.where(swing, expected.to(deficiency), deficiency)
