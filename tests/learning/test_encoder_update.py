"""The encoder learns to predict; a mirrored rollout gives the same loss to an equivariant encoder."""

from dataclasses import replace

import pytest
import torch
from test_ppo import collect, learner

from ssr.learning.config import AblationConfig
from ssr.learning.encoder_update import (
    LOSSES,
    Cut,
    encode,
    prediction_losses,
    sequences,
    with_mirror_images,
)
from ssr.networks.encoder import Latents


def test_prediction_losses_fall(tiny):
    env, algorithm = learner(tiny)
    collect(env, algorithm)
    trainer = algorithm.encoder
    first = trainer.update(algorithm.rollout, algorithm.memories)
    for _ in range(15):
        last = trainer.update(algorithm.rollout, algorithm.memories)
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
    batch = sequences(algorithm.rollout, algorithm.memories[0], torch.arange(8))
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
    batch = sequences(algorithm.rollout, algorithm.memories[0], torch.arange(8))
    algorithm.networks.encoder.eval()
    losses = prediction_losses(algorithm.networks, batch, encode(algorithm.networks, batch))
    broken = replace(
        batch, next_proprioception=torch.where(batch.unbroken.unsqueeze(-1), batch.next_proprioception, 1e6)
    )
    again = prediction_losses(algorithm.networks, broken, encode(algorithm.networks, broken))
    assert torch.equal(losses["next_proprioception"], again["next_proprioception"])
    assert (~batch.unbroken).sum() == 16


def test_mirrored_input_side_by_side(tiny):
    """Input-level augmentation: the second half is the mirrored robot's own rollout."""
    config = replace(tiny, ablation=AblationConfig(input_symmetry=True))
    env, algorithm = learner(config)
    collect(env, algorithm)
    batch = sequences(algorithm.rollout, algorithm.memories[0], torch.arange(8))
    both = with_mirror_images(batch, algorithm.memories[1], algorithm.networks)
    vectors = algorithm.vectors
    assert torch.equal(both.history[:, 8:], vectors.proprioception.mirror(batch.history))
    assert torch.equal(both.images[both.frame_index[:, 8:]], batch.images[batch.frame_index].flip(-1))
    losses = prediction_losses(algorithm.networks, both, encode(algorithm.networks, both))
    assert all(losses[name].isfinite() for name in LOSSES)
    mirrored = algorithm.rollout.actor_mirrored
    assert torch.equal(mirrored[..., :72], vectors.proprioception.mirror(algorithm.rollout.actor[..., :72]))


def gradient(algorithm, batch, weights, cut):
    """The encoder's gradient of the weighted losses, through the cut or without one."""
    networks = algorithm.networks
    networks.zero_grad()
    torch.manual_seed(3)
    latents = encode(networks, batch)
    between = Cut(latents)
    losses = prediction_losses(networks, batch, between.latents if cut else latents)
    sum(weight * losses[name] for name, weight in weights.items()).backward()
    if cut:
        between.go_on()
    return torch.cat([p.grad.flatten() for p in networks.encoder.parameters()])


def test_meek_heads_pass_the_cut_unchanged(tiny):
    env, algorithm = learner(tiny)
    collect(env, algorithm)
    batch = sequences(algorithm.rollout, algorithm.memories[0], torch.arange(8))
    meek = {"base_map": 1.0, "foot_maps": 1e-4, "next_proprioception": 1e-4, "divergence": 1e-4}
    plain, weighed = (gradient(algorithm, batch, meek, cut) for cut in (False, True))
    torch.testing.assert_close(weighed, plain, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(("pull", "kept"), [(0.5, 1.0), (4.0, 0.25), (1000.0, 0.1)])
def test_a_loud_head_is_heard_as_much_as_the_base_map_but_never_silenced(pull, kept):
    """pull: of the other heads' gradients, in units of the base map's; kept: the share that goes on."""
    whole = [torch.randn(3, 2, 4, requires_grad=True) for _ in range(4)]
    foot, base, mean, log_variance = whole
    cut = Cut(Latents(foot, base, mean, mean, log_variance))
    unit = torch.ones(3, 2, 4)
    for end, size in zip(cut.ends, (1.0, pull, pull * 0.6, pull * 0.8), strict=True):
        end.grad = size * unit
    cut.go_on()
    assert torch.equal(base.grad, unit)
    torch.testing.assert_close(foot.grad, kept * pull * unit)
    torch.testing.assert_close(mean.grad, kept * pull * 0.6 * unit)
    torch.testing.assert_close(log_variance.grad, kept * pull * 0.8 * unit)


def test_shares_of_the_loss_add_up(tiny):
    env, algorithm = learner(tiny)
    collect(env, algorithm)
    metrics = algorithm.encoder.update(algorithm.rollout, algorithm.memories)
    assert abs(sum(metrics[f"encoder_share/{name}"] for name in LOSSES) - 1.0) < 1e-6


def test_the_divergence_is_a_mean_over_its_dimensions(tiny):
    env, algorithm = learner(tiny)
    collect(env, algorithm)
    batch = sequences(algorithm.rollout, algorithm.memories[0], torch.arange(8))
    latents = encode(algorithm.networks, batch)
    ones = torch.ones_like(latents.mean)
    shifted = latents._replace(mean=2.0 * ones, log_variance=0.0 * ones)
    losses = prediction_losses(algorithm.networks, batch, shifted)
    assert abs(float(losses["divergence"]) - 2.0) < 1e-5, "½ μ², however many dimensions"


def test_an_estimator_learns_beside_an_encoder_that_stays(tiny):
    """Neither weights nor Adam's moments of what is frozen change: a thaw goes on where the frost began."""
    env, algorithm = learner(tiny)
    collect(env, algorithm)
    trainer = algorithm.encoder
    trainer.update(algorithm.rollout, algorithm.memories)
    trainer.optimizer.frozen = frozenset({"encoder", "decoders"})
    before, moments = trainer.optimizer.values.clone(), trainer.optimizer.state_dict()
    first = trainer.update(algorithm.rollout, algorithm.memories)["encoder/velocity"]
    for _ in range(10):
        told = trainer.update(algorithm.rollout, algorithm.memories)
        last = told["encoder/velocity"]
    assert last < 0.8 * first and set(told) == {"encoder/velocity"}
    estimator = sum(p.numel() for p in algorithm.networks.estimator.parameters())
    now = trainer.optimizer.state_dict()
    for old, new in ((before, trainer.optimizer.values), *((moments[k], now[k]) for k in ("mean", "square"))):
        assert torch.equal(old[:-estimator], new[:-estimator])
        assert not torch.equal(old[-estimator:], new[-estimator:])


def test_weights_that_act_follow_those_that_learn(tiny):
    """Those that learn go their way, whatever acts; those that act go a share of it."""
    found = {}
    for kept in (0.0, 0.75):
        config = replace(tiny, encoder=replace(tiny.encoder, average=kept))
        env, algorithm = learner(config)
        collect(env, algorithm)
        torch.manual_seed(5)
        optimizer = algorithm.encoder.optimizer
        algorithm.encoder.update(algorithm.rollout, algorithm.memories)
        before = optimizer.values.clone()
        algorithm.encoder.update(algorithm.rollout, algorithm.memories)
        found[kept] = (before, optimizer.learning, optimizer.values)
    before, newest, acting = found[0.75]
    assert torch.equal(newest, found[0.0][2])
    assert not torch.equal(newest, before)
    torch.testing.assert_close(acting, before + 0.25 * (newest - before))


def test_weights_that_learn_are_saved_beside_those_that_act(tiny):
    config = replace(tiny, encoder=replace(tiny.encoder, average=0.9))
    env, algorithm = learner(config)
    collect(env, algorithm)
    algorithm.update(0.0)
    state = {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in algorithm.state_dict().items()}
    small = algorithm.small_state()
    again = learner(config)[1]
    again.load_state_dict(state)
    mine, its = algorithm.encoder.optimizer, again.encoder.optimizer
    assert torch.equal(its.learning, mine.learning) and torch.equal(its.values, mine.values)
    assert not torch.equal(its.learning, its.values)
    for moments in (True, False):
        again = learner(config)[1]
        again.load_small_state(small, moments=moments)
        assert torch.equal(again.encoder.optimizer.learning, mine.values)


def test_earlier_rollouts_are_learned_beside_the_newest(tiny):
    """The first update has nothing to recall, and keeps no more than there is room for."""
    found = {}
    for recalled in (0, 3):
        env, algorithm = learner(replace(tiny, encoder=replace(tiny.encoder, recalled=recalled)))
        collect(env, algorithm)
        seen, step = [], algorithm.encoder._step
        algorithm.encoder._step = lambda batch, seen=seen, step=step: (
            seen.append(batch.hidden.shape[0]) or step(batch)
        )
        for _ in range(2):
            algorithm.encoder.update(algorithm.rollout, algorithm.memories)
        found[recalled] = seen, len(algorithm.encoder.earlier)
    assert found == {0: ([4, 4, 4, 4], 0), 3: ([4, 4, 8, 8], 3)}
