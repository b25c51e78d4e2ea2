"""State that is nothing but named tensors, and the whole task as one flat dict of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ssr import chance
from ssr.physics.simulator import Dynamics

if TYPE_CHECKING:
    from ssr.task.env import TraversalEnv


class NamedTensors:
    """Saves and restores the attributes named in `TENSORS`, which are only ever written in place.

    Rules (`ssr.per_world`) take them as one record, `arrays`: the memory of the host's, or the tensors of a
    device themselves.
    """

    TENSORS: tuple[str, ...] = ()
    ARRAYS: ClassVar[Callable[..., Any]]  #: a named tuple with a field for each tensor, if rules use them
    device: torch.device | None = None  #: where Warp runs the rules; None: Numba does, on the host

    def full(self, *shape: int, value: float = 0, dtype: torch.dtype = torch.float32) -> Tensor:
        """A new tensor where the rules run. Whole numbers are int32 on a device."""
        if self.device is not None and dtype == torch.long:
            dtype = torch.int32
        return torch.full(shape, value, dtype=dtype, device=self.device or "cpu")

    @cached_property
    def arrays(self) -> Any:
        """What rules take; asking for the memory in every step takes longer than they do."""
        return self.ARRAYS(**{name: self.given(getattr(self, name)) for name in self.TENSORS})

    def given(self, tensor: Tensor) -> Any:
        """As rules take it: an array over its memory, or the tensor of the device."""
        return tensor.numpy() if self.device is None else tensor

    @cached_property
    def everywhere(self) -> Any:
        """All worlds, as rules are told them."""
        count = len(getattr(self, self.TENSORS[0]))
        return np.arange(count) if self.device is None else self.full(count, value=1, dtype=torch.bool)

    def state_dict(self) -> dict[str, Tensor]:
        return {name: getattr(self, name).cpu().clone() for name in self.TENSORS}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name in self.TENSORS:
            getattr(self, name).copy_(state[name])


IN_PLACE = ("history", "actions", "delay", "steps_to_push")  #: of which others keep views
HANDED_OUT = ("proprioception", "privileged", "_depth", "_fresh")  #: of which others keep the tensors


def _members(env: TraversalEnv) -> dict[str, Any]:
    parts = ("simulator", "field", "commands", "gait", "imitation", "progress", "camera")
    return {name: getattr(env, name) for name in parts if getattr(env, name) is not None}


def save(env: TraversalEnv) -> dict[str, Tensor]:
    """Everything that decides what happens next, as flat named tensors."""
    state = {f"own.{name}": getattr(env, name).cpu().clone() for name in IN_PLACE + HANDED_OUT}
    for part, member in _members(env).items():
        state |= {f"{part}.{k}": v for k, v in member.state_dict().items()}
    state |= {f"dynamics.{k}": v.cpu().clone() for k, v in vars(env.dynamics).items()}
    state["generator"] = env.generator.get_state()
    state["scalars"] = torch.tensor([env.ramp, env.bootstrap, env.bad_worlds], dtype=torch.float64)
    return state


def restore(env: TraversalEnv, state: dict[str, Tensor]) -> None:
    for name in IN_PLACE:
        getattr(env, name).copy_(state[f"own.{name}"])
    for name in HANDED_OUT:
        setattr(env, name, state[f"own.{name}"].to(env.device, copy=True))
    for part, member in _members(env).items():
        member.load_state_dict(_under(state, part))
    drawn = {k: v.to(env.device, copy=True) for k, v in _under(state, "dynamics").items()}
    env.set_dynamics(Dynamics(**drawn))
    chance.restore(env.generator, state["generator"])
    ramp, bootstrap, bad = state["scalars"].tolist()
    env.set_ramp(ramp)
    env.set_bootstrap(bootstrap)
    env.bad_worlds = int(bad)


def _under(state: dict[str, Tensor], part: str) -> dict[str, Tensor]:
    """The entries `part.*`, by what follows the dot."""
    return {k.removeprefix(f"{part}."): v for k, v in state.items() if k.startswith(f"{part}.")}
