"""PIM: one stage, a map of true heights, and an internal model of what comes next (Long et al.).

    six frames of o^p ──┐                 ┌─ v̂ (3), learned from the true velocity
                        ├─ MLP [256, 256] ┤
    96 noisy heights ───┤                 └─ latent (16, unit length), learned by swapped prototypes against
                        │                    an encoder of the state that is reached
                        └─ actor: o^p, v̂, latent, heights (187) → MLP [512, 256, 128] → action

No gradient of PPO enters the encoder. Policy and value are drawn to be the same in the mirror.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ssr.baselines.on_policy import OF_PPO, OF_WALKING, STREAM, WEIGHTS, OnPolicy, explained, shipped, widths
from ssr.baselines.prototypes import Prototypes
from ssr.baselines.true_heights import HeightSensor
from ssr.errors import UserError
from ssr.learning.algorithm import PolicyModule
from ssr.learning.config import TrainConfig
from ssr.learning.optimizer import FlatAdam
from ssr.learning.ppo import PPO, prepare
from ssr.learning.precision import autocast
from ssr.learning.ranks import Ranks
from ssr.learning.rollout import Rollout
from ssr.motion.dataset import MotionDataset
from ssr.networks.actor import PlainActor
from ssr.networks.critics import Critics
from ssr.networks.gaussian import log_probability
from ssr.networks.mlp import mlp
from ssr.robots.spec import RobotSpec
from ssr.symmetry.vectors import layouts
from ssr.task.transition import Observation, Transition
from ssr.terrain.field import TerrainField

__all__ = ["NETWORKS", "PIM", "build", "measures", "policy", "scans", "sees", "shipped"]

NETWORKS = ("encoder", "target", "prototypes", "actor", "critics")
ACTING = ("encoder", "actor")
LATENT = 16
TARGET_HIDDEN = (128, 64)  #: of the encoder of the state reached
MAX_GRADIENT = 10.0  #: of encoder, target and prototypes
MIRROR_WEIGHTS = (1.0, 1.0)  #: of the symmetry losses of policy and value
UPPER_RAMP = 0.2  #: share of a run over which waist and arms come in
LEGS = ("hip", "knee", "ankle")  #: in the role of a joint that acts from the start


class InternalModel(nn.Module):
    """History (n, h, P) and heights (n, 96) → velocity (n, 3), in its segment's scale, and latent (n, 16)."""

    def __init__(self, inputs: int, hidden: tuple[int, ...]) -> None:
        super().__init__()
        self.layers = mlp(inputs, hidden, 3 + LATENT)

    def forward(self, history: Tensor, heights: Tensor) -> tuple[Tensor, Tensor]:
        velocity, latent = self.layers(torch.cat((history.flatten(-2), heights), -1)).split((3, LATENT), -1)
        return velocity, F.normalize(latent, dim=-1)


class StateEncoder(nn.Module):
    """The state reached, clean o^p and heights (n, P + 96) → latent (n, 16) of unit length."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.layers = mlp(inputs, TARGET_HIDDEN, LATENT)

    def forward(self, state: Tensor) -> Tensor:
        return F.normalize(self.layers(state), dim=-1)


class PIMNetworks(nn.Module):
    upper: Tensor
    legs: Tensor

    def __init__(self, robot: RobotSpec, config: TrainConfig) -> None:
        super().__init__()
        sizes, vectors = widths(config), layouts(robot)
        frame, actions = vectors.proprioception.size, vectors.action.size
        self.encoder = InternalModel(config.task.history * frame + HeightSensor.SIZE, sizes.encoder_hidden)
        self.target = StateEncoder(frame + HeightSensor.SIZE)
        self.prototypes = Prototypes(LATENT)
        self.observation_size = frame + 3 + LATENT + HeightSensor.SIZE
        self.actor = PlainActor(self.observation_size, sizes.expert_hidden, actions, sizes.initial_std)
        self.critics = Critics(vectors.privileged.size, sizes)
        legs = [any(word in joint.role for word in LEGS) for joint in robot.joints]
        self.register_buffer("legs", torch.tensor(legs), persistent=False)
        self.register_buffer("upper", torch.zeros(()))  #: share of the waist's and arms' actions that is done

    def observe(self, history: Tensor, heights: Tensor) -> Tensor:
        """What the actor sees, (n, 187)."""
        return torch.cat((history[..., -1, :], *self.encoder(history, heights), heights), -1)

    def done(self, action: Tensor) -> Tensor:
        """What is done of an action (n, A)."""
        return action * torch.where(self.legs, 1.0, self.upper)


class PIM(OnPolicy):
    networks: PIMNetworks

    def __init__(
        self, robot: RobotSpec, num_envs: int, config: TrainConfig, ranks: Ranks, device: str = "cpu"
    ) -> None:
        networks = PIMNetworks(robot, config).to(device)
        super().__init__(
            networks,
            robot=robot,
            num_envs=num_envs,
            config=config,
            observation_size=networks.observation_size,
            acting=ACTING,
            mirrored=True,
            ranks=ranks,
            device=device,
        )
        self.sensor = HeightSensor(self.vectors.privileged)
        self.ppo = PPO(
            networks.actor,
            networks.critics,
            streams=(STREAM,),
            config=config.ppo,
            optimizer=config.optimizer,
            ranks=ranks,
            mirror_loss=self._mirror_loss,
        )
        self.model = FlatAdam(
            {name: getattr(networks, name) for name in ("encoder", "target", "prototypes")},
            learning_rate=config.encoder.learning_rate,
            max_gradient_norm=MAX_GRADIENT,
            average=config.encoder.average,
            ranks=ranks,
        )
        shape = (config.ppo.steps, num_envs, HeightSensor.SIZE)
        self.heights = torch.zeros(shape, device=device)  #: as they were seen
        self.heights_reached = torch.zeros(shape, device=device)  #: true

    def optimizers(self) -> dict[str, FlatAdam]:
        return {"ppo": self.ppo.optimizer, "model": self.model}

    @property
    def std(self) -> Tensor:
        return self.networks.actor.std

    def choose(self, observation: Observation) -> Tensor:
        t, rollout, networks = self.t, self.rollout, self.networks
        heights = self.heights[t] = self.sensor.noisy(observation.privileged)
        history = observation.history
        rollout.actor[t] = networks.observe(history, heights)
        assert rollout.actor_mirrored is not None
        mirrored = self.vectors.proprioception.mirror(history)
        rollout.actor_mirrored[t] = networks.observe(mirrored, self.sensor.mirror(heights))
        with autocast(self.config.ppo.bfloat16, heights.device):
            mean = networks.actor(rollout.actor[t]).float()
        action = mean + self.std * torch.randn_like(mean)
        rollout.mean[t], rollout.action[t] = mean, action
        rollout.log_prob[t] = log_probability(action, mean, self.std)
        return networks.done(action)

    def observe(self, transition: Transition) -> None:
        reached = self.sensor.true(transition.privileged.to(self.device))
        self.heights_reached[self.t] = torch.where(transition.valid.to(self.device)[:, None], reached, 0.0)
        super().observe(transition)

    def learn(self, std: Tensor) -> dict[str, float]:
        metrics: dict[str, float] = {}
        with self.stopwatch("ppo"):
            if not self.ppo.optimizer.idle:
                batch = prepare(
                    self.rollout,
                    self.last_privileged,
                    self.networks.critics,
                    weights=WEIGHTS,
                    config=self.config.ppo,
                    mirror=self._mirrored,
                    ranks=self.ranks,
                )
                metrics |= self.ppo.update(batch, std, self.schedule)
        with self.stopwatch("encoder"):
            if not self.model.idle:
                metrics |= self._learn_model()
        share = torch.tensor(min(self.schedule.progress / UPPER_RAMP, 1.0))
        self.networks.upper.copy_(torch.maximum(self.networks.upper, share.to(self.networks.upper)))
        return metrics

    # ---- the mirror ----------------------------------------------------------------------------------------

    def _mirrored(self, rollout: Rollout) -> tuple[Tensor, Tensor, Tensor]:
        """The latent has no mirror image of its own: the mirrored input was encoded as well."""
        assert rollout.actor_mirrored is not None
        privileged = self.vectors.privileged.mirror(rollout.privileged)
        return rollout.actor_mirrored, privileged, self.vectors.action.mirror(rollout.action)

    def _mirror_loss(self, mean: Tensor, value: Tensor, weight: Tensor) -> Tensor:
        """Squared distances of what is done and expected in the mirror from the mirror image of it."""
        action = (mean[1] - self.vectors.action.mirror(mean[0].detach())).square().mean(-1)
        worth = (value[1] - value[0].detach()).square()
        return ((MIRROR_WEIGHTS[0] * action + MIRROR_WEIGHTS[1] * worth) * weight).sum()

    # ---- the internal model --------------------------------------------------------------------------------

    def _learn_model(self) -> dict[str, float]:
        """Velocity by its squared error, latent by swapped prototypes; over steps that no episode broke."""
        config, rollout = self.config.encoder, self.rollout
        everywhere = torch.arange(rollout.num_envs, device=self.heights.device)
        history = rollout.history.windows(everywhere).flatten(0, 1)
        heights = self.heights.flatten(0, 1)
        velocity = self.vectors.privileged.get(rollout.privileged, "base_velocity").flatten(0, 1)
        reached = torch.cat((rollout.next_proprioception, self.heights_reached), -1).flatten(0, 1)
        whole = (rollout.valid & ~rollout.ended).flatten().nonzero().squeeze(1)
        totals = torch.zeros(3, device=heights.device)
        with self.model.newest():
            for _ in range(config.epochs):
                order = whole[torch.randperm(len(whole), device=whole.device)]
                for index in order.tensor_split(config.minibatches):
                    totals += self._step(history[index], heights[index], velocity[index], reached[index])
        names = ("pim/velocity", "pim/swap", "pim/prototypes_used")
        means = self.model.settle(totals / (config.epochs * config.minibatches))
        return dict(zip(names, means, strict=True))

    def _step(self, history: Tensor, heights: Tensor, velocity: Tensor, reached: Tensor) -> Tensor:
        networks = self.networks
        networks.prototypes.normalise_()
        estimate, latent = networks.encoder(history, heights)
        error = F.mse_loss(estimate, velocity)
        swap = networks.prototypes.swap(latent, networks.target(reached))
        self.model.extras[:3] = torch.stack((error, *swap)).detach()
        self.model.backward(error + swap.loss)
        self.model.step()
        return self.model.extras[:3].clone()

    def policy(self) -> PIMPolicy:
        networks = self.to_ship()
        assert isinstance(networks, PIMNetworks)
        return PIMPolicy(networks, self.sensor)


class PIMActor:
    """Its heights are noisy as in training, by luck that begins anew with every set of trials."""

    def __init__(self, networks: PIMNetworks, sensor: HeightSensor) -> None:
        self.networks, self.sensor = networks, sensor

    def begin(self, worlds: int) -> None:
        self.luck = torch.Generator().manual_seed(0)

    @torch.inference_mode()
    def act(self, observation: Observation) -> Tensor:
        heights = self.sensor.noisy(observation.privileged, self.luck)
        seen = self.networks.observe(observation.history, heights)
        return self.networks.done(self.networks.actor(seen)).clone()


class PIMPolicy:
    imagine = None
    decode = None
    style_judge = None

    def __init__(self, networks: PIMNetworks, sensor: HeightSensor) -> None:
        self.networks, self.sensor = networks.eval(), sensor

    @property
    def network(self) -> PolicyModule:
        raise UserError(
            "A policy of pim walks by a map of true heights, which no camera gives: it cannot be exported."
        )

    def actor(self) -> PIMActor:
        return PIMActor(self.networks, self.sensor)

    def weights(self) -> dict[str, Tensor]:
        return self.networks.state_dict()


def sees(config: TrainConfig) -> bool:
    return False


def scans(config: TrainConfig) -> bool:
    return False


def measures(config: TrainConfig | None = None) -> Mapping[str, str]:
    own = {
        "pim/velocity": "squared error of the estimated velocity, in its scale",
        "pim/swap": "loss of the swapped prototypes; ln 32 = 3.47 says nothing has been learned",
        "pim/prototypes_used": "over how many of the 32 the states reached spread; 1 is a collapse",
    }
    return explained(*OF_WALKING, *OF_PPO) | own


def build(
    *,
    config: TrainConfig,
    robot: RobotSpec,
    num_envs: int,
    field: TerrainField,
    motion: Callable[[], MotionDataset],
    ranks: Ranks,
    device: str,
) -> PIM:
    return PIM(robot, num_envs, config, ranks, device)


def policy(config: TrainConfig, robot: RobotSpec, weights: Mapping[str, Any]) -> PIMPolicy:
    networks = PIMNetworks(robot, config)
    networks.load_state_dict(dict(weights))
    return PIMPolicy(networks, HeightSensor(layouts(robot).privileged))
