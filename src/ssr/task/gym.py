"""The task as a Gymnasium `VectorEnv`, for users who bring their own learning code."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ssr.task.env import TraversalEnv
from ssr.task.transition import Observation


class GymTraversal(VectorEnv):
    """Observations are dicts of history, depth and privileged; ended worlds restart within the step."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012 - as the base class declares it

    def __init__(self, env: TraversalEnv) -> None:
        self.env, self.num_envs = env, env.num_envs
        unbounded = lambda *shape: gymnasium.spaces.Box(-np.inf, np.inf, shape, np.float32)
        self.single_observation_space = gymnasium.spaces.Dict(
            {
                "history": unbounded(env.config.history, env.layouts.proprioception.size),
                "depth": unbounded(36, 36),
                "privileged": unbounded(env.layouts.privileged.size),
            }
        )
        self.single_action_space = unbounded(env.layouts.action.size)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        if isinstance(seed, int):
            self.env.generator.manual_seed(seed)
        return _arrays(self.env.reset()), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        transition = self.env.step(torch.as_tensor(np.asarray(actions, dtype=np.float32)))
        observation = self.env.restart(transition.ended)
        info: dict[str, Any] = {
            "terms": {name: value.numpy() for name, value in transition.terms.items()},
            "level": transition.level.numpy(),
            "final_privileged": transition.privileged.numpy(),
        }
        return (
            _arrays(observation),
            transition.reward.numpy(),
            transition.terminated.numpy(),
            transition.truncated.numpy(),
            info,
        )


def _arrays(observation: Observation) -> dict[str, np.ndarray]:
    return {name: getattr(observation, name).numpy() for name in ("history", "depth", "privileged")}
