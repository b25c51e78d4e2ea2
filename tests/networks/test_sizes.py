"""Table 8 and the dimensions of the paper: shapes and parameter counts."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise

import pytest
import torch

from ssr.errors import UserError
from ssr.networks.build import Networks
from ssr.networks.config import NetworkConfig
from ssr.robots import load


@pytest.fixture(scope="module")
def paper(x2):
    return Networks(x2, NetworkConfig())


def dense(*sizes: int) -> int:
    """Weights and biases of a dense MLP."""
    return sum(a * b + b for a, b in pairwise(sizes))


def test_the_encoder_of_table_8_has_half_the_weights_of_a_dense_one(paper):
    proprioception = dense(2 * 42 * 10, 512, 256, 128, 128)
    gru = 3 * (dense(128 + 128, 256) + dense(256, 256))
    fusion = dense(256, 512, 256, 128, 48)
    heads = 4 * dense(48, 16)  # z^f, z^b, and mean and log variance of z^p
    kernels = [(1, 32, 8, 1), (32, 64, 4, 1), (64, 128, 3, 1)]
    cnn = sum(a * b * k * k + b for a, b, k, _ in kernels)
    expected = (proprioception + gru + fusion + heads + cnn) // 2
    assert paper.parameter_counts()["encoder"] == expected


def test_the_plain_encoder_of_the_same_widths(x2):
    counts = Networks(x2, NetworkConfig(equivariant=False)).parameter_counts()
    proprioception = dense(72 * 10, 512, 256, 128, 128)  # no midline entry twice
    gru = 3 * (dense(256, 256) + dense(256, 256))
    cnn = 64 * 32 + 32 + 32 * 16 * 64 + 64 + 64 * 9 * 128 + 128
    assert counts["encoder"] == proprioception + gru + dense(256, 512, 256, 128, 48) + 4 * dense(48, 16) + cnn


def test_all_other_networks_of_table_8(paper):
    counts = paper.parameter_counts()
    assert counts["decoders"] == dense(16, 64, 128, 100) + dense(16, 64, 128, 180) + dense(16, 64, 128, 72)
    assert counts["estimator"] == dense(720, 512, 256, 128, 3)
    assert counts["actor"] == 5 * dense(123, 1024, 512, 128, 21) + dense(123, 128, 5) + 21
    assert counts["critics"] == 3 * dense(375, 512, 256, 128, 1)
    assert counts["discriminators"] == 5 * dense(315, 512, 256, 128, 1)
    assert counts["imagination"] == dense(396, 256, 128, 6)


@pytest.mark.parametrize("config", [NetworkConfig(), NetworkConfig.cpu()], ids=["paper", "cpu"])
@pytest.mark.parametrize("equivariant", [True, False])
@pytest.mark.parametrize("name", ["x2", "dr02", "g1"])
@torch.no_grad()
def test_shapes(name, config, equivariant):
    robot = load(name)
    joints = len(robot.joints)
    networks = Networks(robot, replace(config, equivariant=equivariant))
    size = networks.layouts
    history = torch.randn(4, config.history, size.proprioception.size)
    policy = networks.policy()
    action, hidden = policy(history, torch.rand(4, 36, 36), policy.initial_hidden(4))
    assert action.shape == (4, joints)
    assert hidden.shape == (4, config.gru_hidden)
    latents, _ = networks.encoder.step(history, networks.encoder.encode_images(torch.rand(4, 36, 36)), hidden)
    assert latents.vector.shape == (4, 48)
    feet, base, following = networks.decoders(latents)
    assert (feet.shape[-1], base.shape[-1], following.shape[-1]) == (100, 180, size.proprioception.size)
    values = networks.critics(torch.randn(4, size.privileged.size))
    assert {stream: v.shape for stream, v in values.items()} == dict.fromkeys(config.streams, (4,))
    footholds = networks.imagination(torch.randn(4, size.privileged.size), action)
    assert footholds.mean.shape == (4, 2, 2)
    assert footholds.std.shape == (4, 2)
    windows = torch.randn(4, 5 * size.amp.size)
    assert networks.discriminators.score(windows, torch.tensor([0, 4, 1, 1])).shape == (4,)


def test_the_narrow_networks_change_widths_only():
    paper, cpu = NetworkConfig(), NetworkConfig.cpu()
    changed = {f.name for f in fields(paper) if getattr(paper, f.name) != getattr(cpu, f.name)}
    kept = {"latent", "image_size", "depth_range", "cnn_kernels", "cnn_strides", "experts", "streams"}
    assert not changed & (kept | {"discriminators", "initial_std", "equivariant"})


def test_a_dropped_stream_drops_its_critic(x2):
    networks = Networks(x2, replace(NetworkConfig.cpu(), streams=("locomotion", "foothold")))
    assert set(networks.critics(torch.randn(2, 375))) == {"locomotion", "foothold"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"gru_hidden": 127}, "gru_hidden: 127"),
        ({"cnn_channels": (32, 64)}, "expected 3 numbers, one a layer"),
        ({"image_size": (42, 42)}, "36×36"),
    ],
)
def test_impossible_widths_are_refused(x2, change, reason):
    with pytest.raises(UserError, match=reason):
        Networks(x2, replace(NetworkConfig.cpu(), **change))
