"""SSR as a whole on the toy: it learns, its ablations drop what they say, it goes on from a saved state."""

from dataclasses import replace

import pytest
import torch
from test_ppo import collect, learner
from toy import ToyMotion, ToyWalker

from ssr.errors import UserError
from ssr.learning.config import AblationConfig, OptimizerConfig
from ssr.learning.ssr import SSR
from ssr.learning.trainer import Trainer
from ssr.networks.config import NetworkConfig


def test_rewards_rise(tiny):
    """Tracking alone, so that a few iterations show it."""
    config = replace(
        tiny,
        ppo=replace(tiny.ppo, epochs=5, learning_rates=(2e-3, 2e-3)),
        optimizer=OptimizerConfig(learning_rate=2e-3),
        schedule=replace(tiny.schedule, entropy=(0.0, 0.0)),
        ablation=AblationConfig(no_foothold=True, no_style=True),
    )
    env, algorithm = learner(config, num_envs=32)
    trainer = Trainer(env, algorithm)
    rewards = [trainer.iterate()["mean_reward/locomotion"] for _ in range(12)]
    assert sum(rewards[-3:]) / 3 > sum(rewards[:3]) / 3 + 0.05


@pytest.mark.parametrize("flag", [None, *AblationConfig.__dataclass_fields__])
def test_ablations_change_what_they_say_and_nothing_else(tiny, flag):
    config = tiny if flag is None else replace(tiny, ablation=AblationConfig(**{flag: True}))
    env, algorithm = learner(config)
    metrics = Trainer(env, algorithm).iterate()
    streams = {"locomotion", "foothold", "style"}
    streams -= {"no_foothold": {"foothold"}, "no_style": {"style"}}.get(flag, set())
    assert set(algorithm.weights) == set(algorithm.networks.critics.streams) == streams
    assert (algorithm.style is None) == (flag == "no_style")
    assert (algorithm.imagination is None) == (flag in ("no_foothold", "no_imagination"))
    assert algorithm.networks.discriminators.count == (1 if flag == "single_discriminator" else 5)
    assert algorithm.networks.config.equivariant == (flag not in ("no_symmetry", "input_symmetry"))
    assert (algorithm._mirror() is None) == (flag == "no_symmetry")
    assert len(algorithm.hidden) == (2 if flag == "input_symmetry" else 1)
    assert metrics["mean_reward/locomotion"] > 0


def test_symmetric_networks_need_no_mirrored_samples(tiny):
    env, algorithm = learner(replace(tiny, network=replace(tiny.network, mirror_averaged=True)))
    assert algorithm._mirror() is None
    metrics = Trainer(env, algorithm).iterate()
    assert metrics["kl"] > 0.0 and metrics["mean_reward/locomotion"] > 0
    std = algorithm.networks.actor.std
    assert std.unique().numel() > 2, "joints explore differently, but"
    assert torch.equal(std, std[list(env.robot.joint_mirror.source)]), "left like right"


@pytest.mark.parametrize("flag", ["no_symmetry", "input_symmetry"])
def test_a_plain_encoder_has_no_latents_to_mirror(tiny, flag):
    with pytest.raises(UserError, match="needs the equivariant encoder"):
        replace(
            tiny,
            network=replace(tiny.network, mirror_averaged=True),
            ablation=AblationConfig(**{flag: True}),
        )
    with pytest.raises(UserError, match="have no mirror image"):
        NetworkConfig(**vars(tiny.network) | {"mirror_averaged": True}, equivariant=False)


def test_contradicting_ablations_are_refused():
    with pytest.raises(UserError, match="exclude each other"):
        AblationConfig(no_symmetry=True, input_symmetry=True)


def test_input_symmetry_encodes_what_the_mirrored_robot_would_see(tiny):
    """Its second memory is that of the mirrored robot: encoding the mirrored world alone gives the same."""
    config = replace(tiny, ablation=AblationConfig(input_symmetry=True))
    env, algorithm = learner(config)
    algorithm.networks.encoder.eval()
    collect(env, algorithm)
    vectors, rollout = algorithm.vectors, algorithm.rollout
    networks = algorithm.networks
    hidden = torch.zeros(8, networks.encoder.hidden_size)
    with torch.no_grad():
        for t in range(rollout.steps):
            history = vectors.proprioception.mirror(rollout.history.window(t))
            images = rollout.camera.images[rollout.camera.index[t]].flip(-1)
            hidden = hidden * (~rollout.restarted[t]).unsqueeze(-1)
            latents, hidden = networks.encoder.step(history, networks.encoder.encode_images(images), hidden)
            torch.testing.assert_close(
                rollout.actor_mirrored[t, :, -48:], latents.vector, atol=1e-5, rtol=1e-5
            )


def test_the_camera_is_encoded_only_when_it_saw_something_new(tiny, monkeypatch):
    env, algorithm = learner(tiny, num_envs=10)
    env.episode = 1000
    encoder, counts = algorithm.networks.encoder, []
    original = encoder.encode_images
    monkeypatch.setattr(encoder, "encode_images", lambda x: counts.append(len(x)) or original(x))
    collect(env, algorithm)
    assert counts == [10] + [2] * 23


def test_saved_state_goes_on_bit_for_bit(tiny):
    def fresh():
        torch.manual_seed(5)
        env = ToyWalker(num_envs=8, seed=5, episode=30)
        algorithm = SSR(robot=env.robot, num_envs=8, config=tiny, field=env.field, reference=ToyMotion())
        return Trainer(env, algorithm)

    straight = fresh()
    for _ in range(4):
        straight.iterate()
    expected = straight.algorithm.state_dict()
    first = fresh()
    for _ in range(2):
        first.iterate()
    saved = first.state_dict()
    second = fresh()
    torch.manual_seed(999)
    second.load_state_dict(saved)
    for _ in range(2):
        second.iterate()
    got = second.algorithm.state_dict()

    def equal(a, b):
        if isinstance(a, torch.Tensor):
            return torch.equal(a, b)
        if isinstance(a, dict):
            return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
        if isinstance(a, list):
            return len(a) == len(b) and all(map(equal, a, b))
        return a == b

    for name in expected:
        assert equal(expected[name], got[name]), name
    assert (
        (straight.iteration, straight.total_steps)
        == (second.iteration, second.total_steps)
        == (4, 4 * 24 * 8)
    )
