"""What counts as a foot coming down: for labels, statistics, evaluation and viewer alike."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ssr.task.saving import NamedTensors
from ssr.task.transition import Transition
from ssr.terrain.settings import SLOPE


@dataclass(frozen=True, kw_only=True)
class TouchdownRules:
    """A landing is a contact after `min_air_steps` that is still there one step later; a label of the
    imagination model also needs it to be `pressed`."""

    min_air_steps: int = 4  #: control steps in the air before a contact counts
    min_force: float = 5.0  #: N, vertical


def pressed(transition: Transition, rules: TouchdownRules) -> Tensor:
    """(n, 2) bool: the foot is pushed up with `min_force`, inside the 45° cone.

    No cone is asked for on slopes: they have no walls that a foot could touch instead, and friction tilts the
    force of a foot that slides as it lands.
    """
    force = transition.feet.force
    upward = force[..., 2]
    without_walls = (transition.terrain_type == SLOPE).unsqueeze(-1)
    return (upward > rules.min_force) & ((upward >= force[..., :2].norm(dim=-1)) | without_walls)


class Touchdowns(NamedTensors):
    """Follows both feet of n worlds in whole control steps.

    Every landing is a touchdown, and where only `valid` ones are asked for it must be `pressed`. A contact
    that is none leaves its swing open: a foot that bounces lands with its second contact, and what it brushes
    on its way is not the place it goes to.
    """

    TENSORS = ("air_steps", "landing", "landing_point")

    def __init__(
        self, num_envs: int, rules: TouchdownRules, *, valid: bool = False, device: str = "cpu"
    ) -> None:
        self.rules, self.valid = rules, valid
        self.air_steps = torch.zeros(num_envs, 2, dtype=torch.long, device=device)  #: of this swing so far
        self.landing = torch.zeros(num_envs, 2, dtype=torch.bool, device=device)  #: awaits confirmation
        self.landing_point = torch.zeros(num_envs, 2, 2, device=device)  #: newest, tile frame, m

    def observe(self, transition: Transition) -> Tensor:
        """Take in one step; (n, 2) bool: feet whose landing, one step ago, was a touchdown."""
        feet, sound = transition.feet, transition.valid.unsqueeze(-1)
        confirmed = self.landing & feet.contact & sound
        flown = self.air_steps >= self.rules.min_air_steps
        self.landing = feet.contact & flown & ~confirmed & sound
        if self.valid:
            self.landing = self.landing & pressed(transition, self.rules)
        point = feet.position[..., :2]
        self.landing_point = torch.where(self.landing.unsqueeze(-1), point, self.landing_point)
        over = feet.contact & (confirmed | ~flown)
        self.air_steps = torch.where(over, 0, self.air_steps + ~feet.contact)
        self.restart(transition.ended | ~transition.valid)
        return confirmed

    def restart(self, ended: Tensor) -> None:
        """Forget the swings of the worlds (n,) that ended."""
        column = ended.unsqueeze(-1)
        self.landing = self.landing & ~column
        self.air_steps = torch.where(column, 0, self.air_steps)
