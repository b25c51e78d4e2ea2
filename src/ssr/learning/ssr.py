"""SSR: one object that acts, watches what comes of it, and learns (Sec. 3)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from copy import deepcopy
from math import exp
from typing import Any

import torch
from torch import Tensor

from ssr.errors import unknown
from ssr.learning import edge_sight, ssr_state
from ssr.learning.averaging import AveragedPolicy
from ssr.learning.config import TrainConfig
from ssr.learning.devices import moved
from ssr.learning.encoder_update import EncoderTrainer
from ssr.learning.foothold import Imagined, foothold_reward, guidance, stance_deficiency
from ssr.learning.footsteps import FootstepRecorder, to_tile
from ssr.learning.imagination import Imagination
from ssr.learning.independence import independent_shares
from ssr.learning.metric_names import METRICS
from ssr.learning.ppo import PPO, prepare
from ssr.learning.precision import autocast
from ssr.learning.ranks import ALONE, Ranks
from ssr.learning.rollout import Rollout
from ssr.learning.schedule import Schedule
from ssr.learning.ssr_policy import SSRPolicy, imagines, network_config, policy, policy_of, shipped
from ssr.learning.statistics import Statistics
from ssr.learning.stopwatch import Stopwatch
from ssr.learning.style import ReferenceMotion, Style
from ssr.motion.dataset import MotionDataset
from ssr.networks.assembly import assemble, release
from ssr.networks.build import NETWORKS, Networks
from ssr.networks.gaussian import log_probability
from ssr.networks.policy import actor_observation
from ssr.robots.spec import RobotSpec
from ssr.symmetry.structure import flip_width
from ssr.task.transition import Observation, Transition
from ssr.terrain.field import TerrainField

__all__ = ["SSR", "build", "measures", "policy", "scans", "sees", "shipped"]


def sees(config: TrainConfig) -> bool:
    return True


def scans(config: TrainConfig) -> bool:
    return False


def measures(config: TrainConfig | None = None) -> Mapping[str, str]:
    return METRICS


class SSR:
    """Acts in n worlds and learns from them; `field` is the terrain under those worlds."""

    def __init__(
        self,
        *,
        robot: RobotSpec,
        num_envs: int,
        config: TrainConfig,
        field: TerrainField,
        reference: ReferenceMotion | None = None,
        ranks: Ranks = ALONE,
        device: str = "cpu",
    ) -> None:
        self.robot, self.config, self.field, self.ranks, self.device = robot, config, field, ranks, device
        self.networks = Networks(robot, network_config(config)).to(device)
        self.weights = config.stream_weights()
        streams, vectors = tuple(self.weights), self.networks.layouts
        self.vectors = vectors
        sizes = {
            name: getattr(vectors, name).size for name in ("proprioception", "actor", "privileged", "action")
        }
        self.mirrors_input = config.ablation.input_symmetry
        self.rollout = Rollout(
            steps=config.ppo.steps,
            num_envs=num_envs,
            history=config.task.history,
            sizes=sizes,
            streams=streams,
            mirrored_observation=self.mirrors_input,
            device=device,
        )
        self.ppo = PPO(
            self.networks.actor,
            self.networks.critics,
            streams=streams,
            config=config.ppo,
            optimizer=config.optimizer,
            ranks=ranks,
        )
        self.encoder = EncoderTrainer(
            self.networks, config=config.encoder, optimizer=config.optimizer, ranks=ranks
        )
        self.footsteps = FootstepRecorder(
            num_envs=num_envs,
            input_size=sizes["privileged"] + sizes["action"],
            steps=config.ppo.steps,
            device=device,
        )
        self.imagination: Imagination | None = None
        if imagines(config):
            self.imagination = Imagination(
                self.networks.imagination,
                state_size=sizes["privileged"],
                action_size=sizes["action"],
                config=config.imagination,
                optimizer=config.optimizer,
                ranks=ranks,
                device=device,
            )
        self.style: Style | None = None
        if "style" in streams:
            assert reference is not None, "the style stream needs reference motion"
            self.style = Style(
                self.networks.discriminators,
                reference,
                frame_size=vectors.amp.size,
                steps=config.ppo.steps,
                num_envs=num_envs,
                seed=config.seed,
                config=config.style,
                optimizer=config.optimizer,
                ranks=ranks,
                device=device,
            )
        kept = config.ppo.average
        self.average = AveragedPolicy(self.networks, kept) if kept > 0.0 else None
        self.schedule = Schedule(config.schedule)
        self.statistics = Statistics(
            num_envs, streams, vectors.privileged, config.task.control_period, device
        )
        self.stopwatch = Stopwatch()
        sides = 2 if self.mirrors_input else 1  #: the mirrored input has a memory of its own
        self.hidden = torch.zeros(sides, num_envs, self.networks.encoder.hidden_size, device=device)
        self.memories = self.hidden.clone()  #: before the rollout
        self.features = torch.zeros(sides, num_envs, self.networks.config.cnn_channels[-1], device=device)
        self.restarted = torch.ones(num_envs, dtype=torch.bool, device=device)
        self._everywhere = torch.arange(num_envs, device=device)
        self._on_cpu = self.hidden.device.type == "cpu"
        self.last_privileged = torch.zeros(num_envs, sizes["privileged"], device=device)
        self.t = 0

    @property
    def steps(self) -> int:
        return self.config.ppo.steps

    @property
    def bootstrap(self) -> float:
        return self.schedule.bootstrap

    @property
    def ramp(self) -> float:
        return self.schedule.ramp

    # ---- acting -----------------------------------------------------------------------------------------

    @torch.no_grad()
    def act(self, observation: Observation) -> Tensor:
        """Actions (n, A) for what all worlds see, drawn from the policy."""
        t, rollout = self.t, self.rollout
        observation = moved(observation, self.device)
        if t == 0:
            rollout.begin()
            assemble(self.networks.encoder)
        rollout.put_observation(t, observation, self.restarted)
        self.hidden = self.hidden * (~self.restarted).unsqueeze(-1)
        if t == 0:
            self.memories = self.hidden.clone()
        with self.stopwatch("encoding"):
            sides = self._encode(observation, everything=t == 0)
        with self.stopwatch("acting"):
            rollout.actor[t] = sides[0]
            if rollout.actor_mirrored is not None:
                rollout.actor_mirrored[t] = sides[1]
            std = self.networks.actor.std
            with autocast(self.config.ppo.bfloat16, self.hidden.device):
                mean = self.networks.actor(sides[0]).float()
            action = mean + std * torch.randn_like(mean)
            rollout.mean[t], rollout.action[t] = mean, action
            rollout.log_prob[t] = log_probability(action, mean, std)
        return action.clone()

    def _encode(self, observation: Observation, everything: bool) -> Tensor:
        """o^a (1, n, O); with input symmetry also of the mirrored input, (2, n, O), in the same pass."""
        encoder, sides, n = self.networks.encoder, len(self.hidden), len(self.restarted)
        fresh = self._everywhere
        if not everything and self._on_cpu:
            # Weights have not changed since: only new images are encoded. A GPU would wait to be told which.
            fresh = (observation.depth_fresh | self.restarted).nonzero().squeeze(1)
        history, images = observation.history, observation.depth[fresh]
        if sides == 2:
            history = torch.cat((history, self.vectors.proprioception.mirror(history)))
            images = torch.cat((images, flip_width(images)))
        if len(fresh):
            self.features[:, fresh] = encoder.encode_images(images).unflatten(0, (sides, -1))
        latents, hidden = encoder.step(history, self.features.flatten(0, 1), self.hidden.flatten(0, 1))
        self.hidden = hidden.unflatten(0, (sides, n))
        if self.config.ppo.certain_latents:
            latents = latents._replace(proprioception=latents.mean)
        velocity = self.networks.estimator(history)
        return actor_observation(history, velocity, latents).unflatten(0, (sides, n))

    # ---- watching ---------------------------------------------------------------------------------------

    @torch.no_grad()
    def observe(self, transition: Transition) -> None:
        """Take in what the last action did, while the worlds still stand on their old tiles."""
        with self.stopwatch("rewards"):
            t, rollout = self.t, self.rollout
            transition = moved(transition, self.device)
            rollout.put_transition(t, transition)
            rollout.put_reward(t, "locomotion", transition.reward)
            stance = stance_deficiency(self.vectors.privileged, transition)
            if "foothold" in self.weights:
                deficiency = guidance(
                    transition,
                    stance,
                    self._imagine(t, transition),
                    self.field,
                    self.robot.sole,
                    self.config.foothold,
                )
                reward = foothold_reward(deficiency, transition.terrain_type, self.config.foothold.sigma)
                rollout.put_reward(t, "foothold", reward * self.config.task.control_period)
            if self.style is not None:
                self.style.observe(t, transition, self.restarted)
            self.footsteps.observe(rollout.privileged[t], rollout.action[t], transition)
            self.statistics.observe(transition, stance)
            self.restarted = transition.ended | ~transition.valid
            self.last_privileged = torch.where(transition.valid.unsqueeze(-1), transition.privileged, 0.0)
            self.t += 1

    def _imagine(self, t: int, transition: Transition) -> Imagined | None:
        """Where the feet were going to land, said before the step; None until the model is trusted."""
        if self.imagination is None or not bool(self.imagination.trusted.any()):
            return None
        known = self.footsteps.known & self.imagination.believed[transition.terrain_type]
        usable = known & (transition.level >= self.config.foothold.gate_level)
        if self._on_cpu and not bool(usable.any()):
            return None
        mean, std = self.networks.imagination(self.rollout.privileged[t], self.rollout.action[t])
        position, yaw = self.footsteps.base_position[:, None], self.footsteps.base_yaw[:, None]
        return Imagined(mean=to_tile(mean, position, yaw), std=std, usable=usable)

    # ---- learning ---------------------------------------------------------------------------------------

    def update(self, progress: float) -> dict[str, float]:
        """Learn from the rollout: style, PPO, encoder, imagination; nothing is spent on frozen networks."""
        assert self.t == self.rollout.steps, "a rollout must be complete before an update"
        self.schedule.progress = progress
        release(self.networks.encoder)
        clock, rollout = self.stopwatch, self.rollout
        metrics: dict[str, float] = {}
        with clock("style"):
            if self.style is not None:
                reward = self.style.rewards(rollout.valid) * self.config.task.control_period
                rollout.rewards["style"].copy_(torch.where(rollout.valid, reward, 0.0))
        std = self.networks.actor.std.detach().clone()
        with clock("ppo"):
            if not self.ppo.optimizer.idle:
                metrics |= self._improve(std)
        with clock("encoder"):
            metrics |= edge_sight.of_rollout(rollout, self.networks, self.statistics.lengths, self.ranks)
            if not self.encoder.optimizer.idle:
                metrics |= self.encoder.update(rollout, self.memories)
        with clock("imagination"):
            labels = self.footsteps.labels()
            if self.imagination is not None:
                self.imagination.put(labels)
                metrics |= self.imagination.update()
        with clock("style"):
            if self.style is not None and not self.style.optimizer.idle:
                metrics |= self.style.update()
        if self.average is not None:
            self.average.take_in()
        self.statistics.finish(rollout)
        self.statistics.tally.add("std", std.mean(), 1.0)
        metrics |= self.statistics.tally.means(self.ranks)
        self._advance(metrics)
        self.t = 0
        return metrics

    def _improve(self, std: Tensor) -> dict[str, float]:
        """PPO on the rollout, and how much each stream has to say. std: (A,) of the policy that acted."""
        batch = prepare(
            self.rollout,
            self.last_privileged,
            self.networks.critics,
            weights=self.weights,
            config=self.config.ppo,
            mirror=self._mirror(),
            ranks=self.ranks,
        )
        terrain, streams = self.rollout.terrain_type.flatten(), tuple(self.weights)
        shares = independent_shares(batch.gain, batch.weight, terrain, streams, self.ranks)
        return shares | self.ppo.update(batch, std, self.schedule)

    def _advance(self, metrics: dict[str, float]) -> None:
        task = self.config.task
        longest = task.control_steps(task.termination.episode_seconds)
        survival = exp(-metrics.get("falls_per_minute", 0.0) * longest * task.control_period / 60)
        self.schedule.advance(metrics.get("tracking", 0.0), survival)
        metrics |= {"bootstrap": self.schedule.bootstrap, "ramp": self.schedule.ramp}

    def _mirror(self) -> Callable[[Rollout], tuple[Tensor, Tensor, Tensor]] | None:
        """How the rollout is mirrored: in latent space, by the encoded mirrored input, or not at all, which
        is enough for networks that are symmetric by themselves."""
        if self.config.ablation.no_symmetry or self.networks.config.mirror_averaged:
            return None
        vectors = self.vectors

        def mirrored(rollout: Rollout) -> tuple[Tensor, Tensor, Tensor]:
            actor = rollout.actor_mirrored
            return (
                vectors.actor.mirror(rollout.actor) if actor is None else actor,
                vectors.privileged.mirror(rollout.privileged),
                vectors.action.mirror(rollout.action),
            )

        return mirrored

    # ---- handing out, saving ----------------------------------------------------------------------------

    def policy(self) -> SSRPolicy:
        """With averaged weights where the configuration says so."""
        networks = deepcopy(self.networks).cpu()
        if self.average is not None:
            networks.load_state_dict(self.average.weights, strict=False)
        normalizer = None if self.style is None else self.style.normalizer.state_dict()
        return policy_of(networks, self.config, normalizer)

    def freeze(self, networks: Collection[str]) -> None:
        """networks: of `Networks`, e.g. encoder and decoders."""
        for name in networks:
            if name not in NETWORKS:
                raise unknown("network to freeze", name, NETWORKS)
        for optimizer in ssr_state.optimizers(self).values():
            optimizer.frozen = frozenset(networks) & optimizer.networks.keys()

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        return ssr_state.flow(self)

    def state_dict(self) -> dict[str, Any]:
        assert self.t == 0, "save between iterations"
        return ssr_state.full(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        ssr_state.load_full(self, state)

    def small_state(self) -> dict[str, Any]:
        return ssr_state.small(self)

    def load_small_state(self, state: Mapping[str, Any], *, moments: bool = True) -> None:
        ssr_state.load_small(self, state, moments=moments)


def build(
    *,
    config: TrainConfig,
    robot: RobotSpec,
    num_envs: int,
    field: TerrainField,
    motion: Callable[[], MotionDataset],
    ranks: Ranks,
    device: str,
) -> SSR:
    return SSR(
        robot=robot,
        num_envs=num_envs,
        config=config,
        field=field,
        reference=None if config.ablation.no_style else motion(),
        ranks=ranks,
        device=device,
    )
