"""State that is nothing but named tensors, and the whole task as one flat dict of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from ssr.physics.simulator import Dynamics

if TYPE_CHECKING:
    from ssr.task.env import TraversalEnv


class NamedTensors:
    """Saves and restores the attributes named in `TENSORS`, which are only ever written in place.

    Kernels take their memory as one tuple and name its parts again by `ARRAYS`, the class of `arrays`: a
    compiled function whose arguments know the class itself cannot be loaded from the cache once that class
    has another name.
    """

    TENSORS: tuple[str, ...] = ()
    ARRAYS: ClassVar[Callable[..., Any]]  #: a named tuple with a field for each tensor, if kernels use them

    @cached_property
    def arrays(self) -> Any:
        """The tensors' memory by name: asking for it in every step takes longer than kernels do."""
        return self.ARRAYS(**{name: getattr(self, name).numpy() for name in self.TENSORS})

    def state_dict(self) -> dict[str, Tensor]:
        return {name: getattr(self, name).clone() for name in self.TENSORS}

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
    state = {f"own.{name}": getattr(env, name).clone() for name in IN_PLACE + HANDED_OUT}
    for part, member in _members(env).items():
        state |= {f"{part}.{k}": v for k, v in member.state_dict().items()}
    state |= {f"dynamics.{k}": v.clone() for k, v in vars(env.dynamics).items()}
    state["generator"] = env.generator.get_state()
    state["scalars"] = torch.tensor([env.ramp, env.bootstrap, env.bad_worlds], dtype=torch.float64)
    return state


def restore(env: TraversalEnv, state: dict[str, Tensor]) -> None:
    for name in IN_PLACE:
        getattr(env, name).copy_(state[f"own.{name}"])
    for name in HANDED_OUT:
        setattr(env, name, state[f"own.{name}"].clone())
    for part, member in _members(env).items():
        member.load_state_dict(_under(state, part))
    env.set_dynamics(Dynamics(**{k: v.clone() for k, v in _under(state, "dynamics").items()}))
    env.generator.set_state(state["generator"])
    ramp, bootstrap, bad = state["scalars"].tolist()
    env.set_ramp(ramp)
    env.set_bootstrap(bootstrap)
    env.bad_worlds = int(bad)


def _under(state: dict[str, Tensor], part: str) -> dict[str, Tensor]:
    """The entries `part.*`, by what follows the dot."""
    return {k.removeprefix(f"{part}."): v for k, v in state.items() if k.startswith(f"{part}.")}
