"""HPL outside training: the student once it has taken over, the oracle before."""

from __future__ import annotations

import torch
from torch import Tensor

from ssr.baselines.hpl_networks import HPLNetworks, StudentNetwork
from ssr.errors import UserError
from ssr.learning.algorithm import PolicyModule
from ssr.task.transition import Observation


class _Shipped:
    imagine = None
    decode = None
    style_judge = None

    def __init__(self, networks: HPLNetworks) -> None:
        self.networks = networks.eval()

    def weights(self) -> dict[str, Tensor]:
        return self.networks.state_dict()


class OracleActor:
    def __init__(self, networks: HPLNetworks) -> None:
        self.networks = networks

    def begin(self, worlds: int) -> None:
        self.memory = [torch.zeros(worlds, size) for size in self.networks.hidden_sizes]

    @torch.inference_mode()
    def act(self, observation: Observation) -> Tensor:
        networks, frame = self.networks, observation.history[:, -1]
        velocity, self.memory[0] = networks.estimator.step(frame, self.memory[0])
        seen = networks.oracle.look(torch.cat((frame, velocity, observation.scan), -1))
        action, self.memory[1] = networks.oracle.step(seen, self.memory[1])
        return action.clone()


class OraclePolicy(_Shipped):
    @property
    def network(self) -> PolicyModule:
        raise UserError(
            "This is HPL's oracle, which walks by a map of true heights: only its student can be exported. "
            "Let the recipe go on to its last stage."
        )

    def actor(self) -> OracleActor:
        return OracleActor(self.networks)


class StudentActor:
    """Looks at images only when a camera saw something new."""

    def __init__(self, network: StudentNetwork) -> None:
        self.network = network

    def begin(self, worlds: int) -> None:
        self.hidden = self.network.initial_hidden(worlds)
        self.seen: Tensor | None = None

    @torch.inference_mode()
    def act(self, observation: Observation) -> Tensor:
        if self.seen is None or bool(observation.depth_fresh.any()):
            self.seen = self.network.eye(observation.depth)
        action, self.hidden = self.network.step(observation.history, self.seen, self.hidden)
        return action.clone()


class StudentPolicy(_Shipped):
    def __init__(self, networks: HPLNetworks) -> None:
        super().__init__(networks)
        self.network: PolicyModule = StudentNetwork(networks).eval()

    def actor(self) -> StudentActor:
        assert isinstance(self.network, StudentNetwork)
        return StudentActor(self.network)


def policy_of(networks: HPLNetworks) -> OraclePolicy | StudentPolicy:
    return StudentPolicy(networks) if bool(networks.taught) else OraclePolicy(networks)
