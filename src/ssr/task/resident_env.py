"""`ResidentEnv`: the task on the device that simulates. Nothing of a step or a restart goes to the host.

The rules are those of `TraversalEnv`. What differs is how worlds are named: by masks, since the host does not
know how many end; whatever restarts need is drawn for all worlds and taken by those that do.
Tiles come from a bank on the device and dynamics from a reserve that is drawn with every `set_ramp`, which
training calls once an iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ssr import chance
from ssr.errors import UserError
from ssr.physics.readout import Reading
from ssr.physics.simulator import Dynamics, ResetPose
from ssr.physics.world import PhysicsConfig
from ssr.task import starts
from ssr.task.env import TraversalEnv
from ssr.task.fitting import CANDIDATES, fit
from ssr.task.frames import to_yaw
from ssr.task.observations import remember
from ssr.task.randomization import PUSH_INTERVAL, draw_dynamics
from ssr.task.rewards import Limits
from ssr.task.tiles import VARIANTS, TileBank
from ssr.task.transition import Observation
from ssr.terrain.field import TerrainField
from ssr.terrain.settings import LEVELS
from ssr.terrain.tile import LooseBox
from ssr.vision.heightmap import CLIP
from ssr.vision.mounting import constant
from ssr.vision.scan import SCALE, scan_offsets


class ResidentEnv(TraversalEnv):
    """n robots whose worlds, task and camera live on one device."""

    simulator: Any  #: a `ResidentSimulator`, whose worlds are named by masks

    def __init__(self, *args: Any, device: torch.device | str = "cpu", **kwargs: Any) -> None:
        self.at = torch.device(device)
        super().__init__(*args, device=str(device), **kwargs)
        if not isinstance(self.bank, TileBank) or len(self.loose):
            raise UserError("A task on the device takes its tiles from a bank, without loose bodies.")
        tiles = list(chain.from_iterable(self.bank.tiles.values()))
        self._bank = TerrainField(len(tiles), self.field.pool, self.device)
        self._bank.place(range(len(tiles)), tiles)
        self.simulator.take_bank(tiles)
        kinds = list(dict.fromkeys(self.config.terrain.kinds))
        own = [kinds.index(self.bank.kind_of(world)) for world in range(self.num_envs)]
        self._kind = torch.tensor(own, dtype=torch.int32).to(self.device)  #: of each world's tiles
        self._turn = 0  #: restarts so far: robots of the reserve go round
        self._in_turns: Tensor | None = None  #: delays that worlds keep
        if self.config.randomization.delays_in_turn:
            self._in_turns = torch.from_numpy(self._in_turn(np.arange(self.num_envs))).to(self.device)
        self.set_ramp(self.ramp)

    def _simulator(
        self, pool: int, physics: PhysicsConfig, threads: int, device: str, loose: Sequence[LooseBox]
    ) -> Any:
        from ssr.physics.warp_resident import ResidentSimulator

        return ResidentSimulator(self.robot, self.num_envs, pool=pool, config=physics, device=device)

    def _read_robot(self) -> None:
        super()._read_robot()
        there = lambda values: torch.from_numpy(values).to(self.device)
        self.default, self.action_scale = there(self.default), there(self.action_scale)
        self.kp, self.kd = there(self.kp), there(self.kd)
        known = self.limits._asdict().items()
        there_too: dict[str, Any] = {
            name: there(part) if isinstance(part, np.ndarray) else part for name, part in known
        }
        self.limits = Limits(**there_too)

    def _allocate(self) -> None:
        super()._allocate()
        self._noise = torch.from_numpy(self._noise).to(self.device)
        self._bad = torch.zeros(2, dtype=torch.int64, device=self.device)  #: worlds, actions

    @property
    def bad_worlds(self) -> int:
        return int(self._bad[0])

    @bad_worlds.setter
    def bad_worlds(self, count: int) -> None:
        if count:
            self._bad[0] = count

    @property
    def bad_actions(self) -> int:
        return int(self._bad[1])

    @bad_actions.setter
    def bad_actions(self, count: int) -> None:
        if count:
            self._bad[1] = count

    def set_bootstrap(self, value: float) -> None:
        """Weights go to the device here, and not in a step."""
        if hasattr(self, "bootstrap") and value == self.bootstrap:
            return
        super().set_bootstrap(value)
        self._weights.on(self.device)

    def set_ramp(self, value: float) -> None:
        """Also draws the reserve of dynamics that new episodes take from."""
        super().set_ramp(value)
        if self._turn_known():
            self.simulator.prepare(self._draw_dynamics(self.share))

    def _turn_known(self) -> bool:
        return hasattr(self, "_turn")

    def _draw_dynamics(self, share: float) -> Dynamics:
        bodies, joints = len(self.simulator.body_names), len(self.robot.joints)
        return draw_dynamics(self.num_envs, bodies, joints, self.config.randomization, share, self.generator)

    # ---- parts of a step --------------------------------------------------------------------------------

    def _target(self, action: Tensor) -> Tensor:
        self.actions.copy_(torch.cat((action.unsqueeze(1), self.actions[:, :-1]), 1))
        index = self.delay.view(-1, 1, 1).expand(-1, 1, self.actions.shape[2])
        return self.default + self.action_scale * self.actions.gather(1, index).squeeze(1)

    def _push(self) -> None:
        self.steps_to_push -= 1
        due = self.steps_to_push <= 0
        low, high = self.config.randomization.push_velocity
        velocity = torch.zeros(self.num_envs, 3, device=self.device)
        velocity[:, :2] = (low + (high - low) * self._draw(2)) * self.share
        self.simulator.nudge(due, velocity)
        self.steps_to_push.masked_fill_(due, self.config.control_steps(PUSH_INTERVAL))

    def _read(self, env_ids: Tensor | None = None) -> Reading:
        state: Reading = self.simulator.renew(env_ids)
        finite: Any = state.finite
        self._bad[0] += (~finite if env_ids is None else ~finite & env_ids).sum()
        return state

    def _doubt(self, state: Reading, sound: Tensor) -> None:
        state.finite.logical_and_(sound)  # type: ignore[attr-defined]
        self._bad[1] += (~sound).sum()

    # ---- episodes ---------------------------------------------------------------------------------------

    def restart(self, ended: Tensor) -> Observation:
        level = self.progress.next_levels(ended, self.generator)
        tile = (self._kind * LEVELS + level) * VARIANTS + self._whole(0, VARIANTS - 1)
        self.field.take(ended, tile, self._bank)
        self.simulator.lay(ended, tile)
        self.commands.restart(ended, self.field.type)
        self._change_robots(ended)
        self._start(ended, self._pose_of(ended))
        if self.camera is not None:
            position, quaternion = self.simulator.link_poses()
            self._fresh = self.camera.look(ended, self.shown, position, quaternion, self.share)
            self._depth = self.camera.image
        chance = self._draw(*self._noise.shape)
        everywhere = self.gait.everywhere
        remember(everywhere, self.history, self.proprioception, self._noise, chance, ended)
        return self.observation()

    def _change_robots(self, chosen: Tensor) -> None:
        """Dynamics, delays and push times of new episodes."""
        self._turn += 1
        numbers = ((self._everywhere + self._turn) % self.num_envs).int()
        self.simulator.give(chosen, numbers)
        reserve, index = self.simulator.reserve, numbers.long()
        if self.dynamics is None:
            self.dynamics = Dynamics(**{name: value.clone() for name, value in vars(reserve).items()})
        for name, mine in vars(self.dynamics).items():
            given = getattr(reserve, name).index_select(0, index)
            mine.copy_(torch.where(_column(chosen, mine), given, mine))
        self._set_gains(chosen, self.dynamics)
        config = self.config.randomization
        low, high = config.action_delay
        longest = low + round(self.share * (high - low))
        kept = self._in_turns
        delay = self._whole(low, longest) if kept is None else kept.clamp(max=longest)
        self.delay.copy_(torch.where(chosen, delay.long(), self.delay))
        until = self._whole(1, self.config.control_steps(PUSH_INTERVAL)).long()
        self.steps_to_push.copy_(torch.where(chosen, until, self.steps_to_push))

    def _set_gains(self, env_ids: Tensor, dynamics: Dynamics) -> None:
        strength = dynamics.motor_strength
        self.gains[0].copy_(self.kp * dynamics.kp_scale * strength)
        self.gains[1].copy_(self.kd * dynamics.kd_scale * strength)

    def _pose_of(self, chosen: Tensor) -> ResetPose:
        """Where every world would begin now, in its tile's frame; those `chosen` are told what follows."""
        noise = lambda *shape: 2 * self._draw(*shape) - 1
        pose = starts.noisy_pose(self.robot.standing_height, self.limits, noise)
        course = torch.zeros(self.num_envs, 3, device=self.device)
        if self.references is not None and self.config.reference_starts > 0.0:
            taken = self._draw() < self.config.reference_starts
            reference, going = self.references(self.field.type, self.generator)
            pose, course = starts.choose(taken, reference, pose), torch.where(taken[:, None], going, course)
            self.commands.follow(chosen & taken, course[:, 0].contiguous(), self.field.type)
        self.imitation.begin(chosen)
        roaming = self.commands.roam(chosen, self.field.type, course)
        backwards = self.commands.direction < 0
        position = pose.base_position.clone()
        lateral = starts.LATERAL * noise()
        onward = starts.midway(self.config.terrain.midway_starts, self._draw(), self._draw())
        ground = self.field.tensors
        starts.put_down(self.gait.everywhere, backwards, roaming, onward, lateral, ground, position)
        pose = replace(pose, base_position=position)
        return self._fit_in(chosen, pose, onward, backwards) if self.fits else pose

    def _fit_in(self, chosen: Tensor, pose: ResetPose, onward: Tensor, backwards: Tensor) -> ResetPose:
        references: Any = self.references
        candidates = references.beside(self.field.type, self._draw(CANDIDATES)).int()
        position = pose.base_position.clone()
        frame = torch.zeros(self.num_envs, dtype=torch.int32, device=self.device)
        ground, track = self.field.tensors, references.there
        everywhere = self.gait.everywhere
        fit(everywhere, candidates, onward, backwards, self.tall, ground, track, position, frame)
        fitted = frame >= 0
        reference, course = references.at(frame.clamp(min=0).long())
        self.commands.follow(chosen & fitted, course[:, 0].contiguous(), self.field.type)
        return starts.choose(fitted, replace(reference, base_position=position), pose)

    def _start(self, chosen: Tensor, pose: ResetPose) -> None:
        self.simulator.begin(chosen, pose)
        self.actions.masked_fill_(_column(chosen, self.actions), 0.0)
        state = self._read(chosen)
        self.gait.restart(chosen, state)
        self.progress.restart(chosen, state, self.field)
        self._command(state, chosen)
        self._follow(state, chosen)
        # Copies: a transition speaks of the states reached, and keeps doing so.
        self.privileged = self.privileged.clone()
        self.senses.privileged(chosen, self.privileged)
        self.proprioception = self.privileged[:, : self.senses.measured].clone()

    def _guide(self) -> Tensor:
        if not self.imitates:
            return torch.zeros(self.num_envs, 0, device=self.device)
        towards = (self.imitation.soon - self.default) / self.action_scale
        return towards.masked_fill(self._bearing(self.gait.contact), torch.nan)

    def _scan(self) -> Tensor:
        if not self.scanning:
            return torch.zeros(self.num_envs, 0, device=self.device)
        state: Any = self.simulator.readout.reading
        base, offsets = state.base_position, constant(scan_offsets().ravel().tolist(), state.yaw).view(-1, 2)
        points = base[:, None, :2] + to_yaw(-state.yaw, offsets.expand(self.num_envs, -1, -1))
        top = base[:, 2] + (self.robot.base_height_offset - self.robot.base_height_target)
        return SCALE * (top.unsqueeze(1) - self.field.heights(points)).clamp(-CLIP, CLIP)

    def _draw(self, *shape: int) -> Tensor:
        """Uniform in [0, 1), (n, *shape)."""
        return torch.rand(self.num_envs, *shape, generator=self.generator, device=self.device)

    def _whole(self, low: int, high: int) -> Tensor:
        """(n,) int32 from low to high, each as likely."""
        at, kind = self.device, torch.int32
        return torch.randint(low, high + 1, (self.num_envs,), generator=self.generator, device=at, dtype=kind)

    # ---- saving -----------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Tensor]:
        state = super().state_dict()
        state |= {f"reserve.{name}": value.cpu() for name, value in vars(self.simulator.reserve).items()}
        return state | {"turn": torch.tensor(self._turn)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        super().load_state_dict(state)
        reserve = {name: state[f"reserve.{name}"].to(self.device) for name in vars(self.simulator.reserve)}
        self.simulator.prepare(Dynamics(**reserve))
        self._turn = int(state["turn"])
        chance.restore(self.generator, state["generator"])  # which drew a reserve meanwhile


def _column(chosen: Tensor, like: Tensor) -> Tensor:
    """A mask (n,) with as many dimensions as `like`."""
    return chosen.view(-1, *(1,) * (like.ndim - 1))
