"""What training, checkpoints, evaluation, export and viewer know of a learning method: this and no more.

A method is one module with the three functions of `Method`, listed by name in `ssr.learning.registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Protocol

from torch import Tensor

from ssr.learning.config import TrainConfig
from ssr.learning.ranks import Ranks
from ssr.learning.stopwatch import Stopwatch
from ssr.motion.dataset import MotionDataset
from ssr.robots.spec import RobotSpec
from ssr.task.transition import Observation, Transition
from ssr.terrain.field import TerrainField

Imagine = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Privileged state (n, S) and action (n, A) → where each foot will land: mean (n, 2, 2) in the yaw-aligned
base frame and standard deviation (n, 2), both in m, right foot before left."""


class Actor(Protocol):
    """A policy with its memory of n worlds."""

    def begin(self, worlds: int) -> None:
        """New trials in all worlds."""

    def act(self, observation: Observation) -> Tensor:
        """Actions (n, A) for what all worlds see."""


Decode = Callable[[Actor], Tensor]
"""One of the policy's own actors → the base height maps (n, 180) that its memory holds after the last `act`,
as the privileged state's `base_height_map`."""


class StyleJudge(Protocol):
    """Pays for motion as training did."""

    @property
    def frames(self) -> int:
        """Of a window."""

    @property
    def stride(self) -> int:
        """Control steps between two of them."""

    def pay(self, windows: Tensor, terrain_type: Tensor) -> Tensor:
        """r^s (n,) of windows (n, frames, F) of AMP frames, oldest first, on terrain types (n,)."""


class PolicyModule(Protocol):
    """The acting network as a robot runs it; `nn.Module`s with these members are."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of proprioception history (n, h, P), depth (n, rows, columns) in m and memory (n, H)."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of action (n, A) and next memory."""

    @property
    def hidden_size(self) -> int: ...
    def __call__(self, history: Tensor, depth: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]: ...
    def initial_hidden(self, count: int) -> Tensor: ...
    def state_dict(self) -> dict[str, Any]: ...


class Policy(Protocol):
    """What was learned, without randomness. What only some methods can do is None where it is missing."""

    @property
    def network(self) -> PolicyModule:
        """UserError where no robot could run it."""

    @property
    def imagine(self) -> Imagine | None:
        """Where it thinks its feet will land."""

    @property
    def decode(self) -> Decode | None:
        """The ground as its memory has it."""

    @property
    def style_judge(self) -> StyleJudge | None:
        """Who paid it for style."""

    def actor(self) -> Actor:
        """Somebody to act in trials, with a memory of its own."""

    def weights(self) -> dict[str, Tensor]:
        """All weights by name, from which `Method.policy` makes this policy again."""


class Algorithm(Protocol):
    """Acts in the worlds of one rank and learns from what comes of it."""

    stopwatch: Stopwatch  #: of the parts of an iteration

    @property
    def steps(self) -> int:
        """Control steps between two updates."""

    @property
    def bootstrap(self) -> float:
        """Share of the task's bootstrap terms that the worlds must grant from now on, in [0, 1]."""

    @property
    def ramp(self) -> float:
        """Share of the randomization that the worlds must draw from now on, in [0, 1]."""

    def act(self, observation: Observation) -> Tensor:
        """Actions (n, A) to learn from."""

    def observe(self, transition: Transition) -> None:
        """Take in what the last action did, while the worlds still stand on their old tiles."""

    def update(self, progress: float) -> dict[str, float]:
        """Learn from the last `steps` steps; metrics are the same on every rank.

        progress: share of the run that is over, in [0, 1].
        """

    def policy(self) -> Policy:
        """A copy of what would be shipped now, between two iterations; draws no random numbers."""

    def freeze(self, networks: Collection[str]) -> None:
        """The weights of these networks stay as they are from now on; unknown names are refused."""

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Every tensor of an iteration, upstream before downstream, to find the first bad number."""

    def state_dict(self) -> dict[str, Any]:
        """Everything learning needs to go on bit for bit, between two iterations."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on, bit for bit, as the learner would have whose `state_dict` this is."""

    def small_state(self) -> dict[str, Any]:
        """What is worth keeping in a few megabytes: learning goes on from it while buffers refill."""

    def load_small_state(self, state: Mapping[str, Any], *, moments: bool = True) -> None:
        """Go on from a small state. KeyError or RuntimeError where it is not one of these networks.

        moments: keep the optimizers' moments and learning rates; otherwise they begin afresh.
        """


class Method(Protocol):
    """What the module of a learning method offers."""

    NETWORKS: tuple[str, ...]  #: whose weights `Algorithm.freeze` can keep

    def sees(self, config: TrainConfig) -> bool:
        """Whether it looks at depth images: without, its worlds have no camera."""

    def scans(self, config: TrainConfig) -> bool:
        """Whether it walks by `Observation.scan`."""

    def measures(self, config: TrainConfig | None = None) -> Mapping[str, str]:
        """The metrics that `Algorithm.update` may write with these settings, or with any, as in
        `ssr.learning.metric_names`, and what they say."""

    def build(
        self,
        *,
        config: TrainConfig,
        robot: RobotSpec,
        num_envs: int,
        field: TerrainField,
        motion: Callable[[], MotionDataset],
        ranks: Ranks,
        device: str,
    ) -> Algorithm:
        """A beginner. field: the terrain under its worlds; motion: loads the robot's reference motion."""

    def policy(self, config: TrainConfig, robot: RobotSpec, weights: Mapping[str, Tensor]) -> Policy:
        """The policy with these weights; RuntimeError where they do not fit the configuration."""

    def shipped(self, state: Mapping[str, Any]) -> dict[str, Tensor]:
        """The weights of the policy within a small state."""
