"""What a training run will hold on its device, worked out on any machine.

Everything that grows with the worlds is measured at two small numbers of them, here on the CPU, and goes on
in a straight line, each part of an update in its own; buffers of fixed size are added as they are.
Activations are those of single precision: on CUDA bfloat16 makes them smaller, so the plan is a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from ssr.benchmarks.memory import watched
from ssr.benchmarks.recording import RandomWalk
from ssr.learning.config import AblationConfig, TrainConfig
from ssr.learning.ssr import SSR
from ssr.learning.stopwatch import Stopwatch
from ssr.motion.dataset import MotionDataset
from ssr.motion.frames import WINDOW
from ssr.robots import load
from ssr.symmetry.vectors import layouts

LEARNED = (32, 64)  #: worlds that a learner is measured with
MOVED = (24, 48)  #: worlds that physics and task are measured with; fewer share room for contacts
GIGABYTE = 1e9
BOUND = 22.0  #: GB that a card of 24 GB has for a run
SET_ASIDE = 1.5  #: GB for CUDA's context, libraries and what the allocator cannot use; not measured
LEARNER = ("networks, gradients, Adam", "rollout and images")
UPDATES = ("style", "ppo", "encoder", "imagination")  #: parts of an update, of which the largest counts
UPDATE = "the update, at its peak"
WORLDS = ("physics", "task, terrain, camera")


@dataclass(frozen=True, kw_only=True)
class MemoryPlan:
    """GB by part."""

    parts: dict[str, float]
    updates: dict[str, float]  #: of the parts of an update, the largest of which is among `parts`

    @property
    def total(self) -> float:
        return sum(self.parts.values())


def plan(config: TrainConfig, *, mirrored_input: bool = False) -> MemoryPlan:
    """mirrored_input: with the symmetry that the paper compares with (Fig. 7c)."""
    if mirrored_input:
        config = replace(config, ablation=AblationConfig(input_symmetry=True))
    parts = {"replay, reference motion": _buffers(config)}
    parts |= _at_scale(lambda worlds: _learner(config, worlds), config.env.num_envs, LEARNED)
    updates = {name: parts.pop(name) / GIGABYTE for name in UPDATES}
    parts[UPDATE] = GIGABYTE * max(updates.values())
    parts |= _at_scale(lambda worlds: _worlds(config, worlds), config.env.num_envs, MOVED)
    held = {name: size / GIGABYTE for name, size in parts.items()} | {"set aside for CUDA": SET_ASIDE}
    return MemoryPlan(parts=held, updates=updates)


def _at_scale(
    measure: Callable[[int], dict[str, float]], worlds: int, small: tuple[int, int]
) -> dict[str, float]:
    few, many = (measure(count) for count in small)
    share = (worlds - small[0]) / (small[1] - small[0])
    return {name: few[name] + (many[name] - few[name]) * share for name in few}


def _buffers(config: TrainConfig) -> float:
    """Bytes of what does not grow with the worlds."""
    vectors = layouts(load(config.robot))
    window = WINDOW * vectors.amp.size
    label = vectors.privileged.size + vectors.action.size + 4
    replay = 4.0 * (5 * config.style.replay * window + config.imagination.capacity * label)
    return replay + bytes_of(MotionDataset.load(load(config.robot)))


def _learner(config: TrainConfig, worlds: int) -> dict[str, float]:
    """Bytes of one iteration's learner, with buffers so small that they do not count."""
    small = replace(
        config,
        ppo=replace(config.ppo, epochs=1),  # one pass over the data holds as much as several
        encoder=replace(config.encoder, epochs=1),
        style=replace(config.style, updates=1, replay=100),
        imagination=replace(config.imagination, capacity=100),
    )
    torch.manual_seed(0)
    recording = RandomWalk(small, worlds)
    learner = recording.learner(small)
    learner.stopwatch = watch = _MemoryWatch()
    recording.live_through(learner)
    stepping = _optimizers(learner)
    networks = bytes_of(learner.networks, *stepping)
    kept_too = (learner.rollout, learner.style, learner.footsteps, learner.statistics)
    known = bytes_of(recording.motion)  # the reference was there before
    stored = bytes_of(learner.networks, *stepping, *kept_too, recording.motion) - networks - known
    return dict(zip(LEARNER, (networks, stored), strict=True)) | watch.most


class _MemoryWatch(Stopwatch):
    """Instead of how long each part of an update takes: how much it holds that it does not keep."""

    def __init__(self) -> None:
        super().__init__()
        self.most = dict.fromkeys(UPDATES, 0.0)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        if name not in self.most:
            yield
            return
        with watched() as held:
            yield
        # Adam's moments, made in the first step, are counted with the networks.
        self.most[name] = max(self.most[name], float(held.peak - max(held.left, 0)))


def _optimizers(learner: SSR) -> list[Any]:
    from ssr.learning.ssr_state import optimizers

    return list(optimizers(learner).values())


def _worlds(config: TrainConfig, worlds: int) -> dict[str, float]:
    from ssr.task.resident_env import ResidentEnv

    env = ResidentEnv(load(config.robot), worlds, config.task, camera=config.camera)
    env.reset()
    physics = bytes_of(env.simulator)
    return dict(zip(WORLDS, (physics, bytes_of(env) - physics), strict=True))


def bytes_of(*things: Any) -> float:
    """Of all tensors and Warp arrays within, each memory once."""
    seen: dict[int, int] = {}
    for part in _parts(list(things), set()):
        if isinstance(part, Tensor):
            storage = part.untyped_storage()
            seen[storage.data_ptr()] = storage.nbytes()
        elif part.ptr is not None:
            seen[part.ptr] = max(seen.get(part.ptr, 0), part.capacity or 0)
    return float(sum(seen.values()))


def _parts(thing: Any, met: set[int]) -> Iterator[Any]:
    if id(thing) in met or isinstance(thing, (str, bytes, int, float, type)) or thing is None:
        return
    met.add(id(thing))
    if isinstance(thing, Tensor):
        yield thing
        if thing.grad is not None:
            yield thing.grad
        return
    if type(thing).__module__.startswith("warp") and hasattr(thing, "ptr") and hasattr(thing, "capacity"):
        yield thing
        return
    if isinstance(thing, nn.Module):
        yield from (part for p in (*thing.parameters(), *thing.buffers()) for part in _parts(p, met))
        return
    if isinstance(thing, Mapping):
        inside = list(thing.values()) + [key for key in thing if isinstance(key, Tensor)]
    elif isinstance(thing, (list, tuple, set)):
        inside = list(thing)
    elif is_dataclass(thing):
        inside = [getattr(thing, f.name, None) for f in fields(thing)]
    elif type(thing).__module__.startswith(("ssr", "torch.optim")) and hasattr(thing, "__dict__"):
        inside = list(vars(thing).values())
    else:
        return
    for part in inside:
        yield from _parts(part, met)
