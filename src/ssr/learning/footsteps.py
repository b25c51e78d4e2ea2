"""Where each foot came down, written backwards onto the swing steps that led there (labels p* of Eq. 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ssr.task.frames import to_yaw
from ssr.task.saving import NamedTensors
from ssr.task.touchdowns import TouchdownRules, Touchdowns
from ssr.task.transition import Transition

MAX_SWING_STEPS = 50  #: control steps; a longer swing keeps its newest ones


def to_base(point: Tensor, base_position: Tensor, base_yaw: Tensor) -> Tensor:
    """Tile-frame points (..., 2) in the yaw-aligned frame of a base at (..., 2), turned by (...)."""
    return to_yaw(base_yaw, point - base_position)


def to_tile(point: Tensor, base_position: Tensor, base_yaw: Tensor) -> Tensor:
    """The inverse of `to_base`."""
    return to_yaw(-base_yaw, point) + base_position


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Swing steps whose touchdown is now known."""

    input: Tensor  #: (m, S + A) privileged state and action of the swing step
    foot: Tensor  #: (m,) long, right 0, left 1
    target: Tensor  #: (m, 2) the touchdown, m, yaw-aligned base frame of that step


@dataclass(frozen=True, kw_only=True)
class FreshLabels(Labels):
    """Labels with what tells how hard they were to foresee."""

    terrain_type: Tensor  #: (m,) long, index into TERRAIN_TYPES
    steps_left: Tensor  #: (m,) long, control steps from the swing step to the contact


class Ended(NamedTuple):
    """Swings of n worlds that one step showed to have ended in a touchdown, right foot before left."""

    confirmed: Tensor  #: (n, 2) bool
    length: Tensor  #: (n, 2) long, control steps of the swing
    point: Tensor  #: (n, 2, 2) where the feet landed, tile frame, m
    terrain_type: Tensor  #: (n,)
    slot: int  #: of the step


class FootstepRecorder(NamedTensors):
    """Labels each swing of both feet of n worlds once it has ended in a touchdown.

    Step t is a swing step of a foot if the foot is in the air after it. A swing lasts until its first valid
    contact: a foot that brushes something on its way keeps the steps before and after. Swings whose episode
    ends first are dropped.
    """

    TENSORS = ("clock", "known", "base_position", "base_yaw", "recorded", "landing_steps")
    RING = ("inputs", "positions", "yaws", "in_air")  #: of which the newest slots are kept
    KEPT = MAX_SWING_STEPS + 2  #: the landing and its confirmation come after the swing

    def __init__(self, *, num_envs: int, input_size: int, steps: int = 1, device: str = "cpu"):
        """steps: between one call of `labels` and the next, at most."""
        self.touchdowns = Touchdowns(num_envs, TouchdownRules(), valid=True, device=device)
        slots = self.KEPT + steps - 1
        self._ended: list[Ended] = []
        self.inputs = torch.zeros(slots, num_envs, input_size, device=device)
        self.positions = torch.zeros(slots, num_envs, 2, device=device)
        self.yaws = torch.zeros(slots, num_envs, device=device)
        self.in_air = torch.zeros(slots, num_envs, 2, dtype=torch.bool, device=device)
        self.clock = torch.zeros((), dtype=torch.long)
        #: the base pose before the coming step is known (it is not right after a restart)
        self.known = torch.zeros(num_envs, dtype=torch.bool, device=device)
        self.base_position = torch.zeros(num_envs, 2, device=device)
        self.base_yaw = torch.zeros(num_envs, device=device)
        self.recorded = torch.zeros(num_envs, 2, dtype=torch.long, device=device)  #: steps since lift-off
        self.landing_steps = torch.zeros(num_envs, 2, dtype=torch.long, device=device)

    def observe(self, state: Tensor, action: Tensor, transition: Transition) -> None:
        """Take in one step, state (n, S) and action (n, A) before it."""
        now = int(self.clock) % len(self.inputs)
        self.inputs[now] = torch.cat((state, action), -1)
        self.positions[now] = self.base_position
        self.yaws[now] = self.base_yaw
        self.in_air[now] = ~transition.feet.contact
        self._ended.append(
            Ended(
                confirmed=self.touchdowns.observe(transition),
                length=self.landing_steps,
                point=self.touchdowns.landing_point,
                terrain_type=transition.terrain_type,
                slot=now,
            )
        )
        self.landing_steps = torch.where(self.touchdowns.landing, self.recorded, 0)
        stored = torch.where(self.known.unsqueeze(-1), self.recorded + 1, 0)
        swinging = self.touchdowns.air_steps > 0
        self.recorded = torch.where(swinging, stored, 0).clamp_max(MAX_SWING_STEPS)

        self.base_position = transition.base_position[:, :2].to(self.base_position.dtype).clone()
        self.base_yaw = transition.base_yaw.to(self.base_yaw.dtype).clone()
        self.known = torch.ones_like(self.known)
        self.clock += 1
        self.restart(transition.ended | ~transition.valid)

    def restart(self, ended: Tensor) -> None:
        """Forget the swings of the worlds (n,) that ended."""
        column = ended.unsqueeze(-1)
        self.known = self.known & ~ended
        self.touchdowns.restart(ended)
        self.recorded = torch.where(column, 0, self.recorded)
        self.landing_steps = torch.where(column, 0, self.landing_steps)

    def state_dict(self) -> dict[str, Tensor]:
        state, (here, there) = super().state_dict() | self.touchdowns.state_dict(), self._newest()
        for name in self.RING:
            ring = getattr(self, name)
            state[name] = torch.zeros_like(ring[: self.KEPT])
            state[name][there] = ring[here]
        return state

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        super().load_state_dict(state)
        self.touchdowns.load_state_dict(state)
        here, there = self._newest()
        for name in self.RING:
            getattr(self, name)[here] = state[name][there]

    def _newest(self) -> tuple[Tensor, Tensor]:
        """Where the newest slots are, and where they would be in a ring of no more."""
        written = int(self.clock) - 1 - torch.arange(self.KEPT, device=self.inputs.device)
        return written % len(self.inputs), written % self.KEPT

    def labels(self) -> FreshLabels:
        """The swing steps that were labelled since this was last asked; at least one step ago.

        Asked once a rollout: how many there are must be known before they can be gathered, and a device would
        be waited for. A swing's last stored step is two slots before the one that confirmed its landing.
        """
        ended, self._ended = self._ended, []
        parts = {name: torch.stack([getattr(one, name) for one in ended]) for name in Ended._fields[:-1]}
        step, world, foot = parts["confirmed"].nonzero(as_tuple=True)
        length = parts["length"][step, world, foot]
        now = ended[0].slot + step  # slots follow each other
        back = torch.arange(MAX_SWING_STEPS, device=world.device)
        slot = (now.unsqueeze(1) - 2 - back) % len(self.inputs)  # (swings, MAX_SWING_STEPS)
        flying = self.in_air[slot, world.unsqueeze(1), foot.unsqueeze(1)]
        swing, back = (flying & (back < length.unsqueeze(1))).nonzero(as_tuple=True)
        slot = slot[swing, back]
        of_step, of_world, of_foot = step[swing], world[swing], foot[swing]
        target = to_base(
            parts["point"][of_step, of_world, of_foot],
            self.positions[slot, of_world],
            self.yaws[slot, of_world],
        )
        return FreshLabels(
            input=self.inputs[slot, of_world],
            foot=of_foot,
            target=target,
            terrain_type=parts["terrain_type"][of_step, of_world],
            steps_left=back + 1,
        )
