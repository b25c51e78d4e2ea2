"""The encoder learns to predict; a mirrored rollout gives the same loss to an equivariant encoder."""

from dataclasses import replace

import torch
from test_ppo import collect, learner

from ssr.learning.config import AblationConfig
from ssr.learning.encoder_update import LOSSES, prediction_losses, sequences, with_mirror_images


def test_prediction_losses_fall(tiny):
    env, algorithm = learner(tiny)
    collect(env, algorithm)
    trainer = algorithm.encoder
    first = trainer.update(algorithm.rollout, algorithm.first_hidden[0])
    for _ in range(15):
        last = trainer.update(algorithm.rollout, algorithm.first_hidden[0])
    for name in ("velocity", "next_proprioception", "foot_maps", "base_map"):
        assert last[f"encoder/{name}"] < 0.8 * first[f"encoder/{name}"], name


def test_sequence_from_storage_repeats_what_acting_saw(tiny):
    """Stored hidden state, windows, images and resets reproduce the actor observations of the rollout."""
    env, algorithm = learner(tiny)
    env.episode = 9
    algorithm.networks.encoder.eval()
    observation, _ = collect(env, algorithm)
    algorithm.t = 0
    collect(env, algorithm, observation)
    batch = sequences(algorithm.rollout, algorithm.first_hidden[0], torch.arange(8))
    networks = algorithm.networks
    with torch.no_grad():
        features = networks.encoder.encode_images(batch.images)
        latents, _ = networks.encoder.sequence(
            batch.history, features, batch.frame_index, batch.hidden, batch.resets
        )
    stored = algorithm.rollout.actor[..., -48:]
    torch.testing.assert_close(latents.vector, stored, atol=1e-5, rtol=1e-5)


def test_next_frame_is_not_asked_for_across_a_restart(tiny):
    env, algorithm = learner(tiny)
    env.episode = 10
    collect(env, algorithm)
    batch = sequences(algorithm.rollout, algorithm.first_hidden[0], torch.arange(8))
    algorithm.networks.encoder.eval()
    losses, _ = prediction_losses(algorithm.networks, batch)
    broken = replace(
        batch, next_proprioception=torch.where(batch.unbroken.unsqueeze(-1), batch.next_proprioception, 1e6)
    )
    again, _ = prediction_losses(algorithm.networks, broken)
    assert torch.equal(losses["next_proprioception"], again["next_proprioception"])
    assert (~batch.unbroken).sum() == 16


def test_mirrored_input_side_by_side(tiny):
    """Input-level augmentation: the second half is the mirrored robot's own rollout."""
    config = replace(tiny, ablation=AblationConfig(input_symmetry=True))
    env, algorithm = learner(config)
    collect(env, algorithm)
    batch = sequences(algorithm.rollout, algorithm.first_hidden[0], torch.arange(8))
    both = with_mirror_images(batch, algorithm.first_hidden[1], algorithm.networks)
    vectors = algorithm.vectors
    assert torch.equal(both.history[:, 8:], vectors.proprioception.mirror(batch.history))
    assert torch.equal(both.images[both.frame_index[:, 8:]], batch.images[batch.frame_index].flip(-1))
    losses, _ = prediction_losses(algorithm.networks, both)
    assert all(losses[name].isfinite() for name in LOSSES)
    mirrored = algorithm.rollout.actor_mirrored
    assert torch.equal(mirrored[..., :72], vectors.proprioception.mirror(algorithm.rollout.actor[..., :72]))
