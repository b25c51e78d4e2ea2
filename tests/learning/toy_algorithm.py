"""A learner that is not SSR: it changes its weights at random and keeps what earned more."""

from __future__ import annotations

from copy import deepcopy
from math import inf

import torch
from torch import nn

from ssr.errors import unknown
from ssr.learning.stopwatch import Stopwatch
from ssr.symmetry.vectors import layouts

NETWORKS = ("reflex",)


def sees(config):
    return True


def scans(config):
    return False


def measures(config=None):
    return {}


class Reflex(nn.Module):
    """Action = a matrix times the newest frame, the mean depth and a slow memory of two actions."""

    inputs, outputs, hidden_size = ("frames", "image", "memory"), ("action", "next_memory"), 2

    def __init__(self, robot):
        super().__init__()
        vectors = layouts(robot)
        self.reflex = nn.Linear(vectors.proprioception.size + 1 + self.hidden_size, vectors.action.size)
        nn.init.zeros_(self.reflex.weight)

    def forward(self, history, depth, hidden):
        seen = torch.cat((history[:, -1], depth.mean((1, 2)).unsqueeze(-1), hidden), -1)
        action = 0.1 * self.reflex(seen)
        return action, 0.9 * hidden + 0.1 * action[:, : self.hidden_size]

    def initial_hidden(self, count):
        return torch.zeros(count, self.hidden_size)


class ReflexActor:
    def __init__(self, network):
        self.network = network

    def begin(self, worlds):
        self.hidden = self.network.initial_hidden(worlds)

    @torch.no_grad()
    def act(self, observation):
        action, self.hidden = self.network(observation.history, observation.depth, self.hidden)
        return action


class ReflexPolicy:
    imagine = None
    decode = None
    style_judge = None

    def __init__(self, network):
        self.network = network

    def actor(self):
        return ReflexActor(self.network)

    def weights(self):
        return self.network.state_dict()


class HillClimber:
    steps, bootstrap, ramp = 8, 0.0, 1.0

    def __init__(self, robot, num_envs):
        self.stopwatch = Stopwatch()
        self.network = Reflex(robot)
        self.best = {k: v.clone() for k, v in self.network.state_dict().items()}
        self.most, self.earned, self.frozen = -inf, 0.0, False
        self.actor = ReflexActor(self.network)
        self.actor.begin(num_envs)

    def act(self, observation):
        return self.actor.act(observation)

    def observe(self, transition):
        self.earned += float(transition.reward.mean())
        self.actor.hidden = self.actor.hidden * (~transition.ended).unsqueeze(-1)

    def update(self, progress):
        if self.earned > self.most:
            self.most = self.earned
            self.best = {k: v.clone() for k, v in self.network.state_dict().items()}
        metrics = {"earned": self.earned, "most": self.most, "progress": progress}
        change = 0.0 if self.frozen else 0.1
        self.network.load_state_dict({k: v + change * torch.randn_like(v) for k, v in self.best.items()})
        self.earned = 0.0
        return metrics

    def policy(self):
        network = deepcopy(self.network)
        network.load_state_dict(self.best)
        return ReflexPolicy(network)

    def freeze(self, networks):
        for name in networks:
            if name not in NETWORKS:
                raise unknown("network to freeze", name, NETWORKS)
        self.frozen = bool(networks)

    def tensors(self):
        yield from self.network.state_dict().items()

    def small_state(self):
        return {"best": self.best, "most": self.most}

    def load_small_state(self, state, *, moments=True):
        self.network.load_state_dict(state["best"])
        self.best, self.most = dict(state["best"]), state["most"] if moments else -inf

    def state_dict(self):
        return self.small_state() | {
            "network": self.network.state_dict(),
            "hidden": self.actor.hidden,
            "random": torch.get_rng_state(),
        }

    def load_state_dict(self, state):
        self.load_small_state(state)
        self.network.load_state_dict(state["network"])
        self.actor.hidden = state["hidden"]
        torch.set_rng_state(state["random"])


def build(*, config, robot, num_envs, field, motion, ranks, device):
    return HillClimber(robot, num_envs)


def policy(config, robot, weights):
    network = Reflex(robot)
    network.load_state_dict(weights)
    return ReflexPolicy(network)


def shipped(state):
    return state["best"]
