"""PPO with named streams: masks, mirrors and weights do what the paper says."""

from dataclasses import replace

import pytest
import torch
from toy import ToyMotion, ToyWalker

from ssr.learning.config import OptimizerConfig, ScheduleConfig
from ssr.learning.moments import RunningNormalizer, mean_and_std
from ssr.learning.ppo import PPO, normalize, prepare, same_spread, stream_values
from ssr.learning.schedule import Schedule
from ssr.learning.ssr import SSR


def learner(config, num_envs=8, seed=0):
    torch.manual_seed(seed)
    env = ToyWalker(num_envs=num_envs, seed=seed)
    return env, SSR(robot=env.robot, num_envs=num_envs, config=config, field=env.field, reference=ToyMotion())


def collect(env, algorithm, observation=None, poison=None):
    observation = env.reset() if observation is None else observation
    actions = []
    for t in range(algorithm.rollout.steps):
        if poison is not None and t == poison[0]:
            env.poisoned = torch.tensor([poison[1]])
        actions.append(algorithm.act(observation))
        transition = env.step(actions[-1])
        algorithm.observe(transition)
        observation = env.restart(transition.ended)
    return observation, torch.stack(actions)


def batch_of(algorithm, mirror=True):
    return prepare(
        algorithm.rollout,
        algorithm.last_privileged,
        algorithm.networks.critics,
        weights=algorithm.weights,
        config=algorithm.config.ppo,
        mirror=algorithm._mirror() if mirror else None,
    )


def test_mirrored_samples_keep_the_judgement_of_their_originals(tiny):
    env, algorithm = learner(tiny)
    collect(env, algorithm)
    batch, plain, vectors = batch_of(algorithm), batch_of(algorithm, mirror=False), algorithm.vectors
    assert torch.equal(batch.observation[1], vectors.actor.mirror(batch.observation[0]))
    assert torch.equal(batch.privileged[1], vectors.privileged.mirror(batch.privileged[0]))
    assert torch.equal(batch.action[1], vectors.action.mirror(batch.action[0]))
    for name in ("log_prob", "values", "returns", "advantage"):
        assert torch.equal(getattr(batch, name), getattr(plain, name)), name


def test_advantage_is_the_weighted_sum_of_normalised_streams(tiny):
    env, algorithm = learner(replace(tiny, task=tiny.task))
    collect(env, algorithm)
    algorithm.rollout.rewards["style"].copy_(torch.rand(24, 8))
    whole = batch_of(algorithm).advantage
    parts = []
    for name in algorithm.weights:
        alone = prepare(
            algorithm.rollout,
            algorithm.last_privileged,
            algorithm.networks.critics,
            weights={name: 1.0},
            config=tiny.ppo,
            mirror=None,
        ).advantage
        assert alone.mean().abs() < 1e-4 and abs(float(alone.std(correction=0)) - 1.0) < 1e-2
        parts.append(algorithm.weights[name] * alone)
    assert algorithm.weights == {"locomotion": 1.0, "foothold": 0.25, "style": 0.2}
    torch.testing.assert_close(whole, sum(parts), atol=1e-4, rtol=1e-4)


def test_extreme_advantages_are_cut_and_recentred():
    gain = torch.randn(2, 1000, generator=torch.Generator().manual_seed(0))
    gain[0, 0], weight = -40.0, torch.ones(1000)
    whole, cut = normalize(gain, weight), normalize(gain, weight, limit=3.0)
    assert whole[0, 0] < -20 and -3.1 < cut[0, 0] < -2.9
    assert cut.mean(1).abs().max() < 1e-6
    inside = whole[0].abs() < 3.0
    shift = (whole - cut)[0, inside]
    torch.testing.assert_close(shift, shift[:1].expand_as(shift), atol=1e-5, rtol=0)
    # Samples that do not count neither shift nor scale the others.
    weight[0] = 0.0
    torch.testing.assert_close(
        normalize(gain, weight, 3.0)[0, 1:], normalize(gain[:, 1:], weight[1:], 3.0)[0]
    )


def test_flat_ground_counts_as_much_as_obstacles():
    noise = torch.randn(3000, generator=torch.Generator().manual_seed(0))
    terrain, weight = torch.arange(3000) % 3, torch.ones(3000)
    weight[::7] = 0.0
    advantage = same_spread(noise * (0.1 + terrain) + terrain, weight, terrain)
    counts = weight > 0
    whole = (noise * (0.1 + terrain) + terrain)[counts].std()
    for kind in range(3):
        own = advantage[counts & (terrain == kind)]
        assert own.mean().abs() < 1e-5 and abs(own.std() / whole - 1) < 0.01
        order = noise[counts & (terrain == kind)].argsort()
        assert torch.equal(own.argsort(), order), "order is kept"
    cut = same_spread(noise * (0.1 + terrain) + terrain, weight, terrain, limit=1.0)
    assert cut.abs().max() < 1.1 * whole and (advantage.abs() > 2.0 * whole).any()
    assert not advantage[~counts].any()


def test_the_same_spread_on_every_terrain_when_asked_for(tiny):
    env, algorithm = learner(replace(tiny, ppo=replace(tiny.ppo, same_spread=True)), num_envs=12)
    collect(env, algorithm)
    algorithm.rollout.rewards["locomotion"][:, env.field.type == 0] *= 50.0
    terrain, advantage = algorithm.rollout.terrain_type.flatten(), batch_of(algorithm).advantage
    assert torch.equal(algorithm.rollout.terrain_type[5], env.field.type) and len(terrain.unique()) > 1
    spreads = torch.stack([advantage[terrain == k].std(correction=0) for k in terrain.unique()])
    torch.testing.assert_close(spreads, spreads[:1].expand_as(spreads), rtol=1e-3, atol=0)


def test_a_fall_counts_no_more_than_the_limit(tiny):
    env, algorithm = learner(replace(tiny, ppo=replace(tiny.ppo, max_advantage=3.0)))
    collect(env, algorithm)
    algorithm.rollout.rewards["locomotion"][10, 3] = -100.0
    assert batch_of(algorithm).advantage.min() > -3.5 * sum(algorithm.weights.values())
    _, uncut = learner(tiny)
    uncut.rollout = algorithm.rollout
    uncut.last_privileged = algorithm.last_privileged
    assert batch_of(uncut).advantage.min() < -5.0


def test_episodes_cut_by_time_are_worth_what_lies_beyond(tiny):
    """A cut step's return holds γ V of the state reached; a fall's does not."""
    env, algorithm = learner(tiny)
    env.episode = 10
    collect(env, algorithm)
    rollout = algorithm.rollout
    step, world, reached = rollout.cut_states()
    assert set(step.tolist()) == {9, 19} and len(step) == 16
    got = batch_of(algorithm).returns.view(3, 24, 8)[0]
    beyond = stream_values(algorithm.networks.critics, reached, ("locomotion",))[0]
    expected = rollout.rewards["locomotion"][step, world] + 0.99 * beyond
    torch.testing.assert_close(got[step, world], expected, atol=1e-5, rtol=1e-4)


def test_the_acting_policy_is_the_updated_one_before_any_step(tiny):
    """Recomputed log-probabilities equal the stored ones: ratio 1, KL 0."""
    env, algorithm = learner(tiny)
    collect(env, algorithm)
    ppo = PPO(
        algorithm.networks.actor,
        algorithm.networks.critics,
        streams=tuple(algorithm.weights),
        config=replace(tiny.ppo, epochs=1, minibatches=1, learning_rates=(0.0, 0.0)),
        optimizer=OptimizerConfig(learning_rate=0.0),
    )
    std = algorithm.networks.actor.std.detach()
    metrics = ppo.update(batch_of(algorithm, mirror=False), std, algorithm.schedule)
    assert metrics["kl"] == pytest.approx(0.0, abs=1e-6)
    assert metrics["clipped_share"] == 0.0
    assert metrics["surrogate_loss"] == pytest.approx(0.0, abs=1e-5), "normalised advantages at ratio one"


def test_masked_samples_do_not_matter(tiny):
    env, algorithm = learner(tiny)
    collect(env, algorithm)
    batch = batch_of(algorithm)
    weight = torch.ones(batch.size)
    weight[::7] = 0.0
    spoiled = batch.advantage.clone()
    spoiled[::7] = 1e3
    before = {k: v.clone() for k, v in algorithm.networks.state_dict().items()}
    results = []
    for advantage in (batch.advantage, spoiled):
        algorithm.networks.load_state_dict(before)
        ppo = PPO(
            algorithm.networks.actor,
            algorithm.networks.critics,
            streams=tuple(algorithm.weights),
            config=tiny.ppo,
        )
        torch.manual_seed(3)
        ppo.update(
            replace(batch, advantage=advantage, weight=weight),
            algorithm.networks.actor.std.detach(),
            algorithm.schedule,
        )
        results.append(ppo.optimizer.values.clone())
    assert torch.equal(*results)
    assert not torch.equal(results[0], torch.zeros_like(results[0]))


def test_learning_rate_follows_the_divergence(tiny):
    _, algorithm = learner(tiny)
    ppo, rate = algorithm.ppo, 5e-4
    for kl, factor in ((0.1, 1 / 1.5), (0.02, 1.0), (0.001, 1.5)):
        ppo.optimizer.learning_rate = rate
        ppo._adapt(torch.tensor(kl), 0.02)
        assert ppo.optimizer.learning_rate == pytest.approx(rate * factor)
    for _ in range(50):
        ppo._adapt(torch.tensor(1.0), 0.02)
    assert ppo.optimizer.learning_rate == tiny.ppo.learning_rates[0]


def test_a_frozen_actor_keeps_the_learning_rate_though_rounding_looks_like_a_small_step(tiny):
    env, algorithm = learner(tiny)
    collect(env, algorithm)
    batch = batch_of(algorithm)
    rounded, std = replace(batch, mean=batch.mean + 1e-3), algorithm.networks.actor.std.detach().clone()
    rates = []
    for frozen in (("actor",), ()):
        algorithm.freeze(frozen)
        rates.append(algorithm.ppo.update(rounded, std, algorithm.schedule)["learning_rate"])
    assert rates[0] == tiny.optimizer.learning_rate != rates[1]


def test_std_never_leaves_its_range(tiny):
    env, algorithm = learner(tiny)
    collect(env, algorithm)
    actor = algorithm.networks.actor
    actor.std.data.fill_(0.01)
    algorithm.ppo.update(batch_of(algorithm), torch.full((21,), 0.2), Schedule(ScheduleConfig()))
    assert actor.std.min() >= 0.2
    actor.std.data.fill_(0.95)
    walking = Schedule(ScheduleConfig(min_std=(0.1, 0.1), max_std=(0.25, 0.25)))
    algorithm.ppo.update(batch_of(algorithm), torch.full((21,), 0.9), walking)
    assert actor.std.max() <= 0.25, "once it walks"


def test_actor_and_critics_are_clipped_apart(tiny):
    _, algorithm = learner(tiny)
    optimizer = algorithm.ppo.optimizer
    loss = 1e4 * sum(p.sum() for p in algorithm.networks.critics.parameters())
    loss = loss + 1e-4 * sum(p.sum() for p in algorithm.networks.actor.parameters())
    optimizer.backward(loss)
    assert float(optimizer.parts["critics"].norm()) == pytest.approx(1.0, rel=1e-4)
    assert (optimizer.parts["actor"] - 1e-4).abs().max() < 1e-9


def test_a_poisoned_world_hurts_nobody_else(tiny):
    """Others' trajectories are bit-identical until the update, its sample is masked, the update is finite."""
    runs = []
    for poison in (None, (7, 3)):
        env, algorithm = learner(tiny)
        _, actions = collect(env, algorithm, poison=poison)
        metrics = algorithm.update(0.0)
        runs.append((actions, algorithm, metrics))
    (clean, _, _), (hurt, algorithm, metrics) = runs
    others = [w for w in range(8) if w != 3]
    assert torch.equal(clean[:, others], hurt[:, others])
    assert not torch.equal(clean[8:, 3], hurt[8:, 3])
    assert not algorithm.rollout.valid[7, 3] and algorithm.rollout.valid.sum() == 24 * 8 - 1
    assert all(p.isfinite().all() for p in algorithm.networks.parameters())
    assert all(v == v for k, v in metrics.items() if k != "foothold_rmse")


def test_moments_do_not_depend_on_how_samples_are_split():
    x = torch.randn(2, 1000) * torch.tensor([[3.0], [0.1]]) + 5.0
    mean, std = mean_and_std(x, torch.ones(1000))
    torch.testing.assert_close(mean, x.mean(1))
    torch.testing.assert_close(std, x.std(1, correction=0), atol=1e-4, rtol=1e-3)
    whole, parts = RunningNormalizer(4), RunningNormalizer(4)
    samples = torch.randn(900, 4) * 2.0 + 1.0
    whole.update(samples)
    for part in samples.split((100, 300, 500)):
        parts.update(part)
    torch.testing.assert_close(whole.mean, parts.mean)
    torch.testing.assert_close(whole.variance, parts.variance, rtol=1e-4, atol=1e-4)


def test_guidance_pulls_the_actor_towards_the_guide_while_the_bootstrap_is_on(tiny):
    apart = {}
    for share in (1.0, 0.0):
        shown = replace(tiny.task.bootstrap, imitation=1.0)
        task = replace(tiny.task, bootstrap=shown, reference_starts=0.5)
        env, algorithm = learner(replace(tiny, task=task, ppo=replace(tiny.ppo, guidance=50.0)))
        collect(env, algorithm)
        algorithm.rollout.guide[..., :10] = 1.0
        algorithm.rollout.guide[..., 10:] = torch.nan  # nothing is shown to these
        batch, schedule = batch_of(algorithm), Schedule(ScheduleConfig(bootstrap=(share, 0.0)))
        std = algorithm.networks.actor.std.detach().clone()
        for _ in range(10):
            algorithm.ppo.update(batch, std, schedule)
        with torch.no_grad():
            actions = algorithm.networks.actor(batch.observation[0])
            assert actions.isfinite().all()
            apart[share] = (actions[:, :10] - 1.0).square().mean()
    assert apart[1.0] < 0.8 * apart[0.0]
