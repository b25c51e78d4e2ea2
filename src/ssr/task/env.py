"""`TraversalEnv`: n robots, each on its own tile, as batched tensors.

A control step is two calls: `step(action)` moves the worlds and says what happened, while the old tiles are
still in place; `restart(ended)` gives the worlds that ended a new episode and returns what all of them see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ssr.machine import cores
from ssr.physics.engines import make_simulator
from ssr.physics.loose import loose_shapes, tops
from ssr.physics.readout import Reading
from ssr.physics.simulator import Dynamics, ResetPose, Simulator
from ssr.physics.world import PhysicsConfig
from ssr.robots.spec import RobotSpec
from ssr.symmetry.vectors import layouts
from ssr.task import saving, starts
from ssr.task.clocks import run_down
from ssr.task.commands import WIDE, Commands
from ssr.task.config import TaskConfig
from ssr.task.fitting import CANDIDATES, TALLER, fit
from ssr.task.gait import Gait
from ssr.task.imitation import Imitation
from ssr.task.moment import Moments
from ssr.task.observations import Senses, noise_widths, remember
from ssr.task.payment import Terms, paid, weighted_terms, weights_of
from ssr.task.progress import Progress
from ssr.task.randomization import PUSH_INTERVAL, draw_dynamics
from ssr.task.rewards import limits_of
from ssr.task.terminations import endings
from ssr.task.tiles import TileBank, TileSource
from ssr.task.transition import Feet, Observation, Transition
from ssr.terrain.field import TerrainField
from ssr.terrain.making import TILE_POOL
from ssr.terrain.tile import LooseBox, Tile
from ssr.vision.camera import CameraConfig, DepthCamera
from ssr.vision.heightmap import among_obstacles
from ssr.vision.scan import SCAN_SIZE, scan_offsets, scans_of


class TraversalEnv:
    """n worlds in step: their ground, robots, commands, observations, rewards and endings."""

    at: torch.device | None = None  #: where the rules of the task run; None: on the host, compiled by Numba

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
        device: str = "cpu",
        references: starts.References | None = None,
        bank: TileSource | None = None,
        loose: Sequence[LooseBox] = (),
        scan: bool = False,
    ) -> None:
        """config: the paper's unless given; camera: None for depth images of zeros; seed: of tiles and of all
        that is drawn; threads: of physics, 0 is one per core; pool: boxes a tile may have; device: of
        physics; references: motion in which episodes may begin; bank: where tiles come from, instead of the
        curriculum; loose: bodies that lie about in every world, as many and as large on every tile; scan:
        observations hold a wide map of exact heights."""
        self.robot, self.num_envs, self.config = robot, num_envs, config or TaskConfig()
        physics = physics or PhysicsConfig()
        self.substeps = self.config.substeps(physics.timestep)  #: physics steps per control step
        threads = threads or cores()
        self.layouts = layouts(robot)
        self.device = self.at or torch.device("cpu")  #: of all that it takes and gives, wherever physics is
        self.generator = torch.Generator(self.device).manual_seed(seed)
        self.simulator = self._simulator(pool, physics, threads, device, loose)
        self.loose = np.array([item.box.half for item in loose]).reshape(-1, 3)  #: half extents, m
        self.field = TerrainField(num_envs, pool + len(loose), self.device)
        self.shown = self.field  #: the ground that the camera sees; another field deceives it
        self.bank = TileBank(self.config.terrain, seed) if bank is None else bank
        self.references, self.scanning = references, scan
        self.camera = None
        if camera is not None:
            self.camera = DepthCamera(
                robot, num_envs, camera, generator=self.generator, threads=threads,
                links=self.simulator.link_names, beside=loose_shapes(loose), device=self.device,
            )  # fmt: skip
        self.ramp = 1.0  #: how far it is from a beginner's task to the whole one
        self.share = 1.0  #: of the randomization that is on
        self.set_bootstrap(1.0)
        self.luck: list[torch.Generator] | None = None
        """One generator per world, if what a world meets must not depend on its neighbours. The camera's
        sensor model must be off then: it draws for all worlds at once."""
        self._read_robot()
        self._allocate()

    def _simulator(
        self, pool: int, physics: PhysicsConfig, threads: int, device: str, loose: Sequence[LooseBox]
    ) -> Simulator:
        return make_simulator(
            self.robot, self.num_envs, pool=pool, config=physics, threads=threads, device=device, loose=loose
        )

    def _read_robot(self) -> None:
        values = lambda field: np.array(self.robot.values(field), dtype=np.float32)
        self.default: Any
        self.action_scale: Any
        self.kp: Any
        self.kd: Any
        self.default, self.action_scale = values("default"), values("action_scale")
        self.kp, self.kd = values("kp"), values("kd")
        self.limits = limits_of(self.robot)
        self._legs = torch.from_numpy(self.robot.leg_joints).to(self.device)

    def _allocate(self) -> None:
        n, joints = self.num_envs, len(self.robot.joints)
        config = self.config
        self._noise: Any = noise_widths(self.layouts.proprioception, config.noise).numpy()
        self.commands = Commands(n, config, self.generator, self.at)
        self.gait = Gait(n, self.at)
        self.progress = Progress(n, config, self.at)
        follows = self.references if config.bootstrap.imitation > 0.0 else None
        track = None if follows is None else follows.track
        self.imitation = Imitation(n, joints, track, config.control_period, self.at)
        self.dynamics: Dynamics | None = None
        zeros, given = lambda *shape, **kind: torch.zeros(*shape, device=self.device, **kind), self.gait.given
        self.gains = given(zeros(2, n, joints))  #: kp, kd as they act
        self.proprioception = zeros(n, self.layouts.proprioception.size)  #: clean
        self.privileged = zeros(n, self.layouts.privileged.size)
        self.history = zeros(n, config.history, self.layouts.proprioception.size)
        # actions[:, 0] is the newest; long enough for the longest delay and for a_{t-2}
        self.actions = zeros(n, max(3, config.randomization.action_delay[1] + 1), joints)
        self.delay = zeros(n, dtype=torch.long)
        self.steps_to_push = zeros(n, dtype=torch.long)
        self.bad_worlds = 0  #: worlds that went non-finite so far
        self.bad_actions = 0  #: actions that were not finite, since the start of the process
        self.arrays = SimpleNamespace(**{name: given(getattr(self, name)) for name in saving.IN_PLACE})
        readout, command, actions = self.simulator.readout, self.commands.now, self.arrays.actions
        self.senses = Senses(
            self.robot, self.layouts, readout, self.field, command, actions[:, 0], self.gait.arrays.contact
        )
        offset = self.robot.base_height_offset
        followed = self.imitation.arrays.now
        self.moments = Moments(readout.reading, self.gait, command, actions, followed, config, offset)
        self._everywhere = torch.arange(n, device=self.device)
        self._depth = zeros(n, 36, 36)
        self._fresh = torch.ones(n, dtype=torch.bool, device=self.device)

    @property
    def levels(self) -> Tensor:
        return self.progress.level

    @property
    def reached_top(self) -> Tensor:
        return self.progress.reached_top

    @property
    def engine(self) -> str:
        """The name of the physics engine."""
        return self.simulator.engine

    @property
    def overflows(self) -> int:
        return self.simulator.overflows

    @property
    def terrain_type(self) -> Tensor:
        """(n,) index into TERRAIN_TYPES."""
        return self.field.type

    def set_ramp(self, value: float) -> None:
        """How far the way from a beginner's task to the whole one is: commands widen up to WIDE, then the
        randomization rises."""
        self.ramp = float(min(max(value, 0.0), 1.0))
        self.share = max(self.ramp - WIDE, 0.0) / (1.0 - WIDE)
        self.commands.widen(self.ramp)

    def set_bootstrap(self, value: float) -> None:
        """Share of the bootstrap terms; 0 leaves the paper's Table 6."""
        self.bootstrap = float(min(max(value, 0.0), 1.0))
        self._weights = weights_of(self.config.rewards, self.config.bootstrap, self.bootstrap)

    def reset(self) -> Observation:
        """Every world starts anew; levels stay as they are."""
        self.progress.forget()
        return self.restart(torch.ones(self.num_envs, dtype=torch.bool, device=self.device))

    # ---- one control step -------------------------------------------------------------------------------

    def step(self, action: Tensor) -> Transition:
        """Apply a (n, J) and report; ended worlds wait for `restart`.

        An action that is not finite is not done: its world holds the default pose, is invalid and ends.
        """
        sound = torch.isfinite(action).all(-1)
        target = self._target(torch.where(sound.unsqueeze(-1), action, 0.0))
        self._push()
        self.simulator.step(target, self.substeps)
        self._follow_loose()
        state = self._read()
        self._doubt(state, sound)
        self.gait.update(state)
        self.progress.tick(state, self.field, self.commands)
        self._command(state)
        self._follow(state)
        reward, terms = self._rewards(state, target)
        patient = self.bootstrap == 0.0 and self.config.bootstrap.lasting_progress == 0.0
        ending = endings(state, self.progress, self.field, self.commands, self.config.termination, patient)
        if self.config.terrain.falls_demote:
            failed = torch.where(self.progress.crossed, self.progress.tumbled, ending.terminated)
            self.progress.failed.copy_(failed & torch.as_tensor(state.finite))
        # What comes next is seen with the command that will then be in force.
        self.commands.tick(self.field.type)
        self._command(state)
        self.privileged = torch.empty_like(self.privileged)
        self.senses.privileged(self.gait.everywhere, self.privileged)
        self.proprioception = self.privileged[:, : self.senses.measured].clone()
        position = _own(state.base_position)
        return Transition(
            reward=reward,
            terms=terms,
            terminated=ending.terminated,
            truncated=ending.truncated,
            valid=_own(state.finite),
            privileged=self.privileged,
            proprioception=self.proprioception,
            amp_frame=self.senses.amp_frame(),
            feet=self._feet(state),
            base_position=position,
            base_yaw=_own(state.yaw),
            terrain_type=self.field.type.clone(),
            level=_own(self.progress.arrays.level).long(),
            among=among_obstacles(position, self.field),
            omnidirectional=_own(self.progress.arrays.omnidirectional),
            power=torch.as_tensor(abs(state.applied_torque * state.joint_velocity).sum(-1)),
        )

    def restart(self, ended: Tensor) -> Observation:
        """New episodes for the `ended` (n,) worlds; the observation of all worlds."""
        env_ids = torch.from_numpy(np.flatnonzero(ended.numpy()))
        for group in self._groups(env_ids):
            self._begin(group)
        self._see(env_ids)
        chance = self._rand(self._everywhere, *self._noise.shape).numpy()
        remember(
            self._everywhere.numpy(), self.arrays.history, self.proprioception.numpy(), self._noise, chance,
            ended.numpy(),
        )  # fmt: skip
        return self.observation()

    def observation(self) -> Observation:
        """What all worlds see now. Every tensor is the caller's own."""
        return Observation(
            history=self.history.clone(),
            depth=self._depth.clone(),
            depth_fresh=self._fresh.clone(),
            privileged=self.privileged.clone(),
            guide=self._guide(),
            scan=self._scan(),
        )

    def _guide(self) -> Tensor:
        if not self.imitates:
            return torch.zeros(self.num_envs, 0)
        towards = torch.from_numpy((self.imitation.arrays.soon - self.default) / self.action_scale)
        return towards.masked_fill_(self._bearing(torch.from_numpy(self.gait.arrays.contact)), torch.nan)

    def _bearing(self, contact: Tensor) -> Tensor:
        """(n, J) bool: joints of legs whose feet touch the ground, contact (n, 2)."""
        return (contact.unsqueeze(-1) & self._legs).any(1)

    def _scan(self) -> Tensor:
        if not self.scanning:
            return torch.zeros(self.num_envs, 0)
        state, ground = self.simulator.readout.reading, self.field.arrays
        drop = self.robot.base_height_target - self.robot.base_height_offset
        out = np.empty((self.num_envs, SCAN_SIZE), dtype=np.float32)
        scans_of(
            ground.facets, ground.facet_count, state.base_position, state.yaw, scan_offsets(), drop, out
        )  # fmt: skip
        return torch.from_numpy(out)

    # ---- parts of a step --------------------------------------------------------------------------------

    def _target(self, action: Tensor) -> Tensor:
        """Joint targets (n, J) rad of the action that arrives now; `action` becomes the newest."""
        actions = self.arrays.actions
        actions[:, 1:] = actions[:, :-1]
        actions[:, 0] = action.numpy()
        delayed = actions[self._everywhere.numpy(), self.arrays.delay]
        return torch.from_numpy(self.default + self.action_scale * delayed)

    def _doubt(self, state: Reading, sound: Tensor) -> None:
        """Worlds whose action was not `sound` (n,) are invalid."""
        unsound = ~sound.numpy()
        state.finite[unsound] = False
        self.bad_actions += int(np.count_nonzero(unsound))

    def _push(self) -> None:
        late = run_down(self.arrays.steps_to_push)
        if len(late) == 0:
            return
        due = torch.from_numpy(late)
        low, high = self.config.randomization.push_velocity
        velocity = torch.zeros(len(due), 3)
        velocity[:, :2] = (low + (high - low) * self._rand(due, 2)) * self.share
        self.simulator.push(due, velocity)
        self.steps_to_push[due] = self.config.control_steps(PUSH_INTERVAL)

    def _follow_loose(self) -> None:
        """The ground goes where loose bodies have gone."""
        if len(self.loose):
            poses = self.simulator.link_poses()
            position, quaternion = (values[:, -len(self.loose) :].numpy() for values in poses)
            self.field.lay_loose(tops(position, quaternion, self.loose))

    def _read(self, env_ids: Tensor | None = None) -> Reading:
        """The state of these worlds, by default all; those that have blown up are counted."""
        state = self.simulator.read(env_ids)
        finite = state.finite if env_ids is None else state.finite[env_ids.numpy()]
        self.bad_worlds += finite.size - int(np.count_nonzero(finite))
        return state

    def _command(self, state: Reading, env_ids: Tensor | None = None) -> None:
        """Bring `commands.now` of these worlds, by default all, up to date."""
        lateral = state.base_position[:, 1]
        self.commands.current(state.yaw, lateral, self.progress.omnidirectional, env_ids)

    def _rewards(self, state: Reading, target: Tensor) -> tuple[Tensor, Terms]:
        """r^l · dt (n,), and its terms before · dt."""
        moment = self.moments.work_out(self.gait.given(target), self.gains)
        terms, total = weighted_terms(moment, self.limits, self._weights, self.gait.everywhere)
        paid(self.gait.everywhere, total, state.finite, self.config.control_period)
        return torch.as_tensor(total), terms

    def _follow(self, state: Reading, begun: Tensor | None = None) -> None:
        """Renew the reference motion that all worlds, or those that have just `begun`, should be in."""
        if self.imitates:
            self.imitation.advance(state, self.commands.now, self.field, begun)

    @property
    def imitates(self) -> bool:
        return self.references is not None and self.config.bootstrap.imitation * self.bootstrap > 0.0

    def _feet(self, state: Reading) -> Feet:
        return Feet(
            contact=_own(self.gait.arrays.contact),
            force=_own(state.foot_force),
            position=_own(state.sole_position),
            yaw=_own(state.sole_yaw),
            touchdown=_own(self.gait.arrays.first_contact),
        )

    # ---- episodes ---------------------------------------------------------------------------------------

    def _begin(self, env_ids: Tensor) -> None:
        levels = self.progress.next_levels(env_ids, self.generator)
        self.place(env_ids, self.bank.draw(env_ids, levels, self.generator))
        self.commands.restart(env_ids, self.field.type)
        self.randomize(env_ids)
        self.start(env_ids, self._start_pose(env_ids))

    def place(self, env_ids: Tensor, tiles: list[Tile]) -> None:
        self.field.place(env_ids, tiles)
        self.simulator.place(env_ids, tiles)

    def randomize(self, env_ids: Tensor, dynamics: Dynamics | None = None) -> None:
        """Draw (or take) new dynamics, delays and push times for these worlds."""
        config, joints = self.config.randomization, len(self.robot.joints)
        bodies, ids = len(self.simulator.body_names), env_ids.numpy()
        drawn = dynamics or draw_dynamics(len(ids), bodies, joints, config, self.share, self.generator)
        self.simulator.randomize(env_ids, drawn)
        if self.dynamics is None:
            self.dynamics = draw_dynamics(self.num_envs, bodies, joints, config, 0.0, self.generator)
        for name, value in vars(drawn).items():
            getattr(self.dynamics, name).numpy()[ids] = value.numpy()
        self._set_gains(env_ids, drawn)
        draw = lambda low, high: torch.randint(low, high + 1, ids.shape, generator=self.generator).numpy()
        low, high = config.action_delay
        longest = low + round(self.share * (high - low))
        kept = len(config.delays_in_turn) > 0
        self.arrays.delay[ids] = np.minimum(self._in_turn(ids), longest) if kept else draw(low, longest)
        self.arrays.steps_to_push[ids] = draw(1, self.config.control_steps(PUSH_INTERVAL))

    def _in_turn(self, ids: np.ndarray) -> np.ndarray:
        """Delays (m,) in control steps that these worlds keep: successive worlds, and successive worlds of a
        kind, have successive ones."""
        delays, kinds = np.array(self.config.randomization.delays_in_turn), len(self.config.terrain.kinds)
        return delays[(ids % kinds + ids // kinds) % len(delays)]

    def set_dynamics(self, dynamics: Dynamics) -> None:
        """What all n worlds are known to have, where the simulator has it already."""
        self.dynamics = dynamics
        self._set_gains(self._everywhere, dynamics)

    def _set_gains(self, env_ids: Tensor, dynamics: Dynamics) -> None:
        """PD gains as they act on these worlds, for the computed torque."""
        strength, ids = dynamics.motor_strength.numpy(), env_ids.numpy()
        self.gains[0, ids] = self.kp * dynamics.kp_scale.numpy() * strength
        self.gains[1, ids] = self.kd * dynamics.kd_scale.numpy() * strength

    def _start_pose(self, env_ids: Tensor) -> ResetPose:
        """Where these worlds begin, in their tiles' frames."""
        config = self.config
        noise = lambda *shape: 2 * self._rand(env_ids, *shape).numpy() - 1
        count, height = env_ids.shape[0], self.robot.standing_height
        pose = starts.default_pose(height, self.limits, count, noise)
        self.imitation.begin(env_ids)
        course = torch.zeros(count, 3)
        if self.references is not None and config.reference_starts > 0.0:
            taken = self._rand(env_ids) < config.reference_starts
            reference, going = self.references(self.field.type[env_ids], self.generator)
            pose, course = starts.choose(taken, reference, pose), torch.where(taken[:, None], going, course)
            self.commands.follow(env_ids[taken], course[taken, 0], self.field.type)
        roaming = self.commands.roam(env_ids, self.field.type, course)
        backwards = self.commands.arrays.direction[env_ids.numpy()] < 0
        onward = np.zeros(count, np.float32)
        if config.terrain.midway_starts > 0.0:
            draws = (self._rand(env_ids).numpy() for _ in range(2))
            onward = starts.midway(config.terrain.midway_starts, *draws)
        lateral = starts.LATERAL * noise()
        pose = starts.set_down(pose, env_ids, self.field, backwards, roaming, onward, lateral)
        return self._fit(env_ids, pose, onward, backwards) if self.fits else pose

    @property
    def fits(self) -> bool:
        """Who begins among obstacles does so in a pose of the reference that fits the place."""
        some = self.config.terrain.midway_starts > 0.0 and self.config.reference_starts > 0.0
        return some and self.references is not None

    @property
    def tall(self) -> float:
        """m; a base that is higher than this above the ground under a sole does not stand there."""
        return self.robot.standing_height + TALLER

    def _fit(self, env_ids: Tensor, pose: ResetPose, onward: np.ndarray, backwards: np.ndarray) -> ResetPose:
        assert self.references is not None
        candidates = self.references.beside(self.field.type[env_ids], self._rand(env_ids, CANDIDATES))
        position, frame = pose.base_position.numpy().copy(), np.zeros(len(env_ids), np.int64)
        ground, track = self.field.arrays, self.references.track
        fit(env_ids.numpy(), candidates.numpy(), onward, backwards, self.tall, ground, track, position, frame)
        fitted = torch.from_numpy(frame >= 0)
        reference, course = self.references.at(torch.from_numpy(frame).clamp(min=0))
        self.commands.follow(env_ids[fitted], course[fitted, 0], self.field.type)
        reference = replace(reference, base_position=torch.from_numpy(position))
        return starts.choose(fitted, reference, pose)

    def start(self, env_ids: Tensor, pose: ResetPose) -> None:
        """Put these worlds into a pose given in their tiles' frames, with all clocks at zero."""
        ids = env_ids.numpy()
        self.simulator.reset(env_ids, pose)
        self._follow_loose()
        self.arrays.actions[ids] = 0.0
        state = self._read(env_ids)
        self.gait.restart(env_ids, state)
        self.progress.restart(env_ids, state, self.field)
        self._command(state, env_ids)
        self._follow(state, env_ids)
        # Copies: a transition speaks of the states reached, and keeps doing so.
        self.privileged = self.privileged.clone()
        self.senses.privileged(ids, self.privileged)
        self.proprioception = self.privileged[:, : self.senses.measured].clone()

    def _see(self, restarted: Tensor) -> None:
        if self.camera is None:
            return
        position, quaternion = self.simulator.link_poses()
        for group in self._groups(restarted):
            self.camera.generator = self.generator
            self.camera.reset(group, self.shown, position, quaternion, self.share)
        self._fresh = self.camera.capture(self.shown, position, quaternion)
        self._depth = self.camera.image

    def _groups(self, env_ids: Tensor) -> Iterator[Tensor]:
        """The worlds that draw together: all of them, or one by one where each has its own luck."""
        for group in (env_ids,) if self.luck is None else env_ids.split(1):
            if group.numel() == 0:
                continue
            if self.luck is not None:
                self.generator = self.luck[int(group)]
            yield group

    def _rand(self, env_ids: Tensor, *shape: int) -> Tensor:
        """Uniform draws (m, *shape) for these worlds, each from its own generator where it has one."""
        if self.luck is None:
            return torch.rand(env_ids.shape[0], *shape, generator=self.generator)
        return torch.stack([torch.rand(shape, generator=self.luck[i]) for i in env_ids.tolist()])

    # ---- saving -----------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that decides what happens next, as flat named tensors."""
        return saving.save(self)

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on, bit for bit, as the environment would have whose `state_dict` this is."""
        saving.restore(self, state)


def _own(array: Any) -> Tensor:
    """What an array, or a device's tensor, says now, as a tensor that stays so."""
    return array.clone() if isinstance(array, Tensor) else torch.from_numpy(array.copy())
