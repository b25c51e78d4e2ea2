"""One rollout of the real task, kept so that several learners can live through it without physics."""

from __future__ import annotations

import torch

from ssr.learning.config import TrainConfig
from ssr.learning.references import ReferenceStarts
from ssr.learning.ssr import SSR
from ssr.motion.dataset import MotionDataset
from ssr.robots import load
from ssr.task.env import TraversalEnv
from ssr.task.transition import Observation, Transition


class RandomWalk:
    """`steps` control steps of `worlds` worlds under random actions, with the camera on."""

    def __init__(self, config: TrainConfig, worlds: int) -> None:
        robot = load(config.robot)
        self.config, self.motion = config, MotionDataset.load(robot)
        self.env = TraversalEnv(
            robot,
            worlds,
            config.task,
            camera=config.camera,
            seed=config.seed,
            threads=config.env.threads,
            references=ReferenceStarts(self.motion),
        )
        self.moments: list[tuple[Observation, Transition]] = []
        observation = self.env.reset()
        for _ in range(config.ppo.steps):
            transition = self.env.step(0.3 * torch.randn(worlds, len(robot.joints)))
            self.moments.append((observation, transition))
            observation = self.env.restart(transition.ended)

    def learner(self, config: TrainConfig) -> SSR:
        return SSR(
            robot=self.env.robot,
            num_envs=self.env.num_envs,
            config=config,
            field=self.env.field,
            reference=self.motion,
        )

    def live_through(self, learner: SSR) -> dict[str, float]:
        """One iteration of learning from the recording; seconds spent in each part."""
        for observation, transition in self.moments:
            learner.act(observation)
            learner.observe(transition)
        learner.update(progress=0.0)
        return learner.stopwatch.read()
