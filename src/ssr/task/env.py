"""`TraversalEnv`: n robots, each on its own tile, as batched tensors.

A control step is two calls: `step(action)` moves the worlds and says what happened, while the old tiles are
still in place; `restart(ended)` gives the worlds that ended a new episode and returns what all of them see.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from ssr.physics.mujoco_engine import MujocoSimulator
from ssr.physics.simulator import Dynamics, PhysicsState, ResetPose
from ssr.physics.world import PhysicsConfig
from ssr.robots.spec import RobotSpec
from ssr.symmetry.vectors import layouts
from ssr.task import starts
from ssr.task.commands import Commands
from ssr.task.config import TaskConfig
from ssr.task.frames import to_yaw
from ssr.task.gait import Gait
from ssr.task.observations import Senses, noise_widths
from ssr.task.progress import Progress
from ssr.task.randomization import draw_dynamics
from ssr.task.rewards import POSTURE_ROWS, Limits, Moment, progress, stepping, weighted_terms
from ssr.task.terminations import endings
from ssr.task.tiles import TileBank, TileSource
from ssr.task.transition import Feet, Observation, Transition
from ssr.terrain.field import TerrainField
from ssr.terrain.kinds import TILE_POOL
from ssr.terrain.tile import Tile
from ssr.vision.camera import CameraConfig, DepthCamera

STALLED = 0.25  #: share of the commanded distance below which a robot counts as standing still


class TraversalEnv:
    def __init__(
        self,
        robot: RobotSpec,
        num_envs: int,
        config: TaskConfig | None = None,
        *,
        camera: CameraConfig | None = None,
        seed: int = 0,
        threads: int = 0,
        pool: int = TILE_POOL,
        physics: PhysicsConfig | None = None,
        references: starts.ReferenceSampler | None = None,
        bank: TileSource | None = None,
    ) -> None:
        self.robot, self.num_envs, self.config = robot, num_envs, config or TaskConfig()
        threads = threads or len(os.sched_getaffinity(0))
        self.layouts = layouts(robot)
        self.generator = torch.Generator().manual_seed(seed)
        self.simulator = MujocoSimulator(robot, num_envs, pool=pool, config=physics, threads=threads)
        self.field = TerrainField(num_envs, pool)
        self.bank = TileBank(self.config.terrain, seed) if bank is None else bank
        self.references = references
        self.camera = None
        if camera is not None:
            self.camera = DepthCamera(
                robot, num_envs, camera, generator=self.generator, threads=threads,
                links=self.simulator.link_names,
            )  # fmt: skip
        self.ramp = 1.0  #: how much of the randomization is on
        self.bootstrap = 1.0  #: how much of `config.bootstrap` is on
        self.luck: list[torch.Generator] | None = None
        """One generator per world, if what a world meets must not depend on its neighbours. The camera's
        sensor model must be off then: it draws for all worlds at once."""
        self._read_robot()
        self._allocate()

    def _read_robot(self) -> None:
        tensor = lambda field: torch.tensor(self.robot.values(field), dtype=torch.float32)
        self.default, self.action_scale = tensor("default"), tensor("action_scale")
        self.kp, self.kd = tensor("kp"), tensor("kd")
        self.limits = Limits(
            default=self.default,
            lower=tensor("lower"),
            upper=tensor("upper"),
            max_velocity=tensor("max_velocity"),
            max_torque=tensor("max_torque"),
            base_height_target=self.robot.base_height_target,
            min_foot_distance=self.robot.min_foot_distance,
        )

    def _allocate(self) -> None:
        n, joints = self.num_envs, len(self.robot.joints)
        config = self.config
        self.senses = Senses(self.robot, self.layouts)
        self._noise = noise_widths(self.layouts.proprioception, config.noise)
        self.commands = Commands(n, config, self.generator)
        self.gait = Gait(n)
        self.progress = Progress(n, config)
        self.dynamics: Dynamics | None = None
        self.history = torch.zeros(n, config.history, self.layouts.proprioception.size)
        # actions[:, 0] is the newest; long enough for the longest delay and for a_{t-2}
        self.actions = torch.zeros(n, max(3, config.randomization.action_delay[1] + 1), joints)
        self.delay = torch.zeros(n, dtype=torch.long)
        self.steps_to_push = torch.zeros(n, dtype=torch.long)
        self.bad_worlds = 0  #: worlds that went non-finite so far
        self._ended = torch.ones(n, dtype=torch.bool)
        self._depth = torch.zeros(n, 36, 36)
        self._fresh = torch.ones(n, dtype=torch.bool)

    @property
    def levels(self) -> Tensor:
        return self.progress.level

    @property
    def terrain_type(self) -> Tensor:
        """(n,) index into TERRAIN_TYPES."""
        return self.field.type

    def set_ramp(self, value: float) -> None:
        """Share of the randomization and command ranges that new episodes draw from."""
        self.ramp = self.commands.ramp = float(min(max(value, 0.0), 1.0))

    def set_bootstrap(self, value: float) -> None:
        """Share of the bootstrap terms; 0 leaves the paper's Table 6."""
        self.bootstrap = float(min(max(value, 0.0), 1.0))

    def reset(self) -> Observation:
        """Every world starts anew; levels stay as they are."""
        self.progress.forget()
        return self.restart(torch.ones(self.num_envs, dtype=torch.bool))

    # ---- one control step -------------------------------------------------------------------------------

    def step(self, action: Tensor) -> Transition:
        """Apply a (n, J) and report; ended worlds wait for `restart`."""
        self.actions = torch.cat([action[:, None].to(torch.float32), self.actions[:, :-1]], dim=1)
        delayed = self.actions[torch.arange(self.num_envs), self.delay]
        target = self.default + self.action_scale * delayed
        self._push()
        self.simulator.step(target, self.config.substeps)
        state = self._sanitized(self.simulator.state())
        self.gait.update(state)
        self.progress.tick(state, self.field, self.commands)
        facts = self._facts(state)
        moment = self._moment(state, facts["command"], target)
        terms = self._terms(moment)
        ending = endings(state, self.gait, self.progress, self.field, self.commands, self.config.termination)
        terminated = ending.terminated | self._stalled()
        truncated = ending.truncated & ~terminated
        # What comes next is seen with the command that will then be in force.
        self.commands.tick(self.field.type)
        facts = facts | {"command": self._command(state)}
        reward = torch.stack(list(terms.values())).sum(0)
        if self.config.rewards.clip_at_zero:
            reward = reward.clamp(min=0.0)
        self._observe(state, facts)
        self._ended = terminated | truncated
        return Transition(
            reward=reward * self.config.control_period * state.finite,
            terms=terms,
            terminated=terminated,
            truncated=truncated,
            valid=state.finite,
            privileged=self.privileged,
            proprioception=self.proprioception,
            amp_frame=self.senses.amp_frame(state, facts),
            feet=self._feet(state),
            base_position=state.base_position,
            base_yaw=state.yaw,
            terrain_type=self.field.type.clone(),
            level=self.progress.level.clone(),
            omnidirectional=self.progress.omnidirectional.clone(),
            power=(state.applied_torque * state.joint_velocity).abs().sum(-1),
        )

    def restart(self, ended: Tensor) -> Observation:
        """New episodes for the `ended` (n,) worlds; the observation of all worlds."""
        env_ids = torch.nonzero(ended).squeeze(-1)
        if len(env_ids):
            self._begin(env_ids)
        self._see(env_ids)
        everywhere = torch.arange(self.num_envs)
        noisy = self.proprioception + self._noise * (2 * self._rand(everywhere, len(self._noise)) - 1)
        self.history = torch.cat([self.history[:, 1:], noisy[:, None]], dim=1)
        if len(env_ids):
            self.history[env_ids] = noisy[env_ids, None].expand(-1, self.config.history, -1)
        return self.observation()

    def observation(self) -> Observation:
        """What all worlds see now. Every tensor is the caller's own."""
        return Observation(
            history=self.history.clone(),
            depth=self._depth.clone(),
            depth_fresh=self._fresh.clone(),
            privileged=self.privileged.clone(),
        )

    # ---- parts of a step --------------------------------------------------------------------------------

    def _push(self) -> None:
        self.steps_to_push -= 1
        due = torch.nonzero(self.steps_to_push <= 0).squeeze(-1)
        if len(due) == 0:
            return
        low, high = self.config.randomization.push_velocity
        velocity = torch.zeros(len(due), 3)
        velocity[:, :2] = (low + (high - low) * self._rand(due, 2)) * self.ramp
        self.simulator.push(due, velocity)
        self.steps_to_push[due] = self.config.control_steps(self.config.randomization.push_interval)

    def _sanitized(self, state: PhysicsState) -> PhysicsState:
        """A world that went non-finite reads as zeros, upright, until it is restarted; it is counted once."""
        if bool(state.finite.all()):
            return state
        bad = ~state.finite
        self.bad_worlds += int(bad.sum())
        clean = {}
        for name, value in vars(state).items():
            keep = state.finite.view(-1, *(1,) * (value.ndim - 1))
            clean[name] = value if name == "finite" else torch.where(keep, value, torch.zeros_like(value))
        clean["base_quaternion"][bad, 0] = 1.0
        clean["gravity"][bad, 2] = -1.0
        return replace(state, **clean)

    def _command(self, state: PhysicsState) -> Tensor:
        return self.commands.current(state.yaw, self.progress.omnidirectional)

    def _facts(self, state: PhysicsState) -> dict[str, Tensor]:
        return self.senses.facts(state, self._command(state), self.actions[:, 0], self.gait.contact)

    def _moment(self, state: PhysicsState, command: Tensor, target: Tensor) -> Moment:
        config = self.config
        feet = to_yaw(state.yaw, state.sole_position)
        window = config.control_steps(config.rewards.single_support_window)
        kp, kd = self.gains
        return Moment(
            velocity=to_yaw(state.yaw, state.base_velocity),
            angular_velocity=state.base_angular_velocity,
            gravity=state.gravity,
            command=command,
            standing=command.norm(dim=-1) <= config.commands.zero_threshold,
            base_height=self.gait.base_height + self.robot.base_height_offset,
            action=self.actions[:, 0],
            previous_action=self.actions[:, 1],
            earlier_action=self.actions[:, 2],
            joint_position=state.joint_position,
            joint_velocity=state.joint_velocity,
            torque=kp * (target - state.joint_position) - kd * state.joint_velocity,
            contact=self.gait.contact,
            first_contact=self.gait.first_contact,
            air_time=self.gait.landed_air_steps * config.control_period,
            foot_velocity=state.foot_velocity,
            falling_speed=self.gait.falling_speed,
            foot_force=state.foot_force,
            foot_distance=feet[:, 1, 1] - feet[:, 0, 1],
            recent_single_support=self.gait.since_single_support <= window,
        )

    def _terms(self, moment: Moment) -> dict[str, Tensor]:
        config, share = self.config, self.bootstrap
        terms = weighted_terms(moment, self.limits, config.rewards)
        if share > 0.0:
            relief = 1.0 - share * config.bootstrap.posture_relief
            for name in POSTURE_ROWS:
                if name in terms:
                    terms[name] = terms[name] * relief
            if config.bootstrap.progress:
                terms["progress"] = share * config.bootstrap.progress * progress(moment)
            if config.bootstrap.stepping:
                terms["stepping"] = share * config.bootstrap.stepping * stepping(moment, config.rewards)
        return terms

    def _stalled(self) -> Tensor:
        """While the bootstrap lasts, a robot that stays where it is ends like one that falls."""
        distance, progress = self.config.bootstrap.stall_distance, self.progress
        if distance <= 0.0 or self.bootstrap <= 0.0:
            return torch.zeros(self.num_envs, dtype=torch.bool)
        asked = progress.commanded >= distance
        return asked & (progress.covered < STALLED * progress.commanded) & ~progress.omnidirectional

    def _feet(self, state: PhysicsState) -> Feet:
        return Feet(
            contact=self.gait.contact.clone(),
            force=state.foot_force,
            position=state.sole_position,
            yaw=state.sole_yaw,
            touchdown=self.gait.first_contact.clone(),
        )

    def _observe(self, state: PhysicsState, facts: dict[str, Tensor]) -> None:
        """The clean vectors of `state`."""
        self.proprioception, self.privileged = self.senses.vectors(state, facts, self.field)

    # ---- episodes ---------------------------------------------------------------------------------------

    def _begin(self, env_ids: Tensor) -> None:
        for group in self._groups(env_ids):
            self._begin_alike(group)

    def _begin_alike(self, env_ids: Tensor) -> None:
        levels = self.progress.next_levels(env_ids, self.commands, self.generator)
        self.place(env_ids, self.bank.draw(env_ids, levels, self.generator))
        self.commands.restart(env_ids, self.field.type)
        self.randomize(env_ids)
        pose = self._start_pose(env_ids)
        self.start(env_ids, pose)
        self._ended[env_ids] = False

    def place(self, env_ids: Tensor, tiles: list[Tile]) -> None:
        self.field.place(env_ids, tiles)
        self.simulator.place(env_ids, tiles)

    def randomize(self, env_ids: Tensor, dynamics: Dynamics | None = None) -> None:
        """Draw (or take) new dynamics, delays and push times for these worlds."""
        config, joints = self.config.randomization, len(self.robot.joints)
        bodies = len(self.simulator.body_names)
        drawn = dynamics or draw_dynamics(len(env_ids), bodies, joints, config, self.ramp, self.generator)
        self.simulator.randomize(env_ids, drawn)
        if self.dynamics is None:
            self.dynamics = draw_dynamics(self.num_envs, bodies, joints, config, 0.0, self.generator)
        for name, value in vars(drawn).items():
            getattr(self.dynamics, name)[env_ids] = value
        self._read_gains()
        low, high = config.action_delay
        spread = round(self.ramp * (high - low))
        self.delay[env_ids] = low + torch.randint(spread + 1, (len(env_ids),), generator=self.generator)
        interval = self.config.control_steps(config.push_interval)
        self.steps_to_push[env_ids] = torch.randint(
            1, interval + 1, (len(env_ids),), generator=self.generator
        )

    def _read_gains(self) -> None:
        """PD gains (n, J) as they act, for the computed torque."""
        d = self.dynamics
        assert d is not None
        self.gains = (self.kp * d.kp_scale * d.motor_strength, self.kd * d.kd_scale * d.motor_strength)

    def _start_pose(self, env_ids: Tensor) -> ResetPose:
        """Where these worlds begin, in their tiles' frames."""
        config = self.config
        noise = lambda *shape: 2 * self._rand(env_ids, *shape) - 1
        pose = starts.default_pose(self.robot.standing_height, self.limits, len(env_ids), config, noise)
        if self.references is not None and config.reference_starts > 0.0:
            taken = self._rand(env_ids) < config.reference_starts
            pose = starts.choose(taken, self.references(self.field.type[env_ids], self.generator), pose)
            self.commands.follow(env_ids[taken], pose.base_velocity[taken, 0], self.field.type)
        backwards = self.commands.direction[env_ids] < 0
        return starts.set_down(pose, env_ids, self.field, backwards, config.start_lateral * noise())

    def start(self, env_ids: Tensor, pose: ResetPose) -> None:
        """Put these worlds into a pose given in their tiles' frames, with all clocks at zero."""
        self.simulator.reset(env_ids, pose)
        self.actions[env_ids] = 0.0
        state = self._sanitized(self.simulator.state())
        height = state.base_position[:, 2] - state.sole_position[..., 2].amin(-1)
        self.gait.restart(env_ids, height[env_ids])
        self.progress.restart(env_ids, state.base_position)
        self._observe(state, self._facts(state))

    def _see(self, restarted: Tensor) -> None:
        if self.camera is None:
            return
        position, quaternion = self.simulator.link_poses()
        for group in self._groups(restarted):
            self.camera.generator = self.generator
            self.camera.reset(group, self.field, position, quaternion, self.ramp)
        self._fresh = self.camera.capture(self.field, position, quaternion)
        self._depth = self.camera.image

    def _groups(self, env_ids: Tensor) -> Iterator[Tensor]:
        """The worlds that draw together: all of them, or one by one where each has its own luck."""
        for group in (env_ids,) if self.luck is None else env_ids.split(1):
            if len(group) == 0:
                continue
            if self.luck is not None:
                self.generator = self.luck[int(group)]
            yield group

    def _rand(self, env_ids: Tensor, *shape: int) -> Tensor:
        """Uniform draws (m, *shape) for these worlds, each from its own generator where it has one."""
        if self.luck is None:
            return torch.rand(len(env_ids), *shape, generator=self.generator)
        return torch.stack([torch.rand(shape, generator=self.luck[i]) for i in env_ids.tolist()])

    # ---- saving -----------------------------------------------------------------------------------------

    OWN = (
        "history", "actions", "delay", "steps_to_push", "proprioception", "privileged",
        "_ended", "_depth", "_fresh",
    )  # fmt: skip

    def _members(self) -> dict[str, object]:
        parts = ("simulator", "field", "commands", "gait", "progress", "camera")
        return {name: getattr(self, name) for name in parts if getattr(self, name) is not None}

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that decides what happens next, as flat named tensors."""
        state = {f"own.{name}": getattr(self, name).clone() for name in self.OWN}
        for part, member in self._members().items():
            state |= {f"{part}.{k}": v for k, v in member.state_dict().items()}  # type: ignore[attr-defined]
        state |= {f"dynamics.{k}": v.clone() for k, v in vars(self.dynamics).items()}
        state["generator"] = self.generator.get_state()
        state["scalars"] = torch.tensor([self.ramp, self.bootstrap, self.bad_worlds], dtype=torch.float64)
        return state

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name in self.OWN:
            setattr(self, name, state[f"own.{name}"].clone())
        for part, member in self._members().items():
            mine = {k.removeprefix(f"{part}."): v for k, v in state.items() if k.startswith(f"{part}.")}
            member.load_state_dict(mine)  # type: ignore[attr-defined]
        self.dynamics = Dynamics(
            **{k.removeprefix("dynamics."): v.clone() for k, v in state.items() if k.startswith("dynamics.")}
        )
        self._read_gains()
        self.generator.set_state(state["generator"])
        ramp, self.bootstrap, bad = state["scalars"].tolist()
        self.set_ramp(ramp)
        self.bad_worlds = int(bad)
