from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

from ssr.learning.config import (
    EncoderConfig,
    ImaginationConfig,
    PPOConfig,
    ScheduleConfig,
    StyleConfig,
    TrainConfig,
    WorldsConfig,
)
from ssr.networks.config import NetworkWidths
from ssr.task.config import TaskConfig


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)
    torch.manual_seed(0)


@pytest.fixture
def tiny() -> TrainConfig:
    """Everything switched on, for the toy walker."""
    return TrainConfig(
        preset="toy",
        task=TaskConfig(history=5),
        network=NetworkWidths(
            encoder_hidden=(32,),
            proprioception_embedding=16,
            cnn_channels=(4, 8, 16),
            gru_hidden=32,
            expert_hidden=(32, 32),
            gate_hidden=(16,),
            critic_hidden=(64, 32),
            discriminator_hidden=(32, 32),
            imagination_hidden=(64, 32),
        ),
        env=WorldsConfig(num_envs=8),
        ppo=PPOConfig(epochs=3, learning_rates=(1e-4, 1e-3), average=0.5),
        schedule=ScheduleConfig(initial_std=0.5, desired_kl=(0.02, 0.02)),
        encoder=EncoderConfig(epochs=1, minibatches=2, recalled=3),
        imagination=ImaginationConfig(capacity=4000, batch_size=256, gate_samples=500),
        style=StyleConfig(replay=500, updates=2, batch_size=64),
    )
