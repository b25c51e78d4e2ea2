"""What each of two ranks does in the test of data-parallel training; importable by the spawned processes."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import torch
from toy import ToyMotion, ToyWalker

from ssr.errors import UserError
from ssr.learning.config import TrainConfig, WorldsConfig
from ssr.learning.distribution import launch
from ssr.learning.moments import mean_and_std
from ssr.learning.ppo import normalize, same_spread
from ssr.learning.ranks import Ranks
from ssr.learning.run_directory import RunDirectory
from ssr.learning.ssr import SSR
from ssr.learning.trainer import Trainer
from ssr.networks.config import NetworkWidths
from ssr.task.config import TaskConfig


def fingerprint(x: torch.Tensor) -> list[int]:
    return x.detach().flatten().view(torch.int32).sum().reshape(1).tolist()


def trainer_of(ranks: Ranks, config: TrainConfig) -> tuple[Trainer, SSR]:
    torch.manual_seed(7 + ranks.rank)
    env = ToyWalker(num_envs=ranks.part(config.env.num_envs), seed=ranks.rank)
    algorithm = SSR(
        robot=env.robot,
        num_envs=env.num_envs,
        config=config,
        field=env.field,
        reference=ToyMotion(),
        ranks=ranks,
    )
    return Trainer(env, algorithm, ranks), algorithm


def run(ranks: Ranks, config: TrainConfig) -> dict[str, object]:
    trainer, algorithm = trainer_of(ranks, config)
    metrics = [trainer.iterate() for _ in range(2)]
    return {
        "worlds": trainer.env.num_envs,
        "parameters": [fingerprint(p) for p in algorithm.networks.parameters()],
        "normalizer": fingerprint(algorithm.style.normalizer.mean),
        "own_worlds": fingerprint(algorithm.rollout.privileged),
        "metrics": {k: v for k, v in metrics[-1].items() if "second" not in k and "memory" not in k},
        "levels": trainer.levels(),
    }


def end(ranks: Ranks, config: TrainConfig, folder: Path) -> tuple[str, int]:
    """The second rank would end after one iteration, the first after two; three are allowed."""
    config = replace(config, run=replace(config.run, iterations=3))
    trainer, _ = trainer_of(ranks, config)
    reason = f"enough for rank {ranks.rank}"
    finished = lambda metrics: reason if metrics["iteration"] == 2 - ranks.rank else None
    return trainer.train(RunDirectory(folder), config, finished).reason, trainer.iteration


def train_twice(ranks: Ranks, config: TrainConfig, folder: Path) -> None:
    x = torch.arange(10.0)[ranks.rank :: ranks.size].unsqueeze(0)
    mean, std = mean_and_std(x, torch.ones(x.shape[1]), ranks)
    cut = normalize(x.square(), torch.ones(x.shape[1]), 1.0, ranks)
    number = torch.arange(10)[ranks.rank :: ranks.size]
    spread = same_spread(x[0].square(), torch.ones(x.shape[1]), number % 2, ranks=ranks)
    report = {
        "runs": [run(ranks, config), run(ranks, config)],
        "mean": float(mean),
        "std": float(std),
        "cut": cut.flatten().tolist(),
        "spread": spread.tolist(),
        "end": end(ranks, config, folder),
    }
    (folder / f"rank{ranks.rank}.json").write_text(json.dumps(report))


def fail_on_second(ranks: Ranks) -> None:
    if ranks.rank == 1:
        raise UserError("The second rank has had enough.")
    ranks.wait()


def for_ever() -> None:
    """One rank of torchrun's that trains on and on; a file appears after its first iteration."""
    network = NetworkWidths(
        encoder_hidden=(8,), proprioception_embedding=8, cnn_channels=(4, 4, 4), gru_hidden=8,
        expert_hidden=(8,), gate_hidden=(8,), critic_hidden=(8,), discriminator_hidden=(8,),
        imagination_hidden=(8,),
    )  # fmt: skip
    config = TrainConfig(
        device="cpu", task=TaskConfig(history=5), network=network, env=WorldsConfig(num_envs=8)
    )

    def work(ranks: Ranks) -> None:
        trainer, _ = trainer_of(ranks, config)
        while True:
            trainer.iterate()
            Path(sys.argv[1]).touch()

    try:
        launch(config, work)
    except UserError as error:
        sys.exit(str(error))
