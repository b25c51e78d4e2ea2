"""When a number goes bad: name the first tensor in the order data flows, and keep the batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from ssr.errors import UserError
from ssr.learning.algorithm import SSR
from ssr.learning.writing import write_tensors


def flow(algorithm: SSR) -> Iterator[tuple[str, Tensor]]:
    """Every tensor of an iteration, upstream before downstream."""
    rollout = algorithm.rollout
    yield "rollout.proprioception", rollout.history.frames
    yield "rollout.depth", rollout.camera.images
    yield "rollout.privileged", rollout.privileged
    yield "rollout.dynamics", rollout.dynamics
    yield "rollout.hidden", algorithm.first_hidden
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


def first_bad(algorithm: SSR) -> tuple[str, Tensor] | None:
    for name, tensor in flow(algorithm):
        if not bool(torch.isfinite(tensor).all()):
            return name, tensor
    return None


def report(algorithm: SSR, run: Path, iteration: int, rank: int) -> UserError:
    """Dump the iteration's tensors and say which one went bad first."""
    path = run / f"bad_iteration_{iteration:06d}_rank{rank}.safetensors"
    write_tensors(
        path, {name: tensor.detach().cpu().contiguous().clone() for name, tensor in flow(algorithm)}
    )
    bad = first_bad(algorithm)
    if bad is None:
        where = "a loss, though no stored tensor did"
    else:
        name, tensor = bad
        place = (~torch.isfinite(tensor)).nonzero()[0].tolist()
        where = f"{name} at index {place}, {int((~torch.isfinite(tensor)).sum())} of {tensor.numel()} entries"
    return UserError(
        f"Training stopped at iteration {iteration}: {where}, is not finite. The batch is in {path}; "
        f"`ssr train --resume {run}` goes on from the last checkpoint."
    )
