"""`PlayWorld`: one robot, steered by hand, that walks on and on and is put up again whenever it falls."""

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
from ssr.viewer.footprints import TRAIL, Footprint, footprint
from ssr.viewer.ground import Ground, lay
from ssr.viewer.outing import Command, Outing

Outcome = Literal["fell", "strayed", "crossed"]

AVERAGED = 0.5  #: s, time constant of the velocity shown
AFTERMATH = 1.0  #: s that a fall is watched before the next start
ENDLESS = 1e9  #: s, three decades


@dataclass(frozen=True, kw_only=True)
class PlayMoment:
    """All there is to see after a control step. L links; feet right before left; the landscape's frame."""

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
        self.led = True  #: along the way, where there is one
        self.stress, self.dose = "", 0.0
        self.tally: Counter[Outcome] = Counter()
        self.tiles = GivenTiles([lay(ground, self.rng)])
        self.walk: Outing | None = None  #: on ground without an end
        self.starts = 0
        self.subject, self.seed = subject, seed
        self.env = self._make()
        self.adopt(subject)
        self.randomize(randomized)

    def _make(self) -> TraversalEnv:
        """A world for tiles with as many loose bodies as this one."""
        subject = self.subject
        env = TraversalEnv(
            subject.robot, 1, _endless(subject.task), camera=subject.camera, seed=self.seed, threads=1,
            pool=STRIP_POOL, bank=self.tiles, physics=subject.physics, scan=subject.scan,
            loose=self.tile.loose,
        )  # fmt: skip
        env.set_bootstrap(0.0)
        env.commands.fix(0.0)
        env.commands.still.fill_(False)
        return env

    @property
    def tile(self) -> Tile:
        """What is under the robot, in the world's own frame, which begins at `origin`."""
        return self.tiles.tiles[0] if self.walk is None else self.walk.stream.tile

    @property
    def leads(self) -> bool:
        """Whether there is a way along which it can be led."""
        return self.walk is not None and self.walk.trail is not None

    @property
    def origin(self) -> np.ndarray:
        """(3,) m, in the landscape's frame."""
        return np.zeros(3) if self.walk is None else self.walk.stream.origin

    def scenery(self) -> dict[str, Tile]:
        """What is there to be seen, by a name that means the same as long as it lies there."""
        parts = {"tile": self.tile} if self.walk is None else self.walk.scenery()
        return {f"{self.starts}/{name}": part for name, part in parts.items()}

    def _lay(self) -> None:
        """New ground as chosen, in another world if other things lie loose on it."""
        sizes = [item.box.half for item in self.tiles.tiles[0].loose]
        endless = self.ground.endless(int(self.rng.integers(2**31)))
        self.tiles.tiles[0] = lay(self.ground, self.rng)
        if [item.box.half for item in self.tiles.tiles[0].loose] != sizes:
            self.env = self._make()
            self._ramp()
        self.walk = None if endless is None else Outing(endless, self.env)
        if self.walk is not None:
            return
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
        """Start again, on new ground of the kind chosen."""
        self._lay()
        self.starts += 1
        if self.walk is not None:
            self._set_off(self.walk.begin())
        else:
            self._set_off(self.env.reset())
            self.env.progress.omnidirectional.fill_(True)  # so that `commands.free` is what counts

    def _again(self) -> None:
        """Up again where it fell; where the ground has an end, at its start."""
        if self.walk is None:
            self.begin()
        else:
            self._set_off(self.walk.again())

    def _set_off(self, observation: Observation) -> None:
        self.trouble = trouble_of(self.stress, self.dose)
        self.steps = 0
        self.observation = self._seen(observation)
        self.actor.begin(1)
        self.state = self.env.simulator.state()
        self.ending: int | None = None  #: steps until the next start, once this episode is over
        self.footprints: deque[Footprint] = deque(maxlen=TRAIL)
        self.touchdowns = Touchdowns(1, TouchdownRules())
        self.sole = self._placed(self.state.sole_position)  #: one step ago
        self.sole_yaw = self.state.sole_yaw
        self.velocity = torch.zeros(3)
        self.moment = self._moment(None)

    def step(self) -> PlayMoment:
        """One control step; an episode that is over begins anew."""
        if self.ending is not None:
            self.ending -= 1
            if self.ending < 0:
                self._again()
        if self.walk is not None:
            self.walk.renew()
        self.env.commands.free[0] = torch.tensor(self._told())
        action = self.actor.act(self.observation)
        imagined = self._imagine(action)
        self.trouble.act(self.env, self.steps)
        transition = self.env.step(action)
        self.steps += 1
        self._watch(transition)
        if not bool(transition.valid):
            self._again()
        else:
            self.state = self.env.simulator.state()
            self.observation = self._seen(self.env.restart(torch.zeros(1, dtype=torch.bool)))
            self._note_footprints(transition)
            self._measure()
            self.moment = self._moment(imagined)
        return self.moment

    def _told(self) -> Command:
        return self.command if self.walk is None else self.walk.lead(self.command, self.led)

    def _placed(self, points: Tensor) -> np.ndarray:
        """Points (..., 3) of the world's frame in the landscape's."""
        return points.double().numpy() + self.origin

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
        place = to_tile(mean[0], torch.from_numpy(self.base[None, :2]).float(), self.state.yaw)
        return torch.cat([place, std[0, :, None]], dim=-1).numpy()

    def _watch(self, transition: Transition) -> None:
        """Note what was left behind, and, once, how the episode ended."""
        strayed = False
        if self.walk is not None and bool(transition.valid):
            self.tally.update(["crossed"] if self.walk.note() else [])
            strayed = self.walk.strayed
        x, y = transition.base_position[0, :2].tolist()
        behind = self.walk is None and x > self.tile.length  # where the ground ends
        if self.ending is not None or not (bool(transition.ended) or strayed or behind):
            return
        outcome: Outcome = "strayed" if strayed else "fell"
        if bool(transition.truncated) or (behind and not bool(transition.terminated)):
            outcome = "crossed"
        elif bool(transition.valid) and (abs(y) > self.tile.half_width or x < -BEHIND_START):
            outcome = "strayed"
        self.tally[outcome] += 1
        self.ending = self.env.config.control_steps(AFTERMATH) if outcome == "fell" else 0

    def _note_footprints(self, transition: Transition) -> None:
        """A touchdown is confirmed one step after the contact, whose place it keeps."""
        landed = self.touchdowns.observe(transition)
        for foot in landed[0].nonzero().squeeze(-1).tolist():
            self.footprints.append(self._footprint(self.sole[0, foot], float(self.sole_yaw[0, foot])))
        self.sole, self.sole_yaw = self._placed(transition.feet.position), transition.feet.yaw

    def _footprint(self, place: np.ndarray, yaw: float) -> Footprint:
        kind = kind_named(self.tile.kind)
        inclined = kind.terrain_type == TERRAIN_TYPES[SLOPE] if self.walk is None else self.walk.inclined
        made = footprint(self.env.robot.sole, self.tile, place - self.origin, yaw, inclined)
        return replace(made, position=made.position + self.origin)

    def _measure(self) -> None:
        state = self.state
        walking = to_yaw(state.yaw, state.base_velocity)[0, :2]
        now = torch.cat([walking, state.base_angular_velocity[0, 2:]])
        self.velocity = self.velocity + self.env.config.control_period / AVERAGED * (now - self.velocity)

    def _moment(self, imagined: np.ndarray | None) -> PlayMoment:
        state = self.state
        placed, turned = self.env.simulator.link_poses()
        position, quaternion = self._placed(placed[0]), turned[0].numpy()
        self.base = self._placed(state.base_position[0])
        own = len(position) - len(self.tile.loose)
        forward, left, turn = self.velocity.tolist()
        seen = self.env.camera is not None and (self.steps <= 1 or bool(self.observation.depth_fresh))
        return PlayMoment(
            link_position=position[:own],
            link_quaternion=quaternion[:own],
            loose_position=position[own:],
            loose_quaternion=quaternion[own:],
            base_position=self.base,
            base_yaw=float(state.yaw),
            velocity=(forward, left, turn),
            depth=self.observation.depth[0].numpy() if seen else None,
            contact=self.env.gait.contact[0].numpy().copy(),
            imagined=imagined,
            footprints=tuple(self.footprints),
            seconds=self.steps * self.env.config.control_period,
        )


def _endless(trained: TaskConfig) -> TaskConfig:
    """The task as trained, but starting upright, without a time limit, and with any delay."""
    ending = replace(trained.termination, episode_seconds=ENDLESS)
    luck = replace(trained.randomization, delays_in_turn=())
    return replace(trained, termination=ending, randomization=luck, reference_starts=0.0)
