"""`TrialWorlds`: the task as in training, on given tiles, with one trial per world and a fixed command."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

import numpy as np
import torch
from torch import Tensor

from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.stress.registry import trouble_of
from ssr.evaluation.subject import Subject
from ssr.evaluation.waypoints import Way, command
from ssr.physics.world import PhysicsConfig
from ssr.robots.spec import RobotSpec
from ssr.task.config import TaskConfig
from ssr.task.env import TraversalEnv
from ssr.task.transition import Observation, Transition
from ssr.terrain.field import TerrainField
from ssr.terrain.ground import APRON
from ssr.terrain.strip import make_strip
from ssr.terrain.tile import Tile
from ssr.vision.camera import CameraConfig
from ssr.vision.sensor import SensorConfig, sense

CHUNK = 100  #: worlds that run side by side
RUN_OUT = APRON - 1.0  #: m of the apron behind a strip that count as strip


def seed_of(*words: object) -> int:
    """A seed (63 bits) of its own for each combination of words, the same on every machine."""
    text = "/".join(map(str, words))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def strips_for(course: Course, seeds: Sequence[int]) -> list[Tile]:
    """A strip of the course for each seed; what is strewn on it and where it begins depend on that.

    The apron counts as strip, so that a fast robot does not run out of it in 20 s, and no strip has sides:
    how far a robot drifts is measured, and ends nothing.
    """

    def strip(seed: int) -> Tile:
        made = make_strip(course.kind, course.setting, rng=np.random.default_rng(seed))
        return replace(made, length=made.length + RUN_OUT, half_width=inf)

    return [strip(seed) for seed in seeds]


class GivenTiles:
    """World i stands on tile i, always."""

    def __init__(self, tiles: Sequence[Tile]) -> None:
        self.tiles = list(tiles)

    def draw(self, worlds: Tensor, levels: Tensor, generator: torch.Generator) -> list[Tile]:
        return [self.tiles[world] for world in worlds.tolist()]


class TrialWorlds:
    """One trial in each world: `begin`, then `step` until all are over. A world whose trial is over rests.

    What world i meets (start, dynamics, delays, pushes, noise) follows from `seeds[i]` alone. `asked` (n,)
    bool: worlds to run at all, the others rest from the beginning. `shown`: what the cameras see instead of
    the tiles; bodies and feet never meet it.
    """

    def __init__(
        self,
        robot: RobotSpec,
        task: TaskConfig,
        camera: CameraConfig | None,
        tiles: Sequence[Tile],
        seeds: Sequence[int],
        conditions: Conditions,
        asked: Tensor | None = None,
        shown: Sequence[Tile] | None = None,
        physics: PhysicsConfig | None = None,
        scan: bool = False,
    ) -> None:
        ideal, self.sensor = conditions.camera(camera) if camera else (None, SensorConfig())
        self.conditions, self.camera, self.tiles = conditions, ideal, list(tiles)
        self.env = TraversalEnv(
            robot,
            len(tiles),
            conditions.task(task),
            camera=ideal,
            threads=1,
            physics=conditions.physics(physics or PhysicsConfig()),
            pool=max(len(tile.boxes) for tile in tiles),
            bank=GivenTiles(tiles),
            loose=tiles[0].loose,
            scan=scan,
        )
        if shown is None and any(tile.sights for tile in tiles):
            shown = [tile.seen() for tile in tiles]
        if shown is not None:
            self.env.shown = TerrainField(len(shown), max(len(tile.boxes) for tile in shown))
            self.env.shown.place(range(len(shown)), shown)
        if self.env.camera is not None:
            self.env.camera.random_phase = False  # all images of a moment are encoded together
        self.env.randomize(torch.arange(len(tiles)))  # so that the first world's luck pays for no one else
        self.env.luck = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.env.set_bootstrap(0.0)  # the paper's endings: standing still is none
        self.env.commands.fix(conditions.speed, look_ahead=conditions.look_ahead)
        self.trouble = trouble_of(conditions.stress, conditions.dose)
        self._ways = [Way(tile.way) for tile in tiles if tile.way]
        self._on_way = np.zeros(len(tiles))  #: m
        self.steps = 0  #: control steps since the trials began
        #: (n,) trials that are not over
        self.running = torch.ones(len(tiles), dtype=torch.bool) if asked is None else asked.clone()

    def begin(self) -> Observation:
        observation = self.env.reset()
        self._lead()
        self._rest()
        self._depth = torch.zeros_like(observation.depth)
        return self._as_seen(observation)

    def step(self, action: Tensor) -> Transition:
        """One control step; `running` tells afterwards whose trial goes on."""
        self.trouble.act(self.env, self.steps)
        transition = self.env.step(action)
        self._lead()
        self.steps += 1
        self.running = self.running & ~transition.ended
        self._rest()
        return transition

    @property
    def covered(self) -> Tensor:
        """(n,) m along the strip, or along its way where that is not straight."""
        return torch.from_numpy(self._on_way).float() if self._ways else self.env.progress.covered

    def _lead(self) -> None:
        """An operator leads along ways that are not straight, where holding a heading leads nowhere."""
        if not self._ways:
            return
        env, state = self.env, self.env.simulator.readout.reading
        env.progress.omnidirectional.fill_(True)  # so that `commands.free` counts
        for world, way in enumerate(self._ways):
            place, yaw = state.base_position[world, :2].astype(np.float64), float(state.yaw[world])
            self._on_way[world] = way.nearest(place, self._on_way[world])
            asked = command(way, self._on_way[world], place, yaw, self.conditions.speed)
            env.commands.free[world] = torch.tensor(asked)

    def _rest(self) -> None:
        self.env.simulator.rest((~self.running).nonzero().squeeze(-1))

    def observe(self) -> Observation:
        return self._as_seen(self.env.restart(torch.zeros(self.env.num_envs, dtype=torch.bool)))

    def _as_seen(self, observation: Observation) -> Observation:
        """What the sensor makes of the images; the last one if the camera is frozen, none if it is blind."""
        fresh = observation.depth_fresh
        if self.conditions.blind and self.camera is not None:
            nothing = torch.full_like(observation.depth, self.camera.far)
            return replace(observation, depth=nothing)
        frozen = self.conditions.freeze_depth
        if frozen is not None and self.steps > 0 and self.steps * self.env.config.control_period >= frozen:
            fresh = torch.zeros_like(fresh)
        if self.sensor.enabled and self.camera is not None:
            near, far = self.camera.near, self.camera.far
            luck = self.env.luck or []
            for world in fresh.nonzero().squeeze(-1).tolist():
                image = observation.depth[world : world + 1]
                self._depth[world] = sense(image, self.sensor, near, far, luck[world])[0]
        else:
            self._depth[fresh] = observation.depth[fresh]
        luck = self.env.luck or []
        seen, fresh = self.trouble.see(self.env, self.steps, self._depth, fresh, luck)
        return replace(observation, depth=seen.clone(), depth_fresh=fresh)


def worlds_for(
    subject: Subject,
    course: Course,
    conditions: Conditions,
    first: int,
    count: int,
    chunk: int = CHUNK,
    shown: Callable[[Tile], Tile] | None = None,
) -> TrialWorlds:
    """Worlds for the trials `first` to `first + count` of a course, all of one chunk.

    There are always `chunk` worlds, and trial i is always world i modulo `chunk`: vectorized arithmetic
    rounds differently in arrays of other sizes and at other places, and a walk amplifies that to another one.
    `shown` makes of each strip the one that the camera sees in its stead.
    """
    offset = first % chunk
    if offset + count > chunk:
        raise ValueError(f"trials {first} to {first + count} do not lie in one chunk of {chunk}")
    numbers = range(first - offset, first - offset + chunk)
    asked = torch.zeros(chunk, dtype=torch.bool)
    asked[offset : offset + count] = True
    strips = strips_for(course, [seed_of("strip", conditions.seed, course.key, i) for i in numbers])
    seeds = [seed_of("trial", conditions.seed, course.key, i) for i in numbers]
    seen = None if shown is None else [shown(strip) for strip in strips]
    return TrialWorlds(
        subject.robot,
        subject.task,
        subject.camera,
        strips,
        seeds,
        conditions,
        asked,
        seen,
        subject.physics,
        subject.scan,
    )
