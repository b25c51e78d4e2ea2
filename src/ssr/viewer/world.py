"""`PlayWorld`: one robot, steered by hand, that begins again whenever it falls or has walked to the end."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ssr.errors import UserError
from ssr.evaluation.stress.registry import stress_named, trouble_of
from ssr.evaluation.subject import Subject
from ssr.evaluation.worlds import GivenTiles
from ssr.learning.footsteps import to_tile
from ssr.robots.spec import Sole
from ssr.task.config import TaskConfig
from ssr.task.env import TraversalEnv
from ssr.task.frames import to_yaw
from ssr.task.terminations import BEHIND_START
from ssr.task.touchdowns import TouchdownRules, Touchdowns
from ssr.task.transition import Observation, Transition
from ssr.terrain.field import TerrainField
from ssr.terrain.registry import kind_named
from ssr.terrain.settings import SLOPE, TERRAIN_TYPES
from ssr.terrain.strip import STRIP_POOL
from ssr.terrain.tile import Tile
from ssr.viewer.ground import Ground, lay
from ssr.vision.support import resting_deficiency

Command = tuple[float, float, float]  #: forward, left (m/s), turn to the left (rad/s); base frame
Outcome = Literal["fell", "strayed", "crossed"]

AVERAGED = 0.5  #: s, time constant of the velocity shown
AFTERMATH = 1.0  #: s that a fall is watched before the next start
ENDLESS = 1e9  #: s, three decades
TRAIL = 12  #: footprints kept


@dataclass(frozen=True, kw_only=True)
class Footprint:
    position: np.ndarray  #: (3,) centre of the sole where it comes to rest, tile frame
    yaw: float
    support: float  #: share of the sole with ground under it, once it lies flat


@dataclass(frozen=True, kw_only=True)
class PlayMoment:
    """All there is to see after a control step. L links; feet right before left; tile frame."""

    link_position: np.ndarray  #: (L, 3)
    link_quaternion: np.ndarray  #: (L, 4) w x y z
    loose_position: np.ndarray  #: (k, 3) of the tile's loose bodies
    loose_quaternion: np.ndarray  #: (k, 4)
    base_position: np.ndarray  #: (3,)
    base_yaw: float
    velocity: Command  #: as measured, mean over about `AVERAGED` s
    depth: np.ndarray | None  #: (36, 36) m as the policy sees it; None if it is blind or the image is old
    contact: np.ndarray  #: (2,) bool
    imagined: np.ndarray | None  #: (2, 3) x, y, σ (m) of the next footholds; None if it imagines none
    footprints: tuple[Footprint, ...]  #: oldest first
    seconds: float  #: since this start


class PlayWorld:
    """`command` is what the robot is asked to do from the next step on."""

    def __init__(self, subject: Subject, ground: Ground, *, randomized: bool = False, seed: int = 0) -> None:
        self.ground, self.rng = ground, np.random.default_rng(seed)
        self.command: Command = (0.0, 0.0, 0.0)
        self.stress, self.dose = "", 0.0
        self.tally: Counter[Outcome] = Counter()
        self.tiles = GivenTiles([lay(ground, self.rng)])
        self.subject, self.seed = subject, seed
        self.env = self._make()
        self.adopt(subject)
        self.randomize(randomized)

    def _make(self) -> TraversalEnv:
        """A world for tiles with as many loose bodies as this one."""
        subject = self.subject
        env = TraversalEnv(
            subject.robot, 1, _endless(subject.task), camera=subject.camera, seed=self.seed, threads=1,
            pool=STRIP_POOL, bank=self.tiles, physics=subject.physics, loose=self.tile.loose,
        )  # fmt: skip
        env.set_bootstrap(0.0)
        env.commands.fix(0.0)
        env.commands.still.fill_(False)
        return env

    @property
    def tile(self) -> Tile:
        return self.tiles.tiles[0]

    def _lay(self) -> None:
        """A new tile of the ground chosen, in another world if other things lie loose on it."""
        sizes = [item.box.half for item in self.tile.loose]
        self.tiles.tiles[0] = lay(self.ground, self.rng)
        if [item.box.half for item in self.tile.loose] != sizes:
            self.env = self._make()
            self._ramp()
        self.env.shown = self.env.field
        if self.tile.sights:
            seen = self.tile.seen()
            self.env.shown = TerrainField(1, len(seen.boxes))
            self.env.shown.place([0], [seen])

    def adopt(self, subject: Subject) -> None:
        """Let this subject act from the next start on."""
        needs = [(s.robot.name, s.task, s.camera, s.physics) for s in (subject, self.subject)]
        if needs[0] != needs[1]:
            raise UserError(f"{subject.name} has another robot, task or engine now: start `ssr play` again.")
        self.subject = subject
        self.actor = subject.actor()
        self.imagine = subject.imagine

    def randomize(self, on: bool) -> None:
        """Start again with drawn or with nominal dynamics; a script's own dynamics are always drawn."""
        self.randomized = on
        self._ramp()
        self.begin()

    def _ramp(self) -> None:
        self.env.set_ramp(1.0 if self.randomized or self.subject.policy is None else 0.0)

    def choose(self, ground: Ground) -> None:
        self.ground = ground
        self.begin()

    def worry(self, stress: str, dose: float) -> None:
        """Start again under this stress; none without a name."""
        self.stress, self.dose = stress, stress_named(stress).check(dose) if stress else 0.0
        self.begin()

    def push(self, speed: float) -> None:
        """Add `speed` m/s to the base velocity, in any horizontal direction."""
        angle = self.rng.uniform(0.0, 2 * np.pi)
        kick = torch.tensor([[speed * np.cos(angle), speed * np.sin(angle), 0.0]], dtype=torch.float32)
        self.env.simulator.push(torch.zeros(1, dtype=torch.long), kick)

    def begin(self) -> None:
        """Start again, on a new tile of the ground chosen."""
        self._lay()
        self.trouble = trouble_of(self.stress, self.dose)
        self.steps = 0
        self.observation = self._seen(self.env.reset())
        self.env.progress.omnidirectional.fill_(True)  # so that `commands.free` is what counts
        self.actor.begin(1)
        self.state = self.env.simulator.state()
        self.ending: int | None = None  #: steps until the next start, once this episode is over
        self.footprints: deque[Footprint] = deque(maxlen=TRAIL)
        self.touchdowns = Touchdowns(1, TouchdownRules())
        self.sole, self.sole_yaw = self.state.sole_position, self.state.sole_yaw  #: one step ago
        self.velocity = torch.zeros(3)
        self.moment = self._moment(None)

    def step(self) -> PlayMoment:
        """One control step; an episode that is over begins anew."""
        if self.ending is not None:
            self.ending -= 1
            if self.ending < 0:
                self.begin()
        self.env.commands.free[0] = torch.tensor(self.command)
        action = self.actor.act(self.observation)
        imagined = self._imagine(action)
        self.trouble.act(self.env, self.steps)
        transition = self.env.step(action)
        self.steps += 1
        self._watch(transition)
        if not bool(transition.valid):
            self.begin()
        else:
            self.state = self.env.simulator.state()
            self.observation = self._seen(self.env.restart(torch.zeros(1, dtype=torch.bool)))
            self._note_footprints(transition)
            self._measure()
            self.moment = self._moment(imagined)
        return self.moment

    def _seen(self, observation: Observation) -> Observation:
        """With what stress makes of the images."""
        if self.env.camera is None:
            return observation
        depth, fresh = observation.depth, observation.depth_fresh
        depth, fresh = self.trouble.see(self.env, self.steps, depth, fresh, [self.env.generator])
        return replace(observation, depth=depth.clone(), depth_fresh=fresh)

    def _imagine(self, action: Tensor) -> np.ndarray | None:
        if self.imagine is None:
            return None
        with torch.inference_mode():
            mean, std = self.imagine(self.observation.privileged, action)
        place = to_tile(mean[0], self.state.base_position[:, :2], self.state.yaw)
        return torch.cat([place, std[0, :, None]], dim=-1).numpy()

    def _watch(self, transition: Transition) -> None:
        """Note how the episode ended, once."""
        if self.ending is not None or not bool(transition.ended):
            return
        x, y = transition.base_position[0, :2].tolist()
        outcome: Outcome = "fell"
        if bool(transition.truncated):
            outcome = "crossed"
        elif bool(transition.valid) and (abs(y) > self.tile.half_width or x < -BEHIND_START):
            outcome = "strayed"
        self.tally[outcome] += 1
        self.ending = self.env.config.control_steps(AFTERMATH) if outcome == "fell" else 0

    def _note_footprints(self, transition: Transition) -> None:
        """A touchdown is confirmed one step after the contact, whose place it keeps."""
        landed = self.touchdowns.observe(transition)
        for foot in landed[0].nonzero().squeeze(-1).tolist():
            self.footprints.append(
                footprint(
                    self.env.robot.sole, self.tile, self.sole[0, foot].numpy(), float(self.sole_yaw[0, foot])
                )
            )
        self.sole, self.sole_yaw = transition.feet.position, transition.feet.yaw

    def _measure(self) -> None:
        state = self.state
        walking = to_yaw(state.yaw, state.base_velocity)[0, :2]
        now = torch.cat([walking, state.base_angular_velocity[0, 2:]])
        self.velocity = self.velocity + self.env.config.control_period / AVERAGED * (now - self.velocity)

    def _moment(self, imagined: np.ndarray | None) -> PlayMoment:
        state, position_quaternion = self.state, self.env.simulator.link_poses()
        position, quaternion = (values[0].numpy() for values in position_quaternion)
        own = len(position) - len(self.tile.loose)
        forward, left, turn = self.velocity.tolist()
        seen = self.env.camera is not None and (self.steps <= 1 or bool(self.observation.depth_fresh))
        return PlayMoment(
            link_position=position[:own],
            link_quaternion=quaternion[:own],
            loose_position=position[own:],
            loose_quaternion=quaternion[own:],
            base_position=state.base_position[0].numpy(),
            base_yaw=float(state.yaw),
            velocity=(forward, left, turn),
            depth=self.observation.depth[0].numpy() if seen else None,
            contact=self.env.gait.contact[0].numpy().copy(),
            imagined=imagined,
            footprints=tuple(self.footprints),
            seconds=self.steps * self.env.config.control_period,
        )


def footprint(sole: Sole, tile: Tile, position: np.ndarray, yaw: float) -> Footprint:
    """Of a sole with its centre at (3,) and turned by `yaw`, tile frame."""
    x, y = sole.offsets().reshape(-1, 2).T
    turned = np.stack([x * np.cos(yaw) - y * np.sin(yaw), x * np.sin(yaw) + y * np.cos(yaw)], axis=-1)
    heights = tile.heights(position[:2] + turned)
    slope = torch.tensor(kind_named(tile.kind).terrain_type == TERRAIN_TYPES[SLOPE])
    missing = resting_deficiency(torch.from_numpy(heights), slope=slope)
    place = np.array([*position[:2], heights.max()])
    return Footprint(position=place, yaw=yaw, support=1.0 - float(missing))


def _endless(trained: TaskConfig) -> TaskConfig:
    """The task as trained, but starting upright, without a time limit, and with any delay."""
    ending = replace(trained.termination, episode_seconds=ENDLESS)
    luck = replace(trained.randomization, delays_in_turn=())
    return replace(trained, termination=ending, randomization=luck, reference_starts=0.0)
