"""The policy outside training: named inputs and outputs, deterministic, one fixed graph."""

from __future__ import annotations

import torch

from ssr.networks.build import Networks
from ssr.networks.config import NetworkConfig
from ssr.networks.policy import actor_observation


def inputs(networks: Networks, robots: int) -> tuple[torch.Tensor, ...]:
    c = networks.config
    history = torch.randn(robots, c.history, networks.layouts.proprioception.size)
    return history, torch.rand(robots, *c.image_size) * 3.0, torch.randn(robots, c.gru_hidden)


def test_the_policy_names_what_goes_in_and_out(x2, small):
    policy = Networks(x2, small).policy()
    assert policy.inputs == ("proprioception_history", "depth", "hidden")
    assert policy.outputs == ("action", "next_hidden")


@torch.no_grad()
def test_the_policy_is_encoder_estimator_and_actor(x2, small):
    networks = Networks(x2, small).eval()
    history, depth, hidden = inputs(networks, 3)
    latents, following = networks.encoder.step(history, networks.encoder.encode_images(depth), hidden)
    observation = actor_observation(history, networks.estimator(history), latents)
    layout = networks.layouts.actor
    assert torch.equal(observation[:, : layout.slice("velocity").start], history[:, -1])
    assert torch.equal(layout.get(observation, "latent_base"), latents.base)
    action, next_hidden = networks.policy()(history, depth, hidden)
    assert torch.equal(action, networks.actor(observation))
    assert torch.equal(next_hidden, following)


@torch.no_grad()
def test_the_policy_is_deterministic_even_while_training(x2, small):
    networks = Networks(x2, small).train()
    given = inputs(networks, 3)
    assert torch.equal(networks.policy()(*given)[0], networks.policy()(*given)[0])


@torch.no_grad()
def test_the_policy_becomes_one_graph_for_any_number_of_robots(x2):
    networks = Networks(x2, NetworkConfig.cpu()).eval()
    policy = networks.policy()
    robots = torch.export.Dim("robots", min=1, max=4096)
    shapes = {name: {0: robots} for name in policy.inputs}
    program = torch.export.export(policy, inputs(networks, 2), dynamic_shapes=shapes)
    given = inputs(networks, 7)
    for exported, direct in zip(program.module()(*given), policy(*given), strict=True):
        assert torch.allclose(exported, direct, atol=1e-6)


def test_half_precision_on_the_cpu_works(x2):
    networks = Networks(x2, NetworkConfig.cpu())
    c = networks.config
    history = torch.randn(6, 4, c.history, 72)
    with torch.autocast("cpu", torch.bfloat16):
        features = networks.encoder.encode_images(torch.rand(3, 36, 36))
        latents, hidden = networks.encoder.sequence(
            history, features, torch.randint(3, (6, 4)), torch.zeros(4, c.gru_hidden), torch.rand(6, 4) < 0.3
        )
        loss = sum(x.float().square().mean() for x in networks.decoders(latents))
        loss = loss + networks.actor(torch.randn(6, 123)).float().mean()
    loss.backward()
    assert torch.isfinite(loss)
    assert hidden.shape == (4, c.gru_hidden)
