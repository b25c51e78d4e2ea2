"""Symmetry without a trainer: a robot that stands like its own mirror image must act like it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ssr.networks.build import Networks
from ssr.networks.config import NetworkConfig
from ssr.networks.policy import actor_observation
from ssr.symmetry.layout import apply
from ssr.symmetry.structure import swap_channels
from ssr.symmetry.vectors import layouts

CONFIG = replace(NetworkConfig.cpu(), mirror_averaged=True)


def standing(robot) -> torch.Tensor:
    """A crouch with toes and elbows turned out, commanded forward, as a history (1, h, P)."""
    layout = layouts(robot).proprioception
    frame = torch.zeros(layout.size)
    layout.get(frame, "gravity")[:] = torch.tensor([0.05, 0.0, -1.0])
    layout.get(frame, "command")[:] = torch.tensor([1.6, 0.0, 0.0])
    for segment in ("joint_position", "joint_velocity", "previous_action"):
        half = torch.rand(len(robot.joints))
        layout.get(frame, segment)[:] = 0.5 * (half + apply(robot.joint_mirror, half))
    return frame.expand(1, CONFIG.history, -1)


def scene() -> torch.Tensor:
    """Steps straight ahead: the image is its own mirror image."""
    image = torch.rand(1, 36, 36) * 3.0
    return 0.5 * (image + image.flip(-1))


def act(networks: Networks, history: torch.Tensor, depth: torch.Tensor):
    """Latent heads and the action."""
    encoder, actor = networks.encoder.eval(), networks.layouts.actor
    hidden = torch.zeros(1, CONFIG.gru_hidden)
    latents, hidden = encoder.step(history, encoder.encode_images(depth), hidden)
    latents, _ = encoder.step(history, encoder.encode_images(depth), hidden)
    observation = actor_observation(history, networks.estimator(history), latents)
    # The estimator is a plain MLP, so its answer need not be symmetric; a standing robot does not move.
    actor.get(observation, "velocity")[:] = 0.0
    return latents, networks.actor(observation)


def is_self_mirrored(robot, latents, action) -> bool:
    heads = (latents.foot, latents.base, latents.proprioception)
    latent_symmetric = all(torch.allclose(z, swap_channels(z), atol=1e-6) for z in heads)
    return latent_symmetric and torch.allclose(action, apply(robot.joint_mirror, action), atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("seed", range(3))
def test_a_symmetric_stance_gives_a_symmetric_latent_and_action(x2, seed):
    torch.manual_seed(seed)
    assert is_self_mirrored(x2, *act(Networks(x2, CONFIG), standing(x2), scene()))


@torch.no_grad()
@pytest.mark.parametrize("joint", ["hip_yaw", "hip_roll", "shoulder_yaw", "ankle_roll", "waist_yaw"])
def test_one_wrong_sign_breaks_it(x2, joint):
    torch.manual_seed(0)
    names = [j.name for j in x2.joints if joint in j.name]
    assert names
    wrong = replace(
        x2,
        joints=tuple(
            replace(j, mirror_sign=-j.mirror_sign, default=0.0) if j.name in names else j for j in x2.joints
        ),
    )
    assert not is_self_mirrored(x2, *act(Networks(wrong, CONFIG), standing(x2), scene()))


@torch.no_grad()
def test_a_lopsided_stance_or_scene_gives_a_lopsided_latent(x2):
    torch.manual_seed(0)
    networks = Networks(x2, CONFIG)
    history, depth = standing(x2), scene()
    lifted = history.clone()
    left_knee = networks.layouts.proprioception.slice("joint_position").start + [
        "left" in n and "knee" in n for n in x2.joint_names
    ].index(True)
    lifted[..., left_knee] += 1.0
    latents, _ = act(networks, lifted, depth)
    assert not torch.allclose(latents.foot, swap_channels(latents.foot), atol=1e-4)
    depth = depth.clone()
    depth[:, :, :10] = 0.3  # a wall on the left
    latents, _ = act(networks, history, depth)
    assert not torch.allclose(latents.base, swap_channels(latents.base), atol=1e-4)
