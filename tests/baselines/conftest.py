from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "learning"))

from ssr.learning.config import EncoderConfig, PPOConfig, ScheduleConfig, TrainConfig, WorldsConfig
from ssr.networks.config import NetworkWidths
from ssr.task.config import TaskConfig


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)
    torch.manual_seed(0)


@pytest.fixture
def tiny() -> TrainConfig:
    """Small widths, for the toy walker."""
    return TrainConfig(
        preset="toy",
        task=TaskConfig(history=5),
        network=NetworkWidths(
            encoder_hidden=(32,), gru_hidden=32, expert_hidden=(32, 32), critic_hidden=(64, 32)
        ),
        env=WorldsConfig(num_envs=8),
        ppo=PPOConfig(epochs=3, learning_rates=(1e-4, 1e-3), average=0.5),
        schedule=ScheduleConfig(initial_std=0.5, desired_kl=(0.02, 0.02)),
        encoder=EncoderConfig(epochs=2, minibatches=2),
    )
