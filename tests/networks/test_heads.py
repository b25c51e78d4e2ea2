"""Actor, critics, discriminators and imagination: each equals its slow, obvious form."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from ssr.networks import gaussian
from ssr.networks.actor import MoEActor
from ssr.networks.build import Networks
from ssr.networks.critics import Critics
from ssr.networks.discriminators import Discriminators
from ssr.networks.mlp import ParallelMLP


def one_by_one(networks: ParallelMLP, which: int, x: torch.Tensor) -> torch.Tensor:
    """Network `which` of a parallel stack, layer by layer."""
    layers = list(zip(networks.weights, networks.biases, strict=True))
    for k, (weight, bias) in enumerate(layers):
        x = x @ weight[which] + bias[which]
        x = networks.activation(x) if k + 1 < len(layers) else x
    return x


def test_experts_are_mixed_by_their_weights(small):
    actor = MoEActor(10, 4, small)
    x = torch.randn(6, 10)
    weights = actor.weights(x)
    assert weights.sum(-1).tolist() == pytest.approx([1.0] * 6)
    expected = sum(weights[:, k : k + 1] * one_by_one(actor.experts, k, x) for k in range(5))
    assert torch.allclose(actor(x), expected, atol=1e-6)


def test_exploration_starts_at_one_and_never_falls_below_the_floor(small):
    actor = MoEActor(10, 4, small)
    assert actor.std.tolist() == [1.0] * 4
    with torch.no_grad():
        actor.std.copy_(torch.tensor([0.05, 0.2, 0.7, -3.0]))
    actor.clamp_std_(0.2, 1.0)
    assert actor.std.tolist() == pytest.approx([0.2, 0.2, 0.7, 0.2])


def test_critics_share_nothing(small):
    critics = Critics(12, small)
    state = torch.randn(5, 12)
    before = critics(state)
    for k, stream in enumerate(small.streams):
        assert torch.allclose(before[stream], one_by_one(critics.networks, k, state).squeeze(-1), atol=1e-6)
    before["style"].sum().backward()
    for parameter in critics.parameters():
        assert parameter.grad is not None
        assert parameter.grad[:2].abs().sum() == 0
        assert parameter.grad[2].abs().sum() > 0


@torch.no_grad()
def test_averaged_over_both_mirror_images_actor_and_critics_are_symmetric(x2, vectors, small):
    plain = Networks(x2, small)
    averaged = Networks(x2, replace(small, mirror_averaged=True))
    averaged.load_state_dict(plain.state_dict())  # the same weights mean either
    seen, state = torch.randn(6, vectors.actor.size), torch.randn(6, vectors.privileged.size)
    action, seen_mirrored = averaged.actor(seen), vectors.actor.mirror(seen)
    assert torch.allclose(averaged.actor(seen_mirrored), vectors.action.mirror(action), atol=1e-6)
    assert not torch.allclose(plain.actor(seen_mirrored), vectors.action.mirror(action), atol=1e-3)
    mirrored = vectors.action.mirror(plain.actor(seen_mirrored))
    assert torch.allclose(action, 0.5 * (plain.actor(seen) + mirrored), atol=1e-6)
    worth, same = averaged.critics(state), averaged.critics(vectors.privileged.mirror(state))
    apart = plain.critics(state), plain.critics(vectors.privileged.mirror(state))
    for stream in small.streams:
        assert torch.allclose(worth[stream], same[stream], atol=1e-6)
        assert torch.allclose(worth[stream], 0.5 * (apart[0][stream] + apart[1][stream]), atol=1e-6)


def test_each_window_is_judged_by_its_own_discriminator(small):
    judges = Discriminators(7, small)
    windows, which = torch.randn(40, 35), torch.randint(5, (40,))
    which[which == 3] = 2  # a terrain without any robot on it
    expected = torch.stack(
        [one_by_one(judges.networks, int(k), w) for k, w in zip(which, windows, strict=True)]
    )
    assert torch.allclose(judges.score(windows, which), expected.flatten(), atol=1e-6)
    batches = torch.randn(5, 8, 35)
    expected = torch.stack([one_by_one(judges.networks, k, batches[k]) for k in range(5)])
    assert torch.allclose(judges(batches), expected.squeeze(-1), atol=1e-6)


def test_discriminators_use_relu_and_allow_a_gradient_penalty(small):
    judges = Discriminators(7, small)
    assert isinstance(judges.networks.activation, nn.ReLU)
    windows = torch.randn(5, 8, 35, requires_grad=True)
    (slope,) = torch.autograd.grad(judges(windows).sum(), windows, create_graph=True)
    slope.square().sum(-1).mean().backward()
    assert judges.networks.weights[0].grad is not None
    assert judges.networks.weights[0].grad.abs().sum() > 0


def test_imagined_uncertainty_lies_between_one_and_twenty_five_centimetres(x2, small):
    model = Networks(x2, small).imagination
    with torch.no_grad():
        model.layers[-1].weight.zero_()
        model.layers[-1].bias.copy_(torch.tensor([0.3, -0.1, -100.0, 0.4, 0.1, 0.0]))
    footholds = model(torch.randn(2, 375), torch.randn(2, 21))
    assert footholds.mean[0].tolist() == [pytest.approx([0.3, -0.1]), pytest.approx([0.4, 0.1])]
    assert footholds.std[0].tolist() == pytest.approx([0.01, 0.13])
    with torch.no_grad():
        model.layers[-1].bias.fill_(100.0)
    assert model(torch.randn(2, 375), torch.randn(2, 21)).std.flatten().tolist() == pytest.approx([0.25] * 4)


def test_gaussians_agree_with_torch():
    mean, std, action = torch.randn(6, 4), torch.rand(4) + 0.2, torch.randn(6, 4)
    old_mean, old_std = torch.randn(6, 4), torch.rand(4) + 0.2
    new = torch.distributions.Normal(mean, std)
    old = torch.distributions.Normal(old_mean, old_std)
    assert torch.allclose(
        gaussian.log_probability(action, mean, std), new.log_prob(action).sum(-1), atol=1e-5
    )
    assert math.isclose(gaussian.entropy(std), new.entropy()[0].sum(), rel_tol=1e-5)
    expected = torch.distributions.kl_divergence(old, new).sum(-1)
    assert torch.allclose(gaussian.divergence(old_mean, old_std, mean, std), expected, atol=1e-5)
