"""The task through Gymnasium and through rsl_rl: their protocols, and that a seed repeats everything."""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode

import ssr.task.gym
from ssr import robots
from ssr.errors import UserError
from ssr.task.config import TaskConfig, TerrainConfig
from ssr.task.env import TraversalEnv

SHORT = replace(TaskConfig(), termination=replace(TaskConfig().termination, episode_seconds=0.1))


def test_make_vec_makes_the_worlds_that_were_asked_for():
    envs = gymnasium.make_vec(
        "ssr/Traversal-v0", num_envs=3, robot="g1", kinds=("gap",), level=4, camera=False
    )
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observation, _ = envs.reset(seed=3)
    assert envs.observation_space.contains(observation)
    assert envs.env.robot.name == "g1" and envs.env.levels.tolist() == [4, 4, 4]
    assert {
        tile.kind for tile in envs.env.bank.draw(torch.arange(3), envs.env.levels, torch.Generator())
    } == {"gap"}
    observation, reward, terminated, truncated, info = envs.step(np.zeros((3, 21), dtype=np.float32))
    assert envs.observation_space.contains(observation)
    assert reward.shape == terminated.shape == truncated.shape == (3,)
    assert "orientation" in info["terms"] and "final_obs" not in info


def test_a_seed_repeats_an_environment_that_has_walked_on():
    """Observations, rewards and ends, images included, after levels, tiles and dynamics have changed."""
    envs = ssr.task.gym.make(4, kinds=("stairs_down", "gap"), level=6, threads=1, task=SHORT)
    actions = np.random.default_rng(0).normal(size=(12, 4, 21)).astype(np.float32)

    def walk() -> list[np.ndarray]:
        seen, _ = envs.reset(seed=7)
        out = [seen]
        for action in actions:
            seen, *rest, _ = envs.step(action)
            out += [seen, *rest]
        return out

    def same(one, other) -> bool:
        pairs = [(one[k], other[k]) for k in one] if isinstance(one, dict) else [(one, other)]
        return all(np.array_equal(a, b) for a, b in pairs)

    first = walk()
    envs.reset()
    envs.env.progress.level.fill_(0)
    assert all(same(a, b) for a, b in zip(first, walk(), strict=True))
    assert not same(first[0], envs.reset(seed=8)[0])
    with pytest.raises(UserError, match="give one seed"):
        envs.reset(seed=[1, 2, 3, 4])


def test_final_obs_is_what_the_ended_episode_saw_last():
    envs = ssr.task.gym.make(2, kinds=("flat",), threads=1, task=SHORT, camera=False)
    observation, _ = envs.reset(seed=1)
    still = np.zeros((2, 21), np.float32)
    for _ in range(5):  # 0.1 s
        before = observation
        observation, _, terminated, truncated, info = envs.step(still)
    assert truncated.all() and not terminated.any() and info["_final_obs"].all()
    for world in range(2):
        last = info["final_obs"][world]
        assert envs.single_observation_space.contains(last)
        np.testing.assert_array_equal(last["history"][:-1], before["history"][world][1:])
        assert not np.array_equal(last["privileged"], observation["privileged"][world])
        # the clean newest frame is part of the privileged state
        assert np.isin(last["history"][-1], last["privileged"]).all()


def test_rsl_rl_learns_on_it(tmp_path):
    """Two iterations of the real thing: weights move, and stay finite."""
    pytest.importorskip("rsl_rl", reason="rsl-rl-lib is not installed")
    from rsl_rl.runners import OnPolicyRunner

    from ssr.task.rsl_rl import RslTraversal

    task = replace(SHORT, terrain=TerrainConfig(kinds=("flat",)))
    env = RslTraversal(TraversalEnv(robots.load("x2"), 4, task, threads=1))
    network = {"class_name": "MLPModel", "hidden_dims": [16]}
    runner = OnPolicyRunner(
        env,
        {
            "algorithm": {"class_name": "PPO", "num_learning_epochs": 1},
            "actor": network | {"distribution_cfg": {"class_name": "GaussianDistribution"}},
            "critic": dict(network),
            "obs_groups": {"actor": ["policy"], "critic": ["critic"]},
            "num_steps_per_env": 8,
            "save_interval": 100,
        },
        log_dir=str(tmp_path),
    )
    weights = lambda: torch.cat([p.detach().flatten() for p in runner.alg.actor.parameters()])
    before = weights()
    runner.learn(2, init_at_random_ep_len=True)
    assert torch.isfinite(weights()).all() and not torch.equal(before, weights())
    assert runner.current_learning_iteration == 1 and list(tmp_path.glob("model_1.pt"))


def test_rsl_rl_sees_and_is_told_what_the_task_says():
    pytest.importorskip("rsl_rl", reason="rsl-rl-lib is not installed")
    from ssr.task.rsl_rl import RslTraversal

    env = RslTraversal(TraversalEnv(robots.load("x2"), 2, SHORT, threads=1))
    assert env.max_episode_length == 5 and env.num_actions == 21
    env.episode_length_buf = torch.tensor([3, 0])
    zero = torch.zeros(2, 21)
    _, _, done, _ = env.step(zero)
    assert not done.any() and env.episode_length_buf.tolist() == [4, 1]
    seen, _, done, extras = env.step(zero)
    assert done.tolist() == extras["time_outs"].tolist() == [True, False]
    assert {name: tuple(value.shape) for name, value in seen.items()} == {
        "policy": (2, 10 * 72),
        "depth": (2, 1, 36, 36),
        "critic": (2, 375),
    }
    assert torch.equal(seen["critic"], env.env.observation().privileged)
    assert "/reward/orientation" in extras["log"]
