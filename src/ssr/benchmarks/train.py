"""How much of raw physics is left once everything learns, and what symmetry in latent space saves."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, Literal
from unittest.mock import patch

import torch

from ssr.benchmarks.blocks import Rounds, median_ratio
from ssr.benchmarks.memory import peak_tensor_bytes
from ssr.benchmarks.recording import RandomWalk
from ssr.benchmarks.replay import Replay
from ssr.files import write_json
from ssr.learning import imagination, presets, ssr, worlds
from ssr.learning.config import AblationConfig, TrainConfig
from ssr.learning.distribution import launch
from ssr.learning.landing_error import empty_errors
from ssr.learning.ranks import Ranks
from ssr.learning.runner import with_ranks
from ssr.learning.ssr import SSR
from ssr.learning.statistics import Statistics
from ssr.learning.stopwatch import Stopwatch
from ssr.learning.trainer import Trainer
from ssr.motion.frames import WINDOW
from ssr.ranges import checked
from ssr.task.env import TraversalEnv

INPUT_SYMMETRY = AblationConfig(input_symmetry=True)
PAPER_WORLDS = 4096
SMALL_WORLDS = (16, 48)  #: from which the paper's memory is worked out; it grows linearly with the worlds


@checked
def run(rounds: Rounds = 5, preset: Literal["cpu", "smoke"] = "cpu") -> dict[str, Any]:
    """Steps per second on all cores: raw physics, the task, with the policy acting, and training.

    rounds: alternated blocks of each; medians are reported. preset: whose worlds and networks; smoke only
    shows that it runs, and leaves out the memory of the paper's networks.
    """
    config = with_ranks(presets.preset(preset))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rates.json"
        launch(config, measure_rates, config, rounds, path)
        rates = json.loads(path.read_text())
    figures: dict[str, Any] = {
        f"{name}_sps": round(median(rates[name]), 1) for name in ("raw", "step", "inference", "train")
    }
    figures["physics_ratio"] = round(median_ratio(rates, "train", "raw"), 4)
    figures["measures_share"] = round(measures_share(presets.preset(preset), rounds), 4)
    figures |= compare_symmetries(presets.preset(preset), rounds)
    return figures if preset == "smoke" else figures | {"memory_ratio_paper": round(paper_memory_ratio(), 4)}


# ---- rates of the whole loop -------------------------------------------------------------------------


def measure_rates(ranks: Ranks, config: TrainConfig, rounds: int, path: Path) -> None:
    """Every rank runs the same block at the same time; the rate is that of all ranks together."""
    env, learner = worlds.make(config, ranks)
    trainer = Trainer(env, learner, ranks)
    trainer.iterate()
    trainer.iterate()
    blocks: dict[str, Callable[[], None]] = {
        "raw": _recorded(env, config.ppo.steps).run,
        "step": lambda: _step(env, config.ppo.steps),
        "inference": lambda: _act(trainer, config.ppo.steps),
        "train": lambda: _train(trainer),
    }
    rates: dict[str, list[float]] = {name: [] for name in blocks}
    for _ in range(rounds):
        for name, block in blocks.items():
            ranks.wait()
            begin = time.perf_counter()
            block()
            ranks.wait()
            seconds = time.perf_counter() - begin
            rates[name].append(config.env.num_envs * config.ppo.steps / seconds)
    if ranks.first:
        write_json(path, rates)


def _recorded(env: TraversalEnv, steps: int) -> Replay:
    """Some steps with random actions, to be repeated."""
    raw = Replay(env.simulator, env.substeps)
    for _ in range(steps):
        transition = env.step(0.3 * torch.randn(env.num_envs, len(env.robot.joints)))
        raw.stepped()
        env.restart(transition.ended)
        raw.restarted(transition.ended)
    return raw


def _step(env: TraversalEnv, steps: int) -> None:
    """The task with its camera, no policy."""
    actions = 0.3 * torch.randn(steps, env.num_envs, len(env.robot.joints))
    for action in actions:
        env.restart(env.step(action).ended)


def _act(trainer: Trainer, steps: int) -> None:
    """The policy acts and its rewards are computed, nothing is learned."""
    env, learner = trainer.env, trainer.algorithm
    assert isinstance(learner, SSR)
    observation = env.observation()
    for _ in range(steps):
        transition = env.step(learner.act(observation))
        learner.observe(transition)
        observation = env.restart(transition.ended)
    trainer.observation = observation
    learner.t = 0  # the rollout is thrown away


def _train(trainer: Trainer) -> None:
    trainer.observation = trainer.env.observation()
    trainer.iterate()


# ---- what watching costs -----------------------------------------------------------------------------


def measures_share(config: TrainConfig, rounds: int) -> float:
    """Share of the learner's time, physics not counted, that measures by terrain type, edge sight and the
    independence of streams take: the same recorded experience with and without them, alternated, one core."""
    torch.set_num_threads(1)
    recording = RandomWalk(config, config.env.num_envs // 2)
    learner = recording.learner(config)
    nothing: Callable[..., dict[str, float]] = lambda *inputs, **options: {}
    seconds: dict[str, list[float]] = {"with": [], "without": []}
    for number in range(2 * rounds + 2):
        name = ("with", "without")[number % 2]
        with ExitStack() as bare:
            if name == "without":
                bare.enter_context(patch.object(ssr.edge_sight, "of_rollout", nothing))
                bare.enter_context(patch.object(ssr, "independent_shares", nothing))
                bare.enter_context(patch.object(Statistics, "_observe_terrain", nothing))
                bare.enter_context(patch.object(imagination, "sum_errors", lambda *inputs: empty_errors()))
            begin = time.process_time()
            recording.live_through(learner)
            if number > 1:  # the first of each warms up
                seconds[name].append(time.process_time() - begin)
    return 1.0 - median(seconds["without"]) / median(seconds["with"])


# ---- latent against input symmetry -------------------------------------------------------------------


def compare_symmetries(config: TrainConfig, rounds: int) -> dict[str, float]:
    """SSR ÷ input_symmetry on the same recorded experience, one core: encoder time, update time, memory."""
    torch.set_num_threads(1)
    recording = RandomWalk(config, config.env.num_envs // 2)
    settings = {"ssr": config, "input": replace(config, ablation=INPUT_SYMMETRY)}
    learners = {name: recording.learner(setting) for name, setting in settings.items()}
    for learner in learners.values():
        learner.stopwatch = Stopwatch(time.process_time)  # one thread: what others do does not count
    encoder: dict[str, list[float]] = {name: [] for name in settings}
    update: dict[str, list[float]] = {name: [] for name in settings}
    for number in range(rounds + 1):
        for name, learner in learners.items():
            seconds = recording.live_through(learner)
            if number:  # the first round warms up
                encoder[name].append(seconds["encoding"] + seconds["encoder"])
                update[name].append(sum(seconds[part] for part in ("ppo", "encoder", "imagination", "style")))
    return {
        "encoder_time_ratio": round(median_ratio(encoder, "ssr", "input"), 4),
        "update_time_ratio": round(median_ratio(update, "ssr", "input"), 4),
        "memory_ratio": round(_memory(recording, settings["ssr"]) / _memory(recording, settings["input"]), 4),
    }


def _memory(recording: RandomWalk, config: TrainConfig) -> int:
    """Peak tensor bytes of a learner over one iteration; environment and recording do not count."""

    def work() -> object:
        learner = recording.learner(config)
        recording.live_through(learner)
        return learner

    return peak_tensor_bytes(work)


def paper_memory_ratio() -> float:
    """The same for the paper's networks, history, camera and 4,096 worlds, worked out from fewer worlds.

    What grows with the worlds is measured at two numbers of them, with the buffers of fixed size made tiny so
    that they do not hide it; the full-size buffers, equal on both sides, are added at the end.
    """
    paper = presets.preset("paper")
    fixed = 4 * (5 * paper.style.replay * WINDOW * 63 + paper.imagination.capacity * (375 + 21 + 2))
    small = replace(
        paper,
        ppo=replace(paper.ppo, epochs=1),  # one pass over the data holds as much as several
        encoder=replace(paper.encoder, epochs=1),
        style=replace(paper.style, updates=1, replay=100, batch_size=8),
        imagination=replace(paper.imagination, capacity=100, batch_size=8),
    )
    peaks: dict[str, list[int]] = {"ssr": [], "input": []}
    for count in SMALL_WORLDS:
        recording = RandomWalk(small, count)
        for name, ablation in (("ssr", AblationConfig()), ("input", INPUT_SYMMETRY)):
            peaks[name].append(_memory(recording, replace(small, ablation=ablation)))
    few, many = SMALL_WORLDS
    at_scale = {
        name: fixed + low + (high - low) * (PAPER_WORLDS - few) / (many - few)
        for name, (low, high) in peaks.items()
    }
    return at_scale["ssr"] / at_scale["input"]
