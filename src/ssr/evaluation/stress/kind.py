"""`StressKind`: one trouble that can be given in doses, and `Trouble`, what it does in a trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ssr.errors import UserError
from ssr.task.env import TraversalEnv

ONSET = 6.0  #: s into a trial, when trouble begins that does not last from the beginning
AGAIN = 6.0  #: s from one shove to the next


class Trouble:
    """What one dose does to the worlds of a batch of trials. This one does nothing."""

    def __init__(self, dose: float) -> None:
        self.dose = dose

    def act(self, env: TraversalEnv, step: int) -> None:
        """Before the control step `step`, counted from 0."""

    def see(
        self, env: TraversalEnv, step: int, depth: Tensor, fresh: Tensor, luck: Sequence[torch.Generator]
    ) -> tuple[Tensor, Tensor]:
        """What becomes of images (n, H, W) after `step` control steps, and which (n,) are new ones.

        luck: a generator for each world. The images given are left as they are.
        """
        return depth, fresh


@dataclass(frozen=True, kw_only=True)
class StressKind:
    name: str  #: as a user types it
    label: str  #: as figures print it
    unit: str  #: of a dose
    doses: tuple[float, ...]  #: of a curve, from none to hard
    highest: float  #: dose that can be asked for; the lowest is 0
    about: str  #: what happens
    make: Callable[[float], Trouble]

    def check(self, dose: float) -> float:
        if not 0.0 <= dose <= self.highest:
            raise UserError(f"{self.name} dose {dose:g}: expected 0 to {self.highest:g} {self.unit}.")
        return dose


def seconds(env: TraversalEnv, step: int) -> float:
    return step * env.config.control_period


def begins(env: TraversalEnv, step: int, at: float = ONSET) -> bool:
    """Whether `step` is the first one at or after `at` s."""
    return step == env.config.control_steps(at)
