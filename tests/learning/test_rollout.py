"""What is stored once can be rebuilt exactly as the environment showed it."""

import torch
from toy import ToyWalker

from ssr.learning.rollout import FrameHistory, Rollout
from ssr.robots import load
from ssr.task.config import TaskConfig, TerminationConfig
from ssr.task.env import TraversalEnv
from ssr.vision.camera import CameraConfig

SIZES = {"proprioception": 72, "actor": 123, "privileged": 375, "action": 21}


def collect(env, rollout, steps, restarted, observation):
    shown = []
    rollout.begin()
    for t in range(steps):
        rollout.put_observation(t, observation, restarted)
        shown.append(observation)
        transition = env.step(torch.randn(env.num_envs, 21))
        rollout.put_transition(t, transition)
        restarted = transition.ended
        observation = env.restart(restarted)
    return shown, restarted, observation


def test_windows_and_images_are_rebuilt_over_several_rollouts():
    env = ToyWalker(num_envs=6, episode=17)
    rollout = Rollout(steps=10, num_envs=6, history=5, sizes=SIZES, streams=("locomotion",))
    restarted, observation = torch.ones(6, dtype=torch.bool), env.reset()
    for _ in range(4):
        shown, restarted, observation = collect(env, rollout, 10, restarted, observation)
        worlds = torch.tensor([4, 0, 5])
        windows = rollout.history.windows(worlds)
        images, index = rollout.camera.of(worlds)
        for t, seen in enumerate(shown):
            assert torch.equal(windows[t], seen.history[worlds])
            assert torch.equal(rollout.history.window(t), seen.history)
            assert torch.equal(images[index[t]], seen.depth[worlds])


def test_each_distinct_image_is_stored_once():
    env = ToyWalker(num_envs=10, episode=1000, camera=5)
    rollout = Rollout(steps=20, num_envs=10, history=5, sizes=SIZES, streams=("locomotion",))
    collect(env, rollout, 20, torch.ones(10, dtype=torch.bool), env.reset())
    # all of them once at the start, then a fifth of the worlds at each of the 19 later steps
    assert len(rollout.camera.images) == 10 + 19 * 2


def test_storage_does_not_change_when_the_environment_does():
    """A view of a rolling buffer would silently change under the learner."""
    env = ToyWalker(num_envs=4)
    rollout = Rollout(steps=8, num_envs=4, history=5, sizes=SIZES, streams=("locomotion",))
    _, _, observation = collect(env, rollout, 8, torch.ones(4, dtype=torch.bool), env.reset())
    kept = [
        x.clone() for x in (rollout.history.frames, rollout.camera.images, rollout.privileged, rollout.valid)
    ]
    for tensor in (observation.history, observation.depth, observation.privileged, env.history, env._depth):
        tensor.fill_(1e6)
    env.step(torch.randn(4, 21))
    now = (rollout.history.frames, rollout.camera.images, rollout.privileged, rollout.valid)
    assert all(torch.equal(a, b) for a, b in zip(kept, now, strict=True))


def test_windows_of_strided_frames_begin_with_the_first_frame():
    """Five frames two steps apart, carried from one rollout into the next."""
    history = FrameHistory(steps=6, num_envs=1, size=1, length=5, stride=2)
    episode: list[float] = []
    clock = 0.0
    for rollout in range(3):
        for t in range(6):
            restarted = (rollout, t) in ((0, 0), (1, 2))
            clock += 1.0
            episode = [clock] if restarted else [*episode, clock]
            history.put(t, torch.tensor([[clock]]), torch.tensor([restarted]))
            expected = [episode[max(0, len(episode) - 1 - 2 * back)] for back in (4, 3, 2, 1, 0)]
            assert history.window(t)[0, :, 0].tolist() == expected
        history.carry()


def test_a_step_that_went_bad_is_masked_and_cut():
    env = ToyWalker(num_envs=3)
    rollout = Rollout(steps=2, num_envs=3, history=5, sizes=SIZES, streams=("locomotion",))
    rollout.begin()
    rollout.put_observation(0, env.reset(), torch.ones(3, dtype=torch.bool))
    env.poisoned = torch.tensor([1])
    transition = env.step(torch.zeros(3, 21))
    rollout.put_transition(0, transition)
    rollout.put_reward(0, "locomotion", transition.reward + transition.privileged.sum(-1))
    assert rollout.valid[0].tolist() == [True, False, True]
    assert rollout.ended[0].tolist() == [False, True, False]
    assert (
        rollout.next_proprioception[0].isfinite().all() and rollout.rewards["locomotion"][0].isfinite().all()
    )


def test_the_real_task_is_rebuilt_too():
    config = TaskConfig(history=5, termination=TerminationConfig(episode_seconds=0.3))
    env = TraversalEnv(load("x2"), 3, config, camera=CameraConfig(period=5), seed=3, threads=1)
    rollout = Rollout(steps=24, num_envs=3, history=5, sizes=SIZES, streams=("locomotion",))
    restarted, observation = torch.ones(3, dtype=torch.bool), env.reset()
    for _ in range(2):
        shown, restarted, observation = collect(env, rollout, 24, restarted, observation)
        worlds = torch.arange(3)
        windows = rollout.history.windows(worlds)
        images, index = rollout.camera.of(worlds)
        for t, seen in enumerate(shown):
            assert torch.equal(windows[t], seen.history)
            assert torch.equal(images[index[t]], seen.depth)
        assert rollout.ended.any() and len(images) < 24 * 3
