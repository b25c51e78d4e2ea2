"""SSR's policy outside training: encoder, estimator and actor, and the imagination that guided them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ssr.learning.algorithm import Actor, Imagine
from ssr.learning.config import TrainConfig
from ssr.learning.moments import RunningNormalizer
from ssr.learning.style import NORMALIZER_CLIP
from ssr.learning.style_judge import OwnDiscriminators
from ssr.motion.frames import WINDOW
from ssr.networks.assembly import assemble
from ssr.networks.build import Networks
from ssr.networks.config import NetworkConfig
from ssr.networks.policy import PolicyNetwork
from ssr.robots.spec import RobotSpec
from ssr.task.transition import Observation
from ssr.terrain.settings import TERRAIN_TYPES

NORMALIZER = "normalizer."  #: how the names of the style normaliser's numbers begin among the weights


def network_config(config: TrainConfig) -> NetworkConfig:
    """The networks a run needs: as configured, with what the task and the ablation decide."""
    return NetworkConfig(
        **vars(config.network),
        equivariant=config.ablation.equivariant,
        history=config.task.history,
        image_size=(config.camera.height, config.camera.width),
        depth_range=(config.camera.near, config.camera.far),
        vertical_view=config.camera.fov[1],
        initial_std=config.schedule.initial_std,
        streams=tuple(config.stream_weights()),
        discriminators=1 if config.ablation.single_discriminator else len(TERRAIN_TYPES),
        amp_window=WINDOW,
    )


def imagines(config: TrainConfig) -> bool:
    """Whether a run learns to imagine footholds."""
    return not (config.ablation.no_foothold or config.ablation.no_imagination)


class SSRPolicy:
    def __init__(
        self, networks: Networks, *, imagines: bool, style_judge: OwnDiscriminators | None = None
    ) -> None:
        self.networks, self.style_judge = networks.eval(), style_judge
        self.network = networks.policy().eval()
        self.imagine: Imagine | None = networks.imagination if imagines else None

    def actor(self) -> SSRActor:
        return SSRActor(self.network)

    @torch.inference_mode()
    def decode(self, actor: Actor) -> Tensor:
        assert isinstance(actor, SSRActor)
        return self.networks.decoders.base(self.networks.encoder.latents(actor.hidden).base)

    def weights(self) -> dict[str, Tensor]:
        judge = self.style_judge
        normalizer = {} if judge is None else judge.normalizer.state_dict(prefix=NORMALIZER)
        return self.networks.state_dict() | normalizer


class SSRActor:
    """Encodes images only when a camera saw something new; its weights stand still from `begin` on."""

    def __init__(self, network: PolicyNetwork) -> None:
        self.network = network

    def begin(self, worlds: int) -> None:
        assemble(self.network.encoder)
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
    kept = {name: value for name, value in weights.items() if name.startswith(NORMALIZER)}
    networks.load_state_dict({name: value for name, value in weights.items() if name not in kept})
    normalizer = {name.removeprefix(NORMALIZER): value for name, value in kept.items()}
    return policy_of(networks, config, normalizer or None)


def policy_of(
    networks: Networks, config: TrainConfig, normalizer: Mapping[str, Tensor] | None = None
) -> SSRPolicy:
    """normalizer: the state of that of style; without it nobody can say what was paid."""
    judge = None
    if normalizer is not None:
        scale = RunningNormalizer(networks.layouts.amp.size, NORMALIZER_CLIP)
        scale.load_state_dict(normalizer)
        judge = OwnDiscriminators(networks.discriminators, scale, config.style.stride)
    return SSRPolicy(networks, imagines=imagines(config), style_judge=judge)


def shipped(state: Mapping[str, Any]) -> dict[str, Tensor]:
    """The weights of the policy within a small state: averaged ones where there are any."""
    normalizer = {NORMALIZER + name: value for name, value in state.get("normalizer", {}).items()}
    return state["networks"] | state.get("average", {}).get("weights", {}) | normalizer
