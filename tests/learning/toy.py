"""A walker without a body: two actions push a point, its feet step by the clock. The task's interface."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
from torch import Tensor

from ssr.robots import load
from ssr.symmetry.layout import Layout
from ssr.symmetry.vectors import layouts
from ssr.task.transition import Feet, Observation, Transition
from ssr.terrain.field import TerrainField
from ssr.terrain.making import TILE_POOL, make_tile

SWING = 8  #: control steps each foot is in the air, in turn


def vector(layout: Layout, parts: Mapping[str, Tensor]) -> Tensor:
    """Raw SI quantities (n, ...) by segment name → (n, size), scaled."""
    return torch.cat(
        [parts[s.name].flatten(1) * torch.as_tensor(s.scale, dtype=torch.float32) for s in layout], dim=1
    )


class ToyWalker:
    """Reward exp(-‖v - command‖²): copying the command into the first two actions earns all of it."""

    def __init__(
        self, num_envs: int = 8, seed: int = 0, history: int = 5, episode: int = 60, camera: int = 5
    ):
        self.robot = load("x2")
        self.num_envs, self.history_length, self.episode, self.camera = num_envs, history, episode, camera
        self.layouts = layouts(self.robot)
        self.generator = torch.Generator().manual_seed(seed)
        self.field = TerrainField(num_envs, TILE_POOL)
        kinds = ("flat", "stairs_up", "discrete", "gap", "platform")
        rng = np.random.default_rng(seed)
        tiles = [make_tile(kinds[i % 5], level=10, rng=rng) for i in range(num_envs)]
        self.field.place(torch.arange(num_envs), tiles)
        self.levels = torch.full((num_envs,), 10)
        self.engine, self.overflows, self.device = "mujoco", 0, torch.device("cpu")
        self.reached_top = torch.zeros(num_envs, dtype=torch.bool)
        self.proprioception = partial(vector, self.layouts.proprioception)
        self.privileged = partial(vector, self.layouts.privileged)
        self.amp = partial(vector, self.layouts.amp)
        n, joints = num_envs, len(self.robot.joints)
        self.velocity, self.position = torch.zeros(n, 2), torch.zeros(n, 2)
        self.yaw = torch.zeros(n)
        self.command = torch.zeros(n, 2)
        self.action = torch.zeros(n, joints)
        self.steps = torch.zeros(n, dtype=torch.long)
        self.feet_position = torch.zeros(n, 2, 2)
        self.history = torch.zeros(n, history, self.layouts.proprioception.size)
        self.poisoned: Tensor | None = None
        self.bootstrap, self.ramp = 0.0, 1.0
        self.now = 0

    def set_bootstrap(self, value: float) -> None:
        self.bootstrap = value

    def set_ramp(self, value: float) -> None:
        self.ramp = value

    def rand(self, *shape: int) -> Tensor:
        return torch.rand(*shape, generator=self.generator)

    def facts(self) -> dict[str, Tensor]:
        n = self.num_envs
        zero = lambda *shape: torch.zeros(n, *shape)
        column = lambda x: torch.cat((x, torch.zeros(n, 1)), -1)
        return {
            "angular_velocity": zero(3),
            "gravity": torch.tensor([0.0, 0.0, -1.0]).repeat(n, 1),
            "command": column(self.command),
            "joint_position": zero(len(self.robot.joints)),
            "joint_velocity": zero(len(self.robot.joints)),
            "previous_action": self.action,
            "base_velocity": column(self.velocity),
            "foot_velocity": zero(6),
            "foot_contact": self.contact.float(),
            "hand_position": zero(6),
            "foot_position": zero(6),
            "base_height_map": zero(180),
            "foot_height_maps": zero(100),
        }

    @property
    def contact(self) -> Tensor:
        """(n, 2): the feet swing in turn, `SWING` steps each, two steps of double support between."""
        phase = self.steps % (2 * SWING + 4)
        return torch.stack((phase >= SWING, (phase < SWING + 2) | (phase >= 2 * SWING + 2)), -1)

    def reset(self) -> Observation:
        return self.restart(torch.ones(self.num_envs, dtype=torch.bool))

    def step(self, action: Tensor) -> Transition:
        self.action = action.clone()
        before = self.contact
        self.velocity = 0.7 * self.velocity + 0.3 * action[:, :2]
        if self.poisoned is not None:
            self.velocity[self.poisoned] = torch.nan
            self.poisoned = None
        self.position = self.position + 0.02 * self.velocity
        self.yaw = self.yaw + 0.005
        self.steps = self.steps + 1
        self.now += 1
        landed = self.contact & ~before
        spread = torch.tensor([[0.0, -0.1], [0.0, 0.1]])
        ahead = self.position.unsqueeze(1) + spread + 0.1 * self.velocity.unsqueeze(1)
        self.feet_position = torch.where(landed.unsqueeze(-1), ahead, self.feet_position)
        valid = self.velocity.isfinite().all(-1)
        reward = torch.exp(-(self.velocity - self.command).square().sum(-1))
        facts = self.facts()
        up = self.contact.float() * 200.0
        return Transition(
            reward=0.02 * torch.where(valid, reward, 0.0),
            terms={"linear_velocity_tracking": reward},
            terminated=~valid,
            truncated=self.steps >= self.episode,
            valid=valid,
            privileged=self.privileged(facts),
            proprioception=self.proprioception(facts),
            amp_frame=self.amp(facts),
            feet=Feet(
                contact=self.contact,
                force=torch.stack((0.1 * up, 0.1 * up, up), -1),
                position=torch.cat((self.feet_position, torch.zeros(self.num_envs, 2, 1)), -1),
                yaw=torch.zeros(self.num_envs, 2),
                touchdown=landed,
            ),
            base_position=torch.cat((self.position, torch.full((self.num_envs, 1), 0.7)), -1),
            base_yaw=self.yaw,
            terrain_type=self.field.type.clone(),
            level=self.levels.clone(),
            among=torch.ones(self.num_envs, dtype=torch.bool),
            omnidirectional=torch.zeros(self.num_envs, dtype=torch.bool),
            power=torch.zeros(self.num_envs),
        )

    def restart(self, ended: Tensor) -> Observation:
        command = 2.0 * self.rand(self.num_envs, 2) - 1.0
        column = ended.unsqueeze(-1)
        self.command = torch.where(column, command, self.command)
        for name in ("velocity", "position", "action"):
            setattr(self, name, torch.where(column, 0.0, getattr(self, name)))
        self.yaw = torch.where(ended, 0.0, self.yaw)
        self.steps = torch.where(ended, 0, self.steps)
        facts = self.facts()
        frame = self.proprioception(facts) + 0.01 * self.rand(self.num_envs, self.history.shape[-1])
        self.history = torch.cat((self.history[:, 1:], frame.unsqueeze(1)), 1)
        self.history = torch.where(column.unsqueeze(-1), frame.unsqueeze(1), self.history)
        due = (torch.arange(self.num_envs) + self.now) % self.camera == 0
        self._fresh = due | ended
        image = 0.5 + self.rand(self.num_envs, 36, 36)
        self._depth = (
            image
            if not hasattr(self, "_depth")
            else torch.where(self._fresh.view(-1, 1, 1), image, self._depth)
        )
        return self.observation()

    def observation(self) -> Observation:
        return Observation(
            history=self.history.clone(),
            depth=self._depth.clone(),
            depth_fresh=self._fresh.clone(),
            privileged=self.privileged(self.facts()),
        )

    TENSORS = (
        "velocity",
        "position",
        "yaw",
        "command",
        "action",
        "steps",
        "feet_position",
        "history",
        "levels",
    )

    def state_dict(self) -> dict[str, object]:
        state: dict[str, object] = {name: getattr(self, name).clone() for name in self.TENSORS}
        return state | {
            "now": self.now,
            "depth": self._depth.clone(),
            "fresh": self._fresh.clone(),
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, state: dict[str, object]) -> None:
        for name in self.TENSORS:
            setattr(self, name, state[name].clone())
        self.now, self._depth, self._fresh = state["now"], state["depth"].clone(), state["fresh"].clone()
        self.generator.set_state(state["generator"])


class ToyMotion:
    """Reference windows of the toy: the velocity follows a constant, everything else is at rest."""

    def __init__(self, frame: int = 63) -> None:
        self.frame = frame

    def on(self, device: torch.device) -> ToyMotion:
        return self

    def amp_windows(self, terrain_type: str, count: int, generator: torch.Generator) -> Tensor:
        windows = torch.zeros(count, 5, self.frame, device=generator.device)
        windows[..., 2] = -1.0
        chance = torch.rand(count, 1, 2, generator=generator, device=generator.device)
        windows[..., 3:5] = chance * 2.0 - 1.0
        return windows
