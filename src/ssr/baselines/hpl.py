"""HPL: walking, an oracle that sees the ground's heights, and a student that learns from it what it sees.

A recipe has its three stages: A, uneven ground; B, all terrain, where feet in the cylinders along sharp edges
cost; C, as `hpl-student`, DAgger: the student acts, the oracle says what it would have done in the student's
states, and the student is drawn to that by the absolute difference.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ssr.baselines.edges import SharpEdges
from ssr.baselines.hpl_networks import NETWORKS, SEEN, HPLNetworks
from ssr.baselines.hpl_policy import OraclePolicy, StudentPolicy, policy_of
from ssr.baselines.on_policy import OF_PPO, OF_WALKING, STREAM, WEIGHTS, OnPolicy, explained, shipped
from ssr.baselines.recurrent_ppo import RecurrentPPO, minibatches_of_worlds
from ssr.errors import UserError
from ssr.learning.config import TrainConfig
from ssr.learning.optimizer import FlatAdam
from ssr.learning.ppo import prepare
from ssr.learning.ranks import Ranks
from ssr.motion.dataset import MotionDataset
from ssr.networks.gaussian import log_probability
from ssr.robots.spec import RobotSpec
from ssr.task.transition import Observation, Transition
from ssr.terrain.field import TerrainField

__all__ = ["HPL", "NETWORKS", "build", "measures", "policy", "scans", "sees", "shipped"]

STUDENT = "hpl-student"  #: the name of stage C among the algorithms
EDGE_WEIGHT = -4.0  #: of the penetration of edges
OF_THE_ORACLE, OF_THE_STUDENT = ("oracle", "estimator"), ("estimator", "eye", "student")


class HPL(OnPolicy):
    networks: HPLNetworks

    def __init__(
        self,
        robot: RobotSpec,
        num_envs: int,
        config: TrainConfig,
        field: TerrainField,
        ranks: Ranks,
        device: str = "cpu",
    ) -> None:
        networks = HPLNetworks(robot, config).to(device)
        self.distilling = sees(config)
        super().__init__(
            networks,
            robot=robot,
            num_envs=num_envs,
            config=config,
            observation_size=networks.observation_size,
            acting=OF_THE_STUDENT if self.distilling else OF_THE_ORACLE,
            images=self.distilling,
            ranks=ranks,
            device=device,
        )
        estimating, acting = networks.hidden_sizes
        zeros = lambda *shape: torch.zeros(*shape, device=device)
        #: of estimator, oracle and student, now and before the rollout
        self.memory = {"estimator": zeros(num_envs, estimating), "oracle": zeros(num_envs, acting)}
        self.memory["student"] = zeros(num_envs, acting)
        self.before = {name: memory.clone() for name, memory in self.memory.items()}
        self.seen = zeros(num_envs, SEEN)  #: by the student, in the newest image
        self.labels = zeros(config.ppo.steps, num_envs, len(robot.joints))  #: what the oracle would have done
        self.edges = SharpEdges(field, robot.sole)
        self._known = False  #: the edges of all worlds are
        self.ppo = RecurrentPPO(
            networks.oracle,
            networks.critics,
            self.rollout,
            lambda: self.before["oracle"],
            streams=(STREAM,),
            config=config.ppo,
            optimizer=config.optimizer,
            ranks=ranks,
        )
        rate, most = config.encoder.learning_rate, config.optimizer.max_gradient_norm
        made = lambda *names: FlatAdam(
            {name: getattr(networks, name) for name in names},
            learning_rate=rate, max_gradient_norm=most, ranks=ranks,
        )  # fmt: skip
        self.estimation, self.distillation = made("estimator"), made("eye", "student")

    def optimizers(self) -> dict[str, FlatAdam]:
        return {"ppo": self.ppo.optimizer, "estimator": self.estimation, "student": self.distillation}

    def freeze(self, networks: Collection[str]) -> None:
        super().freeze(networks)
        if "oracle" in networks:
            self.ppo.optimizer.frozen |= {"actor"}

    def memories(self) -> dict[str, Tensor]:
        return {**self.memory, "seen": self.seen}

    @property
    def std(self) -> Tensor:
        return self.networks.oracle.std

    # ---- acting --------------------------------------------------------------------------------------------

    def choose(self, observation: Observation) -> Tensor:
        t, rollout, networks = self.t, self.rollout, self.networks
        if t == 0 and self.distilling:
            self._take_over()
        changed = self.restarted if self._known else torch.ones_like(self.restarted)
        self.edges.find(changed.nonzero().squeeze(1))
        self._known = True
        alive = (~self.restarted).unsqueeze(-1)
        for name, memory in self.memory.items():
            memory.mul_(alive)
            if t == 0:
                self.before[name].copy_(memory)
        frame = observation.history[:, -1]
        velocity, self.memory["estimator"] = networks.estimator.step(frame, self.memory["estimator"])
        rollout.actor[t] = torch.cat((frame, velocity, observation.scan), -1)
        seen = networks.oracle.look(rollout.actor[t])
        mean, self.memory["oracle"] = networks.oracle.step(seen, self.memory["oracle"])
        if self.distilling:
            self.labels[t] = mean
            return self._student_acts(observation, torch.cat((frame, velocity), -1))
        action = mean + self.std * torch.randn_like(mean)
        rollout.mean[t], rollout.action[t] = mean, action
        rollout.log_prob[t] = log_probability(action, mean, self.std)
        return action

    def _take_over(self) -> None:
        """The student's first rollout begins with the oracle's weights, and its average with them."""
        if not bool(self.networks.taught):
            self.networks.teach()
            if self.average is not None:
                self.average.restart()

    def _student_acts(self, observation: Observation, state: Tensor) -> Tensor:
        """What the student does, without noise: its own mistakes lead it where it must learn."""
        fresh = torch.ones_like(self.restarted) if self.t == 0 else observation.depth_fresh | self.restarted
        if bool(fresh.any()):
            self.seen[fresh] = self.networks.eye(observation.depth[fresh])
        action, self.memory["student"] = self.networks.student.step(
            torch.cat((state, self.seen), -1), self.memory["student"]
        )
        self.rollout.mean[self.t] = self.rollout.action[self.t] = action
        return action

    def earned(self, transition: Transition) -> Tensor:
        """r^l · dt less what edges cost; like r^l never negative."""
        feet = transition.feet
        depth = self.edges.penetration(feet.position, feet.yaw)
        self.statistics.tally.add("hpl/edge_penetration", depth.sum(), float(len(depth)))
        total = torch.stack(list(transition.terms.values())).sum(0) + EDGE_WEIGHT * depth
        paid = self.config.task.control_period * total.clamp_min(0.0)
        return torch.where((depth > 0) & transition.valid, paid, transition.reward)

    # ---- learning ------------------------------------------------------------------------------------------

    def learn(self, std: Tensor) -> dict[str, float]:
        metrics: dict[str, float] = {}
        with self.stopwatch("ppo"):
            if not self.distilling and not self.ppo.optimizer.idle:
                batch = prepare(
                    self.rollout,
                    self.last_privileged,
                    self.networks.critics,
                    weights=WEIGHTS,
                    config=self.config.ppo,
                    mirror=None,
                    ranks=self.ranks,
                )
                metrics |= self.ppo.update(batch, std, self.schedule)
        with self.stopwatch("encoder"):
            if self.distilling and not self.distillation.idle:
                metrics["hpl/imitation"] = self._learn(self.distillation, self._imitation)
            if not self.estimation.idle:
                metrics["hpl/velocity"] = self._learn(self.estimation, self._estimation)
        return metrics

    def _learn(self, optimizer: FlatAdam, loss_of: Callable[[Tensor], Tensor]) -> float:
        """Some epochs over minibatches of whole worlds; the mean loss."""
        config, total = self.config.encoder, torch.zeros(1, device=optimizer.extras.device)
        for _ in range(config.epochs):
            for worlds in minibatches_of_worlds(self.rollout, config.minibatches):
                loss = loss_of(worlds)
                optimizer.extras[0] = loss.detach()
                optimizer.backward(loss)
                total += optimizer.extras[:1]
                optimizer.step()
        return optimizer.settle(total / (config.epochs * config.minibatches))[0]

    def _estimation(self, worlds: Tensor) -> Tensor:
        """Squared error of the estimated velocity."""
        rollout, frame = self.rollout, self.networks.frame
        said = self.networks.estimator.sequence(
            rollout.actor[:, worlds, :frame], self.before["estimator"][worlds], rollout.restarted[:, worlds]
        )
        true = self.vectors.privileged.get(rollout.privileged[:, worlds], "base_velocity")
        return _mean(F.mse_loss(said, true, reduction="none"), rollout.valid[:, worlds])

    def _imitation(self, worlds: Tensor) -> Tensor:
        """L1 between what the student would do along its own way and what the oracle would have done."""
        rollout, networks = self.rollout, self.networks
        images, index = rollout.camera.of(worlds)
        state = rollout.actor[:, worlds, : networks.frame + 3]
        seen = torch.cat((state, networks.eye(images)[index]), -1)
        means = networks.student.sequence(seen, self.before["student"][worlds], rollout.restarted[:, worlds])
        return _mean((means - self.labels[:, worlds]).abs(), rollout.valid[:, worlds])

    def policy(self) -> OraclePolicy | StudentPolicy:
        networks = self.to_ship()
        assert isinstance(networks, HPLNetworks)
        return policy_of(networks)


def _mean(error: Tensor, valid: Tensor) -> Tensor:
    """Over the entries (T, m, k) of valid steps (T, m)."""
    weight = valid.float()
    return (error.mean(-1) * weight).sum() / weight.sum().clamp_min(1.0)


def sees(config: TrainConfig) -> bool:
    return config.algorithm == STUDENT


def scans(config: TrainConfig) -> bool:
    return True


def measures(config: TrainConfig | None = None) -> Mapping[str, str]:
    own = {
        "hpl/velocity": "squared error of the estimated velocity, in its scale",
        "hpl/edge_penetration": "how deep feet are in the cylinders along sharp edges, 0 to 1",
    }
    imitation = {"hpl/imitation": "L1 between the student's and the oracle's actions"}
    if config is None:
        return explained(*OF_WALKING, *OF_PPO) | own | imitation
    return (explained(*OF_WALKING) | imitation if sees(config) else explained(*OF_WALKING, *OF_PPO)) | own


def build(
    *,
    config: TrainConfig,
    robot: RobotSpec,
    num_envs: int,
    field: TerrainField,
    motion: Callable[[], MotionDataset],
    ranks: Ranks,
    device: str,
) -> HPL:
    if num_envs < max(config.ppo.minibatches, config.encoder.minibatches):
        raise UserError(
            f"{num_envs} worlds on a rank: hpl learns from whole worlds, give one for each of its "
            f"{max(config.ppo.minibatches, config.encoder.minibatches)} minibatches."
        )
    return HPL(robot, num_envs, config, field, ranks, device)


def policy(config: TrainConfig, robot: RobotSpec, weights: Mapping[str, Any]) -> OraclePolicy | StudentPolicy:
    networks = HPLNetworks(robot, config)
    networks.load_state_dict(dict(weights))
    return policy_of(networks)
