"""The task as an rsl_rl `VecEnv` (pip install rsl-rl-lib, 5.x), for its runners and algorithms.

Observation groups: `policy` (n, history · P) noisy proprioception, oldest frame first; `depth` (n, 1, 36, 36)
in m, for CNN models; `critic` (n, S) privileged state.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ssr.errors import UserError
from ssr.task.config import TaskConfig
from ssr.task.env import TraversalEnv
from ssr.task.transition import Observation

try:
    from rsl_rl.env import VecEnv
    from tensordict import TensorDict
except ModuleNotFoundError as error:
    raise UserError(f"The rsl_rl adapter needs {error.name}. Install it: pip install rsl-rl-lib.") from None


class RslTraversal(VecEnv):
    """Rewards are r^l · dt; ended worlds restart within the step, time-outs are told apart."""

    def __init__(self, env: TraversalEnv) -> None:
        self.env = env
        self.num_envs, self.num_actions = env.num_envs, env.layouts.action.size
        self.max_episode_length = env.config.control_steps(env.config.termination.episode_seconds)
        self.device = "cpu"
        self._seen = env.reset()

    @property
    def cfg(self) -> TaskConfig:
        return self.env.config

    @property
    def episode_length_buf(self) -> Tensor:
        """(n,) control steps of each episode; may be set, so that episodes do not all end together."""
        return self.env.progress.steps

    @episode_length_buf.setter
    def episode_length_buf(self, steps: Tensor) -> None:
        self.env.progress.steps.copy_(steps)

    def get_observations(self) -> TensorDict:
        """`policy`, `depth` and `critic`, as all worlds see them now."""
        return _groups(self._seen)

    def step(self, actions: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict[str, Any]]:
        """Actions (n, J) → observations, reward (n,), ended (n,) and extras: `time_outs` (n,), and in `log`
        the mean of each row of the reward and of the levels."""
        transition = self.env.step(actions.detach().cpu().float())
        self._seen = self.env.restart(transition.ended)
        log = {f"/reward/{name}": value.mean() for name, value in transition.terms.items()}
        extras = {
            "time_outs": transition.truncated,
            "log": log | {"/level": transition.level.float().mean()},
        }
        return _groups(self._seen), transition.reward, transition.ended, extras


def _groups(seen: Observation) -> TensorDict:
    groups = {
        "policy": seen.history.flatten(1),
        "depth": seen.depth.unsqueeze(1),
        "critic": seen.privileged,
    }
    return TensorDict(groups, batch_size=[len(seen.history)])
