"""Theorem 1 and the two forms of the encoder."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssr.networks.config import NetworkConfig
from ssr.networks.depth import CONTRAST, Outlook, normalise_depth, relative_heights
from ssr.networks.encoder import CrossModalEncoder, Latents
from ssr.symmetry.structure import flip_width, swap_channels

PRECISION = {torch.float64: 1e-10, torch.float32: 1e-5}
few = settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
HEADS = ("foot", "base", "proprioception", "mean", "log_variance")


def encoder(vectors, x2, config, dtype=torch.float32) -> CrossModalEncoder:
    return CrossModalEncoder(vectors.proprioception, x2.joint_names, config).to(dtype).eval()


def episode(vectors, config, dtype, steps=24, robots=5, frames=17):
    """History, depth frames with who sees which, hidden state before, and resets inside."""
    return (
        torch.randn(steps, robots, config.history, vectors.proprioception.size, dtype=dtype),
        torch.rand(frames, *config.image_size, dtype=dtype) * 3.5,
        torch.randint(frames, (steps, robots)),
        torch.randn(robots, config.gru_hidden, dtype=dtype),
        torch.rand(steps, robots) < 0.15,
    )


def assert_swapped(mirrored: Latents, latents: Latents) -> None:
    for head in HEADS:
        actual, expected = getattr(mirrored, head), swap_channels(getattr(latents, head))
        error = (actual - expected).abs().max() / expected.abs().max()
        assert error < PRECISION[expected.dtype], f"{head}: relative error {error:.2e}"


@few
@given(dtype=st.sampled_from(list(PRECISION)), seed=st.integers(0, 2**31))
def test_theorem_1_over_24_steps_with_resets(vectors, x2, small, dtype, seed):
    torch.manual_seed(seed)
    f = encoder(vectors, x2, small, dtype)
    history, frames, index, hidden, resets = episode(vectors, small, dtype)
    resets[10, 2] = True
    with torch.no_grad():
        latents, _ = f.sequence(history, f.encode_images(frames), index, hidden, resets)
        mirrored, _ = f.sequence(
            vectors.proprioception.mirror(history),
            f.encode_images(flip_width(frames)),
            index,
            swap_channels(hidden),
            resets,
        )
    assert_swapped(mirrored, latents)


@pytest.mark.parametrize("config", [NetworkConfig(), NetworkConfig.cpu()], ids=["paper", "cpu"])
@pytest.mark.parametrize("dtype", list(PRECISION), ids=str)
def test_theorem_1_at_full_width(vectors, x2, config, dtype):
    torch.manual_seed(3)
    f = encoder(vectors, x2, config, dtype)
    history, frames, index, hidden, resets = episode(vectors, config, dtype, robots=3)
    with torch.no_grad():
        latents, _ = f.sequence(history, f.encode_images(frames), index, hidden, resets)
        mirrored, _ = f.sequence(
            vectors.proprioception.mirror(history),
            f.encode_images(flip_width(frames)),
            index,
            swap_channels(hidden),
            resets,
        )
    assert_swapped(mirrored, latents)


def test_the_plain_encoder_is_not_equivariant(vectors, x2, small):
    f = encoder(vectors, x2, replace(small, equivariant=False))
    history, frames, index, hidden, resets = episode(vectors, small, torch.float32)
    latents, _ = f.sequence(history, f.encode_images(frames), index, hidden, resets)
    mirrored, _ = f.sequence(
        vectors.proprioception.mirror(history),
        f.encode_images(flip_width(frames)),
        index,
        swap_channels(hidden),
        resets,
    )
    with pytest.raises(AssertionError):
        assert_swapped(mirrored, latents)


@pytest.mark.parametrize("equivariant", [True, False])
@pytest.mark.parametrize("config", ["small", "cpu", "paper"])
def test_steps_and_sequence_agree(vectors, x2, small, config, equivariant):
    torch.manual_seed(1)
    chosen = {"small": small, "cpu": NetworkConfig.cpu(), "paper": NetworkConfig()}[config]
    f = encoder(vectors, x2, replace(chosen, equivariant=equivariant))
    history, frames, index, hidden, resets = episode(vectors, chosen, torch.float32)
    with torch.no_grad():
        features = f.encode_images(frames)
        whole, last = f.sequence(history, features, index, hidden, resets)
        for t in range(len(history)):
            hidden = torch.where(resets[t].unsqueeze(-1), 0.0, hidden)
            latents, hidden = f.step(history[t], features[index[t]], hidden)
            for head in HEADS:
                assert torch.allclose(getattr(latents, head), getattr(whole, head)[t], rtol=0.0, atol=1e-6)
    assert torch.allclose(last, hidden, rtol=0.0, atol=1e-6)


def test_nothing_is_remembered_across_a_reset(vectors, x2, small):
    f = encoder(vectors, x2, small)
    history, frames, index, hidden, resets = episode(vectors, small, torch.float32)
    resets[:] = False
    resets[12] = True
    features = f.encode_images(frames)
    before, _ = f.sequence(history, features, index, hidden, resets)
    history[:12] += 1.0
    after, _ = f.sequence(history, features, index, hidden + 1.0, resets)
    assert not torch.allclose(before.foot[:12], after.foot[:12])
    assert torch.equal(before.foot[12:], after.foot[12:])


def test_each_robot_has_its_own_memory_and_its_own_frame(vectors, x2, small):
    f = encoder(vectors, x2, small)
    history, frames, index, hidden, resets = episode(vectors, small, torch.float32)
    frames = frames[torch.arange(len(frames))]
    index[:, 0], index[:, 1:] = 0, index[:, 1:].clamp(min=1)
    one, _ = f.sequence(history, f.encode_images(frames), index, hidden, resets)
    frames[0] = 0.5
    two, _ = f.sequence(history, f.encode_images(frames), index, hidden, resets)
    assert not torch.allclose(one.base[:, 0], two.base[:, 0])
    assert torch.equal(one.base[:, 1:], two.base[:, 1:])


def test_training_samples_around_the_mean_and_evaluation_does_not(vectors, x2, small):
    f = encoder(vectors, x2, small)
    history, frames, *_ = episode(vectors, small, torch.float32, robots=1)
    with torch.no_grad():
        f.heads.bias[3] = torch.log(torch.tensor(4.0))  # log variance: σ = 2 but for small inputs
        f.heads.weight[3] = 0.0
        arguments = (
            history[0].expand(20000, -1, -1),
            f.encode_images(frames[:1]).expand(20000, -1),
            torch.zeros(20000, small.gru_hidden),
        )
        calm, _ = f.step(*arguments)
        assert torch.equal(calm.proprioception, calm.mean)
        drawn, _ = f.train().step(*arguments)
    noise = drawn.proprioception - drawn.mean
    assert noise.mean(0).abs().max() < 0.1
    assert noise.std(0).tolist() == pytest.approx([2.0] * 16, rel=0.05)


def test_log_variance_stays_within_ten(vectors, x2, small):
    f = encoder(vectors, x2, small)
    history, frames, *_ = episode(vectors, small, torch.float32, robots=1)
    with torch.no_grad():
        f.heads.bias[3] = torch.linspace(-50.0, 50.0, 8)
        latents, _ = f.step(history[0], f.encode_images(frames[:1]), torch.zeros(1, small.gru_hidden))
    assert latents.log_variance.max() == 10.0
    assert latents.log_variance.min() == -10.0


def test_depth_is_clipped_and_centred():
    metres = torch.tensor([0.0, 0.1, 1.55, 3.0, 9.0])
    assert normalise_depth(metres).tolist() == pytest.approx([-0.5, -0.5, 0.0, 0.5, 0.5], abs=1e-6)


def test_level_ground_is_level_in_an_image_of_heights():
    """What a level camera 0.7 m above ground sees of it, and of ground 0.1 m lower."""
    outlook = Outlook(height=0.7, pitch=50.0, field=1.0)
    drops = outlook.drops(36)
    for ground, said in ((0.7, 0.0), (0.8, 0.1 * CONTRAST)):
        depth = (ground / drops).expand(36, 36)
        assert depth.diff(dim=0).abs().min() > 0.0
        heights = relative_heights(depth, (0.1, 3.0), drops, outlook.height)
        assert heights.flatten().tolist() == pytest.approx([said] * 36 * 36, abs=1e-5)


def test_gradients_reach_every_weight(vectors, x2, small):
    f = encoder(vectors, x2, small).train()
    history, frames, index, hidden, resets = episode(vectors, small, torch.float32)
    latents, _ = f.sequence(history, f.encode_images(frames), index, hidden, resets)
    (latents.vector.square().sum() + latents.log_variance.square().sum()).backward()
    for name, parameter in f.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
