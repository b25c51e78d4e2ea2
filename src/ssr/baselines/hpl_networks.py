"""HPL's networks: an oracle that walks by a height map, and a student that walks by its camera.

    o^p (72) ── GRU ── v̂ (3), the estimator ──┐
    o^p, v̂ (75) ──────────────────────────────┤
    oracle:  scan (209) ── MLP [128, 64] ─ 32 ┼─ GRU (256) ── MLP [512, 256, 128] ── action
    student: depth ─────── CNN ─────────── 32 ┘

The student's GRU and actor begin as the oracle's: with the oracle's 32 numbers it acts exactly as the oracle.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ssr.baselines.on_policy import widths
from ssr.learning.config import TrainConfig
from ssr.networks.actor import PlainActor
from ssr.networks.critics import Critics
from ssr.networks.depth import normalise_depth
from ssr.networks.gru import GRU
from ssr.networks.mlp import mlp
from ssr.robots.spec import RobotSpec
from ssr.symmetry.vectors import layouts
from ssr.vision.scan import SCAN_SIZE

NETWORKS = ("oracle", "estimator", "critics", "eye", "student")
SEEN = 32  #: numbers that say what the ground is like
MAP_HIDDEN = (128, 64)
CHANNELS, KERNELS = (16, 32, 32), (5, 4, 3)


class RecurrentActor(PlainActor):
    """o^p, v̂ and what is seen of the ground (n, 75 + 32) → GRU → MLP → mean action (n, A)."""

    def __init__(self, state: int, memory: int, hidden: tuple[int, ...], actions: int, std: float) -> None:
        super().__init__(memory, hidden, actions, std)
        self.memory = GRU(state + SEEN, memory, equivariant=False)

    def step(self, seen: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """One control step: seen (n, 107), hidden (n, H) → mean action and next hidden."""
        hidden = self.memory.step(seen, hidden)
        return self(hidden), hidden

    def sequence(self, seen: Tensor, hidden: Tensor, resets: Tensor) -> Tensor:
        """Mean actions (T, m, A) of T steps (T, m, 107); resets (T, m): the step begins an episode."""
        return self(self.memory.sequence(seen, hidden, resets))


class Oracle(RecurrentActor):
    """Likewise of o^p, v̂ and the scan (n, 75 + 209)."""

    def __init__(self, state: int, memory: int, hidden: tuple[int, ...], actions: int, std: float) -> None:
        super().__init__(state, memory, hidden, actions, std)
        self.state, self.map = state, mlp(SCAN_SIZE, MAP_HIDDEN, SEEN)

    def look(self, observation: Tensor) -> Tensor:
        """o^p, v̂ and the scan in 32 numbers."""
        state, scan = observation.split((self.state, SCAN_SIZE), -1)
        return torch.cat((state, self.map(scan)), -1)


class Estimator(nn.Module):
    """o^p (n, 72) → v̂ (n, 3), in the scale of its segment, by a memory of its own."""

    def __init__(self, frame: int, memory: int) -> None:
        super().__init__()
        self.memory, self.head = GRU(frame, memory, equivariant=False), nn.Linear(memory, 3)

    def step(self, frame: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.memory.step(frame, hidden)
        return self.head(hidden), hidden

    def sequence(self, frames: Tensor, hidden: Tensor, resets: Tensor) -> Tensor:
        """(T, m, 3)"""
        return self.head(self.memory.sequence(frames, hidden, resets))


class GroundEye(nn.Module):
    """Depth (n, rows, columns) in metres → what is seen of the ground (n, 32)."""

    def __init__(self, image: tuple[int, int], depth_range: tuple[float, float]) -> None:
        super().__init__()
        self.depth_range = depth_range
        layers: list[nn.Module] = []
        sides, before = list(image), 1
        for after, kernel in zip(CHANNELS, KERNELS, strict=True):
            layers += [nn.Conv2d(before, after, kernel), nn.ELU(), nn.MaxPool2d(2)]
            sides, before = [(side - kernel + 1) // 2 for side in sides], after
        self.layers = nn.Sequential(*layers, nn.Flatten(), nn.Linear(before * sides[0] * sides[1], SEEN))

    def forward(self, depth: Tensor) -> Tensor:
        return self.layers(normalise_depth(depth, self.depth_range).unsqueeze(1))


class HPLNetworks(nn.Module):
    taught: Tensor

    def __init__(self, robot: RobotSpec, config: TrainConfig) -> None:
        super().__init__()
        sizes, vectors = widths(config), layouts(robot)
        self.frame, actions = vectors.proprioception.size, vectors.action.size
        state, memory = self.frame + 3, sizes.gru_hidden
        shape = (state, memory, sizes.expert_hidden, actions, sizes.initial_std)
        self.observation_size = state + SCAN_SIZE
        self.oracle, self.student = Oracle(*shape), RecurrentActor(*shape)
        self.estimator = Estimator(self.frame, memory // 2)
        self.critics = Critics(vectors.privileged.size, sizes)
        self.eye = GroundEye(sizes.image_size, sizes.depth_range)
        self.register_buffer("taught", torch.zeros(()))  #: 1 once the student has taken over

    @property
    def hidden_sizes(self) -> tuple[int, int]:
        """Of the estimator's and of an actor's memory."""
        return self.estimator.memory.hidden, self.student.memory.hidden

    @torch.no_grad()
    def teach(self) -> None:
        """The student begins as the oracle: its GRU and its actor are copied in. Once."""
        if not bool(self.taught):
            for name, value in self.student.state_dict().items():
                value.copy_(self.oracle.state_dict()[name])
            self.taught.fill_(1.0)


class StudentNetwork(nn.Module):
    """The student as a robot runs it."""

    inputs = ("proprioception_history", "depth", "hidden")
    outputs = ("action", "next_hidden")

    def __init__(self, networks: HPLNetworks) -> None:
        super().__init__()
        self.estimator, self.eye, self.student = networks.estimator, networks.eye, networks.student
        self.sizes = list(networks.hidden_sizes)

    @property
    def hidden_size(self) -> int:
        return sum(self.sizes)

    def forward(self, proprioception_history: Tensor, depth: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        return self.step(proprioception_history, self.eye(depth), hidden)

    def step(self, history: Tensor, seen: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """As `forward`, with images already looked at (n, 32): a camera is slower than control."""
        frame, (estimating, acting) = history[..., -1, :], hidden.split(self.sizes, -1)
        velocity, estimating = self.estimator.step(frame, estimating)
        action, acting = self.student.step(torch.cat((frame, velocity, seen), -1), acting)
        return action, torch.cat((estimating, acting), -1)

    def initial_hidden(self, count: int) -> Tensor:
        return next(self.parameters()).new_zeros(count, self.hidden_size)
