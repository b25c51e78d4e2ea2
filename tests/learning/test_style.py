"""Discriminators tell reference from other motion, and style rewards motion that comes close to reference."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import torch
from toy import ToyMotion, ToyWalker

from ssr.learning.config import StyleConfig
from ssr.learning.style import Style, WindowReplay, discriminator_loss, style_reward
from ssr.networks.config import NetworkConfig
from ssr.networks.discriminators import Discriminators
from ssr.terrain.settings import TERRAIN_TYPES

CONFIG = StyleConfig(replay=2000, updates=10, batch_size=64)


class Sway:
    """Reference motion: the joints sway together, each terrain type at its own pace."""

    def on(self, device):
        return self

    def amp_windows(self, terrain_type, count, generator):
        pace = 0.2 + 0.1 * TERRAIN_TYPES.index(terrain_type)
        phase = 6.28 * torch.rand(count, 1, 1, generator=generator)
        time = torch.arange(5.0).view(1, 5, 1)
        joints = torch.arange(63.0).view(1, 1, 63)
        return torch.sin(phase + pace * time + 0.1 * joints)


def style(num_envs=10, steps=24, motion=None, count=5):
    networks = NetworkConfig(discriminators=count, discriminator_hidden=(64, 32))
    return Style(
        Discriminators(63, networks),
        motion or Sway(),
        frame_size=63,
        steps=steps,
        num_envs=num_envs,
        seed=0,
        config=CONFIG,
    )


def feed(learner, windows):
    """Put windows (5 types, b, 5, 63) into the replay."""
    for k, group in enumerate(windows):
        learner.replay.put(k, group.flatten(1))


def score(learner, group, windows):
    with torch.no_grad():
        return learner.discriminators.score(learner._normalized(windows), torch.full((len(windows),), group))


def test_reward_of_a_score():
    scores = torch.tensor([1.0, 0.0, -1.0, 3.0, -5.0])
    torch.testing.assert_close(style_reward(scores), torch.tensor([1.0, 0.75, 0.0, 0.0, 0.0]))


def test_a_discriminator_without_windows_keeps_its_weights():
    learner = style()
    learner.replay.put(0, torch.randn(100, 315))
    before = [p.detach().clone() for p in learner.discriminators.parameters()]
    for _ in range(3):
        learner.update()
    for old, new in zip(before, learner.discriminators.parameters(), strict=True):
        assert torch.equal(old[1:], new[1:]) and not torch.equal(old[0], new[0])


def test_weights_decay_as_with_adams_own_weight_decay(monkeypatch):
    """An update's gradient is that without decay, plus the decay times the weights."""
    gradients = []
    for decay in (0.0, 1e-3):
        monkeypatch.setattr("ssr.learning.style.WEIGHT_DECAY", decay)
        torch.manual_seed(0)
        learner = style()
        learner.config = replace(CONFIG, updates=1)
        learner.optimizer.max_gradient_norm = None
        feed(learner, torch.randn(5, 100, 5, 63))
        weights = learner.optimizer.values.clone()
        learner.update()
        gradients.append(learner.optimizer.gradient.clone())
    torch.testing.assert_close(gradients[1] - gradients[0], 1e-3 * weights, atol=1e-7, rtol=1e-4)


def test_a_gradient_is_the_same_wherever_its_first_derivative_was_taken(monkeypatch):
    """A device has a thread of its own for that, in which autograd counts operations anew: it then sums in
    another order."""
    derivative, gradients = torch.autograd.grad, []

    def elsewhere(*given, **options):
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(derivative, *given, **options).result()

    for way in (derivative, elsewhere):
        monkeypatch.setattr(torch.autograd, "grad", way)
        torch.manual_seed(0)
        learner = style()
        learner.config = replace(CONFIG, updates=1)
        feed(learner, torch.randn(5, 100, 5, 63))
        learner.update()
        gradients.append(learner.optimizer.gradient.clone())
    assert gradients[0].abs().max() > 0.0 and torch.equal(*gradients)


def test_discriminators_separate_and_style_rises_towards_reference():
    learner, generator = style(), torch.Generator().manual_seed(1)
    noise = torch.randn(5, 400, 5, 63)
    feed(learner, noise)
    for _ in range(12):
        learner.update()
    for k, name in enumerate(TERRAIN_TYPES):
        reference = learner.reference.amp_windows(name, 200, generator)
        of_reference, of_noise = (
            score(learner, k, reference).mean(),
            score(learner, k, torch.randn(200, 5, 63)).mean(),
        )
        assert of_reference > 0.4 and of_noise < -0.4
        rewards = [
            float(
                style_reward(
                    score(learner, k, (1 - share) * torch.randn(200, 5, 63) + share * reference)
                ).mean()
            )
            for share in (0.0, 0.5, 1.0)
        ]
        assert rewards[0] < rewards[1] < rewards[2]


def test_gradient_penalty_touches_reference_windows_only():
    torch.manual_seed(0)
    networks = Discriminators(63, NetworkConfig(discriminators=2, discriminator_hidden=(16,)))
    reference, policy = torch.randn(2, 8, 315), torch.randn(2, 8, 315)
    bare, _, _ = discriminator_loss(networks, reference, policy, 0.0)
    full, _, _ = discriminator_loss(networks, reference, policy, 20.0)
    probe = reference.clone().requires_grad_(True)
    (slope,) = torch.autograd.grad(networks(probe).sum(), probe)
    torch.testing.assert_close(full - bare, 0.5 * 20.0 * slope.square().sum(-1).mean(-1))
    elsewhere, _, _ = discriminator_loss(networks, reference, 3.0 * policy, 20.0)
    bare_elsewhere, _, _ = discriminator_loss(networks, reference, 3.0 * policy, 0.0)
    torch.testing.assert_close(elsewhere - bare_elsewhere, full - bare)


def test_each_world_is_judged_by_its_terrain_and_the_apron_by_slope():
    env, learner = ToyWalker(num_envs=5), style(num_envs=5, steps=4, motion=ToyMotion())
    env.reset()
    for t in range(4):
        transition = env.step(torch.randn(5, 21))
        transition.omnidirectional[3] = t >= 2
        learner.observe(t, transition, torch.full((5,), t == 0))
    rewards = learner.rewards(torch.ones(4, 5, dtype=torch.bool))
    assert rewards.shape == (4, 5) and (rewards >= 0).all()
    assert learner.replay.seen.tolist() == [4 + 2, 4, 4, 2, 4], (
        "one world per type; world 3 leaves for the apron"
    )


def test_one_discriminator_for_all_terrains():
    learner = style(count=1)
    feed(learner, torch.randn(1, 100, 5, 63))
    assert set(learner.update()) == {"discriminator_loss", "score_reference/all", "score_policy/all"}


def test_replay_keeps_the_newest_and_samples_only_what_is_there():
    replay = WindowReplay(2, 4, 1)
    replay.put(0, torch.arange(1.0, 4.0).unsqueeze(1))
    assert set(replay.sample(200)[0].flatten().tolist()) == {1.0, 2.0, 3.0}
    assert replay.sample(10)[1].abs().max() == 0.0
    replay.put(0, torch.arange(4.0, 12.0).unsqueeze(1))
    assert set(replay.sample(200)[0].flatten().tolist()) == {8.0, 9.0, 10.0, 11.0}
