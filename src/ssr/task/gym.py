"""The task as a Gymnasium `VectorEnv`, for users who bring their own learning code.

Importing this module registers `ssr/Traversal-v0`:

    import gymnasium
    import ssr.task.gym

    envs = gymnasium.make_vec("ssr/Traversal-v0", num_envs=8, robot="x2", kinds=("flat", "stairs_up"))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ssr.errors import UserError
from ssr.robots import load
from ssr.task.config import TaskConfig
from ssr.task.env import TraversalEnv
from ssr.task.transition import Observation, Transition
from ssr.vision.camera import CameraConfig

ID = "ssr/Traversal-v0"
SEEN = ("history", "depth", "privileged")


class GymTraversal(VectorEnv):
    """Observations are dicts of history, depth and privileged; ended worlds restart within the step.

    What they saw at last is `final_obs` of the info, as Gymnasium has it: an array of n objects, None where
    no episode ended, and the mask `_final_obs`.
    """

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
        env.reset()
        self._first = env.state_dict()

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """New episodes everywhere. With a seed everything, levels included, begins as it did the first time.

        What follows a seed depends on it and on the tiles, which belong to the environment's own seed.
        """
        if isinstance(seed, list | tuple):
            raise UserError("All worlds draw from one generator: give one seed, not a list.")
        if seed is not None:
            self.env.load_state_dict(self._first)
            self.env.generator.manual_seed(int(seed))
        return _arrays(self.env.reset()), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Actions (n, J) → observation, reward (n,), terminated (n,), truncated (n,) and info: `terms` (n,)
        of the reward by their rows of Table 6(a), `level` (n,)."""
        transition = self.env.step(torch.as_tensor(np.asarray(actions, dtype=np.float32)))
        info: dict[str, Any] = {
            "terms": {name: value.numpy() for name, value in transition.terms.items()},
            "level": transition.level.numpy(),
        }
        ended = transition.ended.numpy()
        if ended.any():
            info |= {"final_obs": self._final(transition, ended), "_final_obs": ended}
        observation = self.env.restart(transition.ended)
        return (
            _arrays(observation),
            transition.reward.numpy(),
            transition.terminated.numpy(),
            transition.truncated.numpy(),
            info,
        )

    def _final(self, transition: Transition, ended: np.ndarray) -> np.ndarray:
        """What ended worlds would have acted on next: the newest frame without noise, the image they had."""
        before = self.env.observation()
        newest = transition.proprioception.unsqueeze(1)
        last = replace(
            before,
            history=torch.cat((before.history[:, 1:], newest), 1),
            privileged=transition.privileged,
        )
        arrays = _arrays(last)
        out = np.full(self.num_envs, None, dtype=object)
        for world in np.flatnonzero(ended):
            out[world] = {name: value[world].copy() for name, value in arrays.items()}
        return out


def make(
    num_envs: int = 1,
    *,
    robot: str = "x2",
    kinds: Sequence[str] | None = None,
    level: int | None = None,
    camera: bool = True,
    task: TaskConfig | None = None,
    seed: int = 0,
    threads: int = 0,
) -> GymTraversal:
    """What `gymnasium.make_vec` calls.

    robot: a name, your own robot.toml, or a run's robot.json; kinds: of terrain, one after another over the
    worlds; level: at which they begin; camera: without it depth is 0; task: everything else, by default the
    paper's numbers; threads: of physics, 0 is one per core.
    """
    config = task or TaskConfig()
    chosen: dict[str, Any] = {} if kinds is None else {"kinds": tuple(kinds)}
    chosen |= {} if level is None else {"first_level": level}
    config = replace(config, terrain=replace(config.terrain, **chosen))
    eye = CameraConfig() if camera else None
    return GymTraversal(TraversalEnv(load(robot), num_envs, config, camera=eye, seed=seed, threads=threads))


def _arrays(observation: Observation) -> dict[str, np.ndarray]:
    return {name: getattr(observation, name).numpy() for name in SEEN}


if ID not in gymnasium.registry:
    gymnasium.register(ID, vector_entry_point="ssr.task.gym:make")
