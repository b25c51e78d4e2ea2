"""What of SSR is saved: everything, to go on bit for bit, the little worth keeping, or a bad batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ssr.learning.devices import moved
from ssr.learning.optimizer import FlatAdam
from ssr.terrain.settings import TERRAIN_TYPES

if TYPE_CHECKING:
    from ssr.learning.ssr import SSR

MOMENTS = ("mean", "square")


def optimizers(algorithm: SSR) -> dict[str, FlatAdam]:
    found = {"ppo": algorithm.ppo.optimizer, "encoder": algorithm.encoder.optimizer}
    if algorithm.imagination is not None:
        found["imagination"] = algorithm.imagination.optimizer
    if algorithm.style is not None:
        found["style"] = algorithm.style.optimizer
    return found


def full(algorithm: SSR) -> dict[str, Any]:
    state: dict[str, Any] = {
        "networks": algorithm.networks.state_dict(),
        "ppo": algorithm.ppo.optimizer.state_dict(),
        "encoder": algorithm.encoder.optimizer.state_dict(),
        "earlier": algorithm.encoder.earlier.state_dict(),
        "footsteps": algorithm.footsteps.state_dict(),
        "schedule": algorithm.schedule.state_dict(),
        "statistics": algorithm.statistics.state_dict(),
        "hidden": algorithm.hidden,
        "restarted": algorithm.restarted,
        "random": torch.get_rng_state(),
    }
    if algorithm.hidden.is_cuda:
        state["random_cuda"] = torch.cuda.get_rng_state(algorithm.hidden.device)
    for name in ("imagination", "style", "average"):
        part = getattr(algorithm, name)
        if part is not None:
            state[name] = part.state_dict()
    return state


def load_full(algorithm: SSR, state: Mapping[str, Any]) -> None:
    state = moved(state, algorithm.device)
    algorithm.networks.load_state_dict(state["networks"])
    algorithm.ppo.optimizer.load_state_dict(state["ppo"])
    algorithm.encoder.optimizer.load_state_dict(state["encoder"])
    algorithm.encoder.earlier.load_state_dict(state["earlier"])
    algorithm.footsteps.load_state_dict(state["footsteps"])
    algorithm.schedule.load_state_dict(state["schedule"])
    algorithm.statistics.load_state_dict(state["statistics"])
    algorithm.hidden.copy_(state["hidden"])
    algorithm.restarted.copy_(state["restarted"])
    for name in ("imagination", "style", "average"):
        part = getattr(algorithm, name)
        if part is not None:
            part.load_state_dict(state[name])
    torch.set_rng_state(state["random"].cpu())
    if algorithm.hidden.is_cuda and "random_cuda" in state:  # not if it was saved on a CPU
        torch.cuda.set_rng_state(state["random_cuda"].cpu(), algorithm.hidden.device)


def small_moments(optimizer: FlatAdam) -> dict[str, Any]:
    """Adam's state with its moments in bfloat16, without weights that learn apart from those that act."""
    state = optimizer.state_dict()
    state.pop("learning", None)
    return state | {k: state[k].to(torch.bfloat16) for k in MOMENTS}  # type: ignore[attr-defined]


def small(algorithm: SSR) -> dict[str, Any]:
    """Weights and their average in full precision, Adam's moments in bfloat16 (their range matters more than
    their digits), normalisers, learning rates and schedule."""
    moments = {name: small_moments(optimizer) for name, optimizer in optimizers(algorithm).items()}
    kept: dict[str, Any] = {
        "networks": algorithm.networks.state_dict(),
        "optimizers": moments,
        "schedule": algorithm.schedule.state_dict(),
    }
    if algorithm.imagination is not None:
        kept["imagination"] = {
            "total": algorithm.imagination.total,
            "rmse": algorithm.imagination.rmse.clone(),
        }
    if algorithm.style is not None:
        kept["normalizer"] = algorithm.style.normalizer.state_dict()
    if algorithm.average is not None:
        kept["average"] = algorithm.average.state_dict()
    return kept


def load_small(algorithm: SSR, state: Mapping[str, Any], *, moments: bool) -> None:
    algorithm.networks.load_state_dict(state["networks"])
    for name, optimizer in optimizers(algorithm).items():
        optimizer.learn_from_here()
        if moments:
            optimizer.load_state_dict(state["optimizers"][name])
    algorithm.schedule.load_state_dict(state["schedule"])
    if algorithm.imagination is not None and "imagination" in state:
        algorithm.imagination.total = int(state["imagination"]["total"])
        rmse = torch.as_tensor(state["imagination"]["rmse"])
        algorithm.imagination.rmse = rmse.double().expand(len(TERRAIN_TYPES)).clone()
    if algorithm.style is not None and "normalizer" in state:
        algorithm.style.normalizer.load_state_dict(state["normalizer"])
    if algorithm.average is not None:
        algorithm.average.restart()
        if "average" in state:
            algorithm.average.load_state_dict(state["average"])


def flow(algorithm: SSR) -> Iterator[tuple[str, Tensor]]:
    """Every tensor of an iteration, upstream before downstream."""
    rollout = algorithm.rollout
    yield "rollout.proprioception", rollout.history.frames
    yield "rollout.depth", rollout.camera.images
    yield "rollout.privileged", rollout.privileged
    yield "rollout.hidden", algorithm.memories
    for name, parameter in algorithm.networks.named_parameters():
        yield f"parameter {name}", parameter.detach()
    yield "rollout.actor_observation", rollout.actor
    yield "rollout.action_mean", rollout.mean
    yield "rollout.action", rollout.action
    yield "rollout.log_prob", rollout.log_prob
    yield "rollout.next_proprioception", rollout.next_proprioception
    for name, reward in rollout.rewards.items():
        yield f"rollout.reward.{name}", reward
    for name, parameter in algorithm.networks.named_parameters():
        if parameter.grad is not None:
            yield f"gradient {name}", parameter.grad
