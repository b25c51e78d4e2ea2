"""The robot, its vectors, and narrow networks whose every size differs."""

from __future__ import annotations

import pytest
import torch

from ssr.networks.config import NetworkConfig
from ssr.robots import load
from ssr.symmetry.vectors import layouts


@pytest.fixture(scope="session")
def x2():
    return load("x2")


@pytest.fixture(scope="session")
def vectors(x2):
    return layouts(x2)


@pytest.fixture
def small() -> NetworkConfig:
    torch.manual_seed(0)
    return NetworkConfig(
        history=3,
        encoder_hidden=(24, 20),
        proprioception_embedding=12,
        cnn_channels=(4, 6, 10),
        gru_hidden=14,
        fusion_embedding=8,
        decoder_hidden=(9,),
        expert_hidden=(13, 7),
        gate_hidden=(5,),
        critic_hidden=(17,),
        discriminator_hidden=(19,),
        imagination_hidden=(15,),
    )
