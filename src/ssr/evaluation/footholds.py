"""Footholds and stances of a trial: where feet came down, how well they were supported, how hard they hit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ssr.evaluation.ramps import Ramps
from ssr.learning.foothold import stance_deficiency
from ssr.symmetry.layout import Layout
from ssr.task.touchdowns import TouchdownRules, Touchdowns
from ssr.task.transition import Transition


@dataclass(frozen=True, kw_only=True)
class Footholds:
    """f landings, one row each, world by world in the order of time."""

    world: np.ndarray  #: (f,) int32
    foot: np.ndarray  #: (f,) int8, right 0, left 1
    step: np.ndarray  #: (f,) int16, control step of the contact
    position: np.ndarray  #: (f, 2) float32, sole centre, tile frame
    yaw: np.ndarray  #: (f,) float32
    support: np.ndarray  #: (f,) float32, 1 - ρ at the contact


@dataclass(frozen=True, kw_only=True)
class Stances:
    """s stances, from a landing to the next lift-off, world by world in the order of time."""

    world: np.ndarray  #: (s,) int32
    foot: np.ndarray  #: (s,) int8
    peak: np.ndarray  #: (s,) float32, largest ‖F‖ at any control step, N


class FootRecorder:
    """Watches the feet of n worlds.

    A landing counts once the foot is still in contact one step later, and is then written down with the
    support and place of the contact.
    """

    def __init__(self, worlds: int, privileged: Layout, ramps: Ramps | None = None) -> None:
        """ramps: who judges soles on ramps among level ground, if there are any."""
        self.layout, self.ramps = privileged, ramps
        self.rules = TouchdownRules()
        self.touchdowns = Touchdowns(worlds, self.rules)
        self.step = 0
        self.support = torch.ones(worlds, 2)  #: when a foot last came down
        self.yaw = torch.zeros(worlds, 2)
        self.force = torch.zeros(worlds, 2)
        self.air = torch.zeros(worlds, 2, dtype=torch.long)
        self.standing = torch.zeros(worlds, 2, dtype=torch.bool)  #: on a landing
        self.peak = torch.zeros(worlds, 2)
        self._footholds: list[tuple[Tensor, ...]] = []
        self._stances: list[tuple[Tensor, ...]] = []

    def observe(self, transition: Transition, running: Tensor) -> None:
        """running (n,) bool: trials that were not over before this step."""
        feet = transition.feet
        landed = self.touchdowns.observe(transition) & running[:, None]
        self._write_footholds(landed)

        force = feet.force.norm(dim=-1)
        self.peak = torch.where(landed, torch.maximum(self.force, force), torch.maximum(self.peak, force))
        self.standing = self.standing | landed
        self.air = torch.where(feet.contact, 0, self.air + 1)
        lifted = self.standing & (self.air >= self.rules.min_air_steps) & running[:, None]
        self._write_stances(lifted)
        self.standing = self.standing & ~lifted

        if bool(self.touchdowns.landing.any()):  # what nobody lands on need not be judged
            deficiency = stance_deficiency(self.layout, transition)
            if self.ramps is not None:
                deficiency = self.ramps.deficiency(feet, deficiency)
            self.support = 1.0 - deficiency
        self.yaw, self.force = feet.yaw, force
        self.step += 1

    def _write_footholds(self, landed: Tensor) -> None:
        world, foot = landed.nonzero(as_tuple=True)
        if len(world):
            at = (world, foot)
            point = self.touchdowns.landing_point[at]
            step = torch.full_like(world, self.step - 1)
            self._footholds.append((world, foot, step, point, self.yaw[at], self.support[at]))

    def _write_stances(self, lifted: Tensor) -> None:
        world, foot = lifted.nonzero(as_tuple=True)
        if len(world):
            self._stances.append((world, foot, self.peak[world, foot]))

    def footholds(self) -> Footholds:
        whole = torch.empty(0, dtype=torch.long)
        empty = (whole, whole, whole, torch.empty(0, 2), torch.empty(0), torch.empty(0))
        world, foot, step, position, yaw, support = _columns(self._footholds, empty)
        order = np.argsort(world, kind="stable")
        return Footholds(
            world=world[order].astype(np.int32),
            foot=foot[order].astype(np.int8),
            step=step[order].astype(np.int16),
            position=position[order].astype(np.float32),
            yaw=yaw[order].astype(np.float32),
            support=support[order].astype(np.float32),
        )

    def drain(self) -> Footholds | None:
        """The footholds since the last call, if there are any, which are then forgotten here."""
        found = self.footholds() if self._footholds else None
        self._footholds, self._stances = [], []
        return found

    def stances(self) -> Stances:
        whole = torch.empty(0, dtype=torch.long)
        world, foot, peak = _columns(self._stances, (whole, whole, torch.empty(0)))
        order = np.argsort(world, kind="stable")
        return Stances(
            world=world[order].astype(np.int32),
            foot=foot[order].astype(np.int8),
            peak=peak[order].astype(np.float32),
        )


def _columns(rows: list[tuple[Tensor, ...]], empty: tuple[Tensor, ...]) -> list[np.ndarray]:
    return [torch.cat(column).numpy() for column in zip(*(rows or [empty]), strict=True)]
