"""What the baselines share: PPO on r^l alone, with SSR's worlds, rollout, critic input and schedule.

They never earn r^f or r^s. A method adds its networks, what its actor sees and what it learns besides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from math import exp
from typing import Any

import torch
from torch import Tensor, nn

from ssr.errors import unknown
from ssr.learning.averaging import AveragedPolicy
from ssr.learning.config import TrainConfig
from ssr.learning.devices import moved
from ssr.learning.foothold import stance_deficiency
from ssr.learning.metric_names import METRICS
from ssr.learning.optimizer import FlatAdam
from ssr.learning.ranks import Ranks
from ssr.learning.rollout import Rollout
from ssr.learning.schedule import Schedule
from ssr.learning.ssr_policy import network_config
from ssr.learning.ssr_state import small_moments
from ssr.learning.statistics import Statistics
from ssr.learning.stopwatch import Stopwatch
from ssr.networks.config import NetworkConfig
from ssr.robots.spec import RobotSpec
from ssr.symmetry.vectors import layouts
from ssr.task.transition import Observation, Transition

STREAM = "locomotion"  #: r^l, the only one
WEIGHTS = {STREAM: 1.0}

#: What `OnPolicy` measures, as SSR does.
OF_WALKING = (
    "tracking",
    "velocity_error",
    "obeyed/{way}",
    "speed/{terrain}",
    "touchdowns_per_second",
    "falls_per_minute",
    "bad_worlds",
    "power",
    "safe_foothold_rate",
    "safe_foothold_rate/{terrain}",
    "cadence/{terrain}",
    "beyond_table_6",
    "beyond_table_6/{terrain}",
    "mean_support",
    "return/locomotion",
    "mean_reward/locomotion",
    "reward/{row}",
    "episode_steps",
    "bootstrap",
    "ramp",
    "std",
    "seconds/{part}",
)
OF_PPO = ("kl", "surrogate_loss", "value_loss", "clipped_share", "entropy", "learning_rate")


def explained(*names: str) -> dict[str, str]:
    """These metrics of SSR, and what they say."""
    return {name: METRICS[name.replace(STREAM, "{stream}")] for name in names}


def widths(config: TrainConfig) -> NetworkConfig:
    """The networks' sizes: SSR's settings, with one critic for one stream."""
    shared = vars(network_config(config)) | {"streams": (STREAM,), "equivariant": False}
    return NetworkConfig(**shared | {"mirror_averaged": False})


class OnPolicy(ABC):
    """Acts in n worlds and learns from them. `networks` is a module whose children can be frozen by name."""

    def __init__(
        self,
        networks: nn.Module,
        *,
        robot: RobotSpec,
        num_envs: int,
        config: TrainConfig,
        observation_size: int,
        acting: tuple[str, ...],
        mirrored: bool = False,
        images: bool = False,
        ranks: Ranks,
        device: str,
    ) -> None:
        """observation_size: of what the actor sees; acting: names of the networks that the policy has;
        mirrored: the rollout also holds what the actor would see in the mirror."""
        self.robot, self.config, self.ranks, self.device = robot, config, ranks, device
        self.networks, self.vectors = networks, layouts(robot)
        sizes = {
            name: getattr(self.vectors, name).size for name in ("proprioception", "privileged", "action")
        }
        self.rollout = Rollout(
            steps=config.ppo.steps,
            num_envs=num_envs,
            history=config.task.history,
            sizes=sizes | {"actor": observation_size},
            streams=(STREAM,),
            mirrored_observation=mirrored,
            images=images,
            device=device,
        )
        self.schedule = Schedule(config.schedule)
        period = config.task.control_period
        self.statistics = Statistics(num_envs, (STREAM,), self.vectors.privileged, period, device)
        kept, prefixes = config.ppo.average, tuple(f"{name}." for name in acting)
        self.average = AveragedPolicy(networks, kept, prefixes) if kept > 0.0 else None
        self.stopwatch = Stopwatch()
        self.restarted = torch.ones(num_envs, dtype=torch.bool, device=device)
        self.last_privileged = torch.zeros(num_envs, sizes["privileged"], device=device)
        self.t = 0

    # ---- what a method is ----------------------------------------------------------------------------------

    @abstractmethod
    def optimizers(self) -> dict[str, FlatAdam]:
        """By name."""

    @abstractmethod
    def choose(self, observation: Observation) -> Tensor:
        """Fill step t of the rollout; actions (n, A) to do."""

    @abstractmethod
    def learn(self, std: Tensor) -> dict[str, float]:
        """From a complete rollout. std: (A,) of the policy that acted."""

    @property
    @abstractmethod
    def std(self) -> Tensor:
        """(A,) of the actions."""

    def earned(self, transition: Transition) -> Tensor:
        """r^l · dt (n,)."""
        return transition.reward

    def memories(self) -> dict[str, Tensor]:
        """Whatever a rollout carries into the next besides, by name; restored in place."""
        return {}

    # ---- the protocol --------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        return self.config.ppo.steps

    @property
    def bootstrap(self) -> float:
        return self.schedule.bootstrap

    @property
    def ramp(self) -> float:
        return self.schedule.ramp

    @torch.no_grad()
    def act(self, observation: Observation) -> Tensor:
        observation = moved(observation, self.device)
        if self.t == 0:
            self.rollout.begin()
        self.rollout.put_observation(self.t, observation, self.restarted)
        with self.stopwatch("acting"):
            return self.choose(observation).clone()

    @torch.no_grad()
    def observe(self, transition: Transition) -> None:
        with self.stopwatch("rewards"):
            transition = moved(transition, self.device)
            self.rollout.put_transition(self.t, transition)
            self.rollout.put_reward(self.t, STREAM, self.earned(transition))
            self.statistics.observe(transition, stance_deficiency(self.vectors.privileged, transition))
            self.restarted = transition.ended | ~transition.valid
            self.last_privileged = torch.where(transition.valid.unsqueeze(-1), transition.privileged, 0.0)
            self.t += 1

    def update(self, progress: float) -> dict[str, float]:
        assert self.t == self.rollout.steps, "a rollout must be complete before an update"
        self.schedule.progress = progress
        std = self.std.detach().clone()
        metrics = self.learn(std)
        if self.average is not None:
            self.average.take_in()
        self.statistics.finish(self.rollout)
        metrics |= self.statistics.tally.means(self.ranks)
        task = self.config.task
        longest = task.control_steps(task.termination.episode_seconds)
        survival = exp(-metrics.get("falls_per_minute", 0.0) * longest * task.control_period / 60)
        self.schedule.advance(metrics.get("tracking", 0.0), survival)
        self.t = 0
        return metrics | {"std": float(std.mean()), "bootstrap": self.bootstrap, "ramp": self.ramp}

    def freeze(self, networks: Collection[str]) -> None:
        known = [name for name, _ in self.networks.named_children()]
        for name in networks:
            if name not in known:
                raise unknown("network to freeze", name, known)
        for optimizer in self.optimizers().values():
            optimizer.frozen = frozenset(networks) & optimizer.networks.keys()

    def to_ship(self) -> nn.Module:
        """A copy of the networks on the CPU, with averaged weights where the configuration says so."""
        networks = deepcopy(self.networks).cpu()
        if self.average is not None:
            networks.load_state_dict(self.average.weights, strict=False)
        return networks.eval()

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        rollout = self.rollout
        yield "rollout.proprioception", rollout.history.frames
        yield "rollout.privileged", rollout.privileged
        for name, parameter in self.networks.named_parameters():
            yield f"parameter {name}", parameter.detach()
        for name in ("actor", "mean", "action", "log_prob", "next_proprioception"):
            yield f"rollout.{name}", getattr(rollout, name)
        yield f"rollout.reward.{STREAM}", rollout.rewards[STREAM]
        for name, parameter in self.networks.named_parameters():
            if parameter.grad is not None:
                yield f"gradient {name}", parameter.grad

    # ---- saving --------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        assert self.t == 0, "save between iterations"
        state: dict[str, Any] = {
            "networks": self.networks.state_dict(),
            "optimizers": {name: optimizer.state_dict() for name, optimizer in self.optimizers().items()},
            "schedule": self.schedule.state_dict(),
            "statistics": self.statistics.state_dict(),
            "memories": {name: memory.clone() for name, memory in self.memories().items()},
            "restarted": self.restarted,
            "random": torch.get_rng_state(),
        }
        if self.restarted.is_cuda:
            state["random_cuda"] = torch.cuda.get_rng_state(self.restarted.device)
        return state | ({} if self.average is None else {"average": self.average.state_dict()})

    def load_state_dict(self, state: dict[str, Any]) -> None:
        state = moved(state, self.device)
        self.networks.load_state_dict(state["networks"])
        for name, optimizer in self.optimizers().items():
            optimizer.load_state_dict(state["optimizers"][name])
        self.schedule.load_state_dict(state["schedule"])
        self.statistics.load_state_dict(state["statistics"])
        for name, memory in self.memories().items():
            memory.copy_(state["memories"][name])
        self.restarted.copy_(state["restarted"])
        if self.average is not None:
            self.average.load_state_dict(state["average"])
        torch.set_rng_state(state["random"].cpu())
        if self.restarted.is_cuda and "random_cuda" in state:  # not if it was saved on a CPU
            torch.cuda.set_rng_state(state["random_cuda"].cpu(), self.restarted.device)

    def small_state(self) -> dict[str, Any]:
        """As SSR's: weights and their average, moments in bfloat16, schedule."""
        moments = {name: small_moments(optimizer) for name, optimizer in self.optimizers().items()}
        state = {
            "networks": self.networks.state_dict(),
            "optimizers": moments,
            "schedule": self.schedule.state_dict(),
        }
        return state | ({} if self.average is None else {"average": self.average.state_dict()})

    def load_small_state(self, state: Mapping[str, Any], *, moments: bool = True) -> None:
        self.networks.load_state_dict(state["networks"])
        if moments:
            for name, optimizer in self.optimizers().items():
                optimizer.load_state_dict(state["optimizers"][name])
        self.schedule.load_state_dict(state["schedule"])
        averaged = state.get("average", {}).get("weights", {})
        if self.average is None or averaged.keys() != self.average.weights.keys():
            # Of networks that learn no more: what would have been shipped is what goes on.
            self.networks.load_state_dict(averaged, strict=False)
        for optimizer in self.optimizers().values():
            optimizer.learn_from_here()
        if self.average is not None:
            self.average.restart()
            if averaged.keys() == self.average.weights.keys():
                self.average.load_state_dict(state["average"])


def shipped(state: Mapping[str, Any]) -> dict[str, Tensor]:
    """The weights of the policy within a small state: averaged ones where there are any."""
    return state["networks"] | state.get("average", {}).get("weights", {})
