"""All networks of one robot, from its layouts and one configuration."""

from __future__ import annotations

from typing import Protocol

from torch import nn

from ssr.networks.actor import MoEActor
from ssr.networks.config import NetworkConfig
from ssr.networks.critics import Critics
from ssr.networks.decoders import Decoders
from ssr.networks.depth import Outlook
from ssr.networks.discriminators import Discriminators
from ssr.networks.encoder import CrossModalEncoder
from ssr.networks.estimator import VelocityEstimator
from ssr.networks.imagination import FootholdImagination
from ssr.networks.policy import PolicyNetwork
from ssr.symmetry.vectors import Jointed, layouts

NETWORKS = ("encoder", "decoders", "estimator", "actor", "critics", "discriminators", "imagination")


class Mount(Protocol):
    @property
    def position(self) -> tuple[float, float, float]: ...
    @property
    def pitch(self) -> float: ...


class Seeing(Jointed, Protocol):
    """What networks need of a robot; `ssr.robots.spec.RobotSpec` has it."""

    @property
    def camera(self) -> Mount: ...
    @property
    def standing_height(self) -> float: ...


class Networks(nn.Module):
    """Seven networks that share nothing but sizes; a parameter's name begins with its network's."""

    def __init__(self, robot: Seeing, config: NetworkConfig) -> None:
        super().__init__()
        vectors = layouts(robot, config.latent)
        self.config, self.layouts = config, vectors
        state, actions = vectors.privileged.size, vectors.action.size
        outlook = None
        if config.heights:
            height = robot.standing_height + robot.camera.position[2]
            outlook = Outlook(height, robot.camera.pitch, config.vertical_view)
        self.encoder = CrossModalEncoder(vectors.proprioception, robot.joint_names, config, outlook)
        self.decoders = Decoders(vectors, config)
        self.estimator = VelocityEstimator(vectors.proprioception, config)
        averaged = config.mirror_averaged
        self.actor = MoEActor(
            vectors.actor.size, actions, config, (vectors.actor, vectors.action) if averaged else None
        )
        self.critics = Critics(state, config, vectors.privileged if averaged else None)
        self.discriminators = Discriminators(vectors.amp.size, config)
        self.imagination = FootholdImagination(state, actions, config)

    def policy(self) -> PolicyNetwork:
        """The acting part, sharing its weights with these networks."""
        return PolicyNetwork(self.encoder, self.estimator, self.actor)

    def parameter_counts(self) -> dict[str, int]:
        """Free parameters per network."""
        return {name: sum(p.numel() for p in part.parameters()) for name, part in self.named_children()}
