"""Advantages are discounted sums of surprises, cut where episodes end."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ssr.learning.gae import advantages

GAMMA, LAMBDA = 0.99, 0.95


def by_definition(rewards, values, last, ended):
    """Σ (γλ)^k δ_{t+k}, one world, in plain Python."""
    steps = len(rewards)
    following = [*values[1:], last]
    surprises = [rewards[t] + GAMMA * following[t] * (not ended[t]) - values[t] for t in range(steps)]
    out = []
    for t in range(steps):
        total, weight = 0.0, 1.0
        for k in range(t, steps):
            total += weight * surprises[k]
            if ended[k]:
                break
            weight *= GAMMA * LAMBDA
        out.append(total)
    return out


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10_000), steps=st.integers(1, 12))
def test_equals_the_definition(seed, steps):
    generator = torch.Generator().manual_seed(seed)
    rewards, values = (torch.randn(steps, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    last = torch.randn(3, generator=generator, dtype=torch.float64)
    ended = torch.rand(steps, 3, generator=generator) < 0.3
    got = advantages(rewards, values, last, ended, discount=GAMMA, trace=LAMBDA)
    for world in range(3):
        expected = by_definition(
            rewards[:, world].tolist(),
            values[:, world].tolist(),
            float(last[world]),
            ended[:, world].tolist(),
        )
        torch.testing.assert_close(got[:, world], torch.tensor(expected, dtype=torch.float64))


def test_true_values_surprise_nobody():
    """With V(s_t) = Σ γ^k r the advantage is zero everywhere."""
    steps = 20
    rewards = torch.rand(steps, 1, dtype=torch.float64)
    values = torch.zeros(steps + 1, 1, dtype=torch.float64)
    for t in range(steps - 1, -1, -1):
        values[t] = rewards[t] + GAMMA * values[t + 1]
    ended = torch.zeros(steps, 1, dtype=torch.bool)
    got = advantages(rewards, values[:-1], values[-1], ended, discount=GAMMA, trace=LAMBDA)
    assert got.abs().max() < 1e-12
