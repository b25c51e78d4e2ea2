"""SSR's policy outside training: encoder, estimator and actor, and the imagination that guided them."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ssr.learning.algorithm import Actor, Imagine
from ssr.learning.config import TrainConfig
from ssr.motion.frames import WINDOW
from ssr.networks.build import Networks
from ssr.networks.config import NetworkConfig
from ssr.networks.policy import PolicyNetwork
from ssr.robots.spec import RobotSpec
from ssr.task.transition import Observation
from ssr.terrain.settings import TERRAIN_TYPES


def network_config(config: TrainConfig) -> NetworkConfig:
    """The networks a run needs: as configured, with what the task and the ablation decide."""
    return NetworkConfig(
        **vars(config.network),
        equivariant=config.ablation.equivariant,
        history=config.task.history,
        image_size=(config.camera.height, config.camera.width),
        depth_range=(config.camera.near, config.camera.far),
        initial_std=config.schedule.initial_std,
        streams=tuple(config.stream_weights()),
        discriminators=1 if config.ablation.single_discriminator else len(TERRAIN_TYPES),
        amp_window=WINDOW,
    )


def imagines(config: TrainConfig) -> bool:
    """Whether a run learns to imagine footholds."""
    return not (config.ablation.no_foothold or config.ablation.no_imagination)


class SSRPolicy:
    def __init__(self, networks: Networks, *, imagines: bool) -> None:
        self.networks = networks.eval()
        self.network = networks.policy().eval()
        self.imagine: Imagine | None = networks.imagination if imagines else None

    def actor(self) -> SSRActor:
        return SSRActor(self.network)

    @torch.inference_mode()
    def decode(self, actor: Actor) -> Tensor:
        assert isinstance(actor, SSRActor)
        return self.networks.decoders.base(self.networks.encoder.latents(actor.hidden).base)

    def weights(self) -> dict[str, Tensor]:
        return self.networks.state_dict()


class SSRActor:
    """Encodes images only when a camera saw something new."""

    def __init__(self, network: PolicyNetwork) -> None:
        self.network = network

    def begin(self, worlds: int) -> None:
        self.hidden = self.network.initial_hidden(worlds)
        self.features: Tensor | None = None

    @torch.inference_mode()
    def act(self, observation: Observation) -> Tensor:
        if self.features is None or bool(observation.depth_fresh.any()):
            self.features = self.network.encoder.encode_images(observation.depth)
        action, self.hidden = self.network.step(observation.history, self.features, self.hidden)
        return action.clone()


def policy(config: TrainConfig, robot: RobotSpec, weights: Mapping[str, Tensor]) -> SSRPolicy:
    networks = Networks(robot, network_config(config))
    networks.load_state_dict(weights)
    return SSRPolicy(networks, imagines=imagines(config))
