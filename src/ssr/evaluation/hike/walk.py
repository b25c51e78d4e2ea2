"""A policy walks a route with an operator who gives speed and heading, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import cos, radians
from pathlib import Path

import numpy as np
import torch

from ssr.evaluation.conditions import as_built
from ssr.evaluation.footholds import FootRecorder
from ssr.evaluation.hike.log import STATE, HikeLog, load_state, parse
from ssr.evaluation.hike.stream import POOL, WORLD, Stream
from ssr.evaluation.ramps import Ramps
from ssr.evaluation.store import PARTS, code_digest
from ssr.evaluation.subject import Subject
from ssr.evaluation.waypoints import Way, command
from ssr.evaluation.worlds import GivenTiles
from ssr.learning.packing import write_tensors
from ssr.learning.statistics import SAFE_SUPPORT
from ssr.task.config import TaskConfig
from ssr.task.env import TraversalEnv
from ssr.task.transition import Observation, Transition
from ssr.terrain.route import HALF_LANE, Route, make_route

BACK = 1.0  #: m before the place of a fall where it is put up again
PATIENCE = 15.0  #: s without getting on, after which it counts as stalled
TRIES = 3  #: falls within `SAME` m, after which it is carried to the next piece
SAME = 3.0
TILTED = -cos(radians(30.0))  #: of gravity's z in the base frame: more is a tilt beyond 30°
CAUGHT = 2.0  #: s that a tilt must be outlived to be a recovery
SAVE_EVERY = 50.0  #: m
FRAMES = 4  #: control steps from one kept pose to the next
EYES = 3  #: kept poses from one kept image to the next
HOURS = 8.0  #: of simulated time, more than any walk takes
OWN = (*PARTS, "evaluation/hike")


def folder_of(base: Path, seed: int) -> Path:
    return base / f"seed-{seed:03d}"


@dataclass(frozen=True, kw_only=True)
class Hike:
    """One route to walk; it travels to the process that does it."""

    source: str  #: what `subject.load` takes
    iteration: int | None
    folder: Path
    seed: int
    length: float  #: m
    speed: float  #: m/s

    def run(self, subject: Subject, progress: Callable[[int], None]) -> HikeLog:
        """progress hears of metres walked."""
        walker = Walker(subject, self)
        walker.resume()
        heard = int(walker.log.done)
        progress(heard)
        saved = walker.log.done
        while not walker.log.finished:
            walker.step()
            if int(walker.log.done) > heard:
                progress(int(walker.log.done) - heard)
                heard = int(walker.log.done)
            if walker.log.done - saved >= SAVE_EVERY or walker.log.finished:
                walker.save()
                saved = walker.log.done
        progress(max(int(self.length) - heard, 0))
        return walker.log


def endless(trained: TaskConfig) -> TaskConfig:
    """The robot as built, no pushes, no delay, no end."""
    ending = replace(trained.termination, episode_seconds=3600 * HOURS, once_crossed=False)
    luck = as_built(trained.randomization)
    return replace(trained, termination=ending, randomization=luck, reference_starts=0.0)


class Walker:
    observation: Observation

    def __init__(self, subject: Subject, hike: Hike) -> None:
        self.hike, self.subject = hike, subject
        self.route: Route = make_route(hike.seed, hike.length)
        self.way = Way(self.route.way)
        tile = self.route.around((0.0, 0.0), (0.0, 0.0, 0.0))
        self.env = TraversalEnv(
            subject.robot, 1, endless(subject.task), camera=subject.camera, seed=hike.seed, threads=1,
            pool=POOL, bank=GivenTiles([tile]), physics=subject.physics, scan=subject.scan,
        )  # fmt: skip
        self.env.set_bootstrap(0.0)
        self.env.commands.fix(0.0)
        self.env.commands.still.fill_(False)
        self.stream = Stream(self.route, self.env)
        self.actor = subject.actor()
        self.log = HikeLog(
            policy=subject.digest,
            code=code_digest(OWN),
            seed=hike.seed,
            length=hike.length,
            speed=hike.speed,
        )
        self.steps = 0
        self.poses: list[np.ndarray] = []  #: qpos, route frame
        self.images: list[np.ndarray] = []  #: 0 to 255 from near to far
        self.env.randomize(WORLD)
        self._put_down(0.5)

    # ---- going on ---------------------------------------------------------------------------------------

    def step(self) -> Transition:
        """One control step."""
        self.stream.renew()
        self._lead()
        transition = self.env.step(self.actor.act(self.observation))
        self.steps += 1
        self.log.seconds += self.env.config.control_period
        self._write_down(transition)
        if self._over(transition):
            return transition
        self.observation = self.env.restart(torch.zeros(1, dtype=torch.bool))
        return transition

    def _lead(self) -> None:
        place = self.stream.place(self.stream.world.position)[:2]
        yaw = float(self.env.simulator.readout.reading.yaw[0])
        asked = command(self.way, self.log.done, place, yaw, self.hike.speed)
        self.env.commands.free[0] = torch.tensor(asked)

    def _put_down(self, at: float) -> None:
        """Stand at `at` m on the way, heading along it."""
        env = self.env
        x, y = self.way.at(at).tolist()
        self.observation = self.stream.stand(x, y, self.way.heading(at))
        self.actor.begin(1)
        self.feet = FootRecorder(1, env.layouts.privileged, Ramps(env.field, env.robot.sole))
        self.tilted_since: float | None = None
        self.best, self.best_at = at, self.log.seconds

    # ---- writing down -----------------------------------------------------------------------------------

    def _write_down(self, transition: Transition) -> None:
        log, period = self.log, self.env.config.control_period
        if not bool(transition.valid):
            return
        place = self.stream.place(transition.base_position[0].double().numpy())
        log.done = max(log.done, self.way.nearest(place[:2], log.done))
        log.energy += float(transition.power) * period
        self.feet.observe(transition, torch.ones(1, dtype=torch.bool))
        landed = self.feet.drain()
        for support in [] if landed is None else landed.support.tolist():
            log.landings += 1
            if support <= SAFE_SUPPORT:
                self._note("misstep", place)
        self._note_recovery(place)
        if log.done > self.best + 0.2:
            self.best, self.best_at = log.done, log.seconds
        if self.steps % 50 == 0:
            log.track.append([round(float(v), 2) for v in (*place, log.done)])
        if self.steps % FRAMES == 0:
            self._keep()

    def _keep(self) -> None:
        """A pose for films, now and then with what was seen."""
        qpos = self.stream.world.pose
        qpos[:3] += self.stream.origin
        self.poses.append(qpos.astype(np.float32))
        camera = self.env.camera
        if camera is not None and len(self.poses) % EYES == 1:
            near, far = camera.config.near, camera.config.far
            shade = (self.observation.depth[0].numpy() - near) / (far - near)
            self.images.append((255 * shade.clip(0, 1)).round().astype(np.uint8))

    def _note(self, what: str, place: np.ndarray) -> None:
        x, y, z = (round(float(v), 2) for v in place)
        piece = next((p.title for p in self.route.pieces if p.begin <= self.log.done < p.end), "level ground")
        seconds, at = round(self.log.seconds, 2), round(self.log.done, 2)
        self.log.events.append(
            {"what": what, "at": at, "x": x, "y": y, "z": z, "seconds": seconds, "piece": piece}
        )

    def _note_recovery(self, place: np.ndarray) -> None:
        if float(self.env.simulator.readout.reading.gravity[0, 2]) > TILTED:
            self.tilted_since = self.log.seconds
        elif self.tilted_since is not None and self.log.seconds - self.tilted_since > CAUGHT:
            self._note("recovery", place)
            self.tilted_since = None

    # ---- falling and arriving ---------------------------------------------------------------------------

    def _over(self, transition: Transition) -> bool:
        """Whether it fell, stalled or arrived; whoever fell stands again afterwards."""
        log = self.log
        place = self.stream.place(self.stream.world.position)
        aside = float(np.linalg.norm(place[:2] - self.way.at(log.done))) > HALF_LANE + 1.0
        fell = bool(transition.terminated) or not bool(transition.valid) or aside
        if log.done >= min(self.hike.length, self.way.length - 1.0) or log.seconds > 3600 * HOURS:
            log.finished = True
            return True
        if not fell and log.seconds - self.best_at < PATIENCE:
            return False
        self._note("fall" if fell else "stall", self.way_point())
        near = [event for event in log.falls if abs(event["at"] - log.done) < SAME]
        if len(near) >= TRIES:
            self._carry()
        self._put_down(max(log.done - BACK, 0.5))
        return True

    def way_point(self) -> np.ndarray:
        """(3,) on the way, where it is or was last."""
        x, y = self.way.at(self.log.done).tolist()
        return np.array([x, y, self.stream.height(x, y)])

    def _carry(self) -> None:
        """To the beginning of the next piece, past what it falls over again and again."""
        ends = [piece.end for piece in self.route.pieces if piece.end > self.log.done + 0.1]
        target = ends[0] if ends else self.hike.length
        self._note("carried", self.way_point())
        self.log.carried += target - self.log.done
        self.log.done = target

    # ---- saving -----------------------------------------------------------------------------------------

    def save(self) -> None:
        folder = folder_of(self.hike.folder, self.hike.seed)
        folder.mkdir(parents=True, exist_ok=True)
        memory = {f"actor.{k}": v for k, v in vars(self.actor).items() if isinstance(v, torch.Tensor)}
        own = {
            "walk.poses": torch.from_numpy(np.array(self.poses)),
            "walk.images": torch.from_numpy(np.array(self.images, dtype=np.uint8)),
            "walk.origin": torch.from_numpy(self.stream.origin),
            "walk.steps": torch.tensor([self.steps]),
            "walk.log": torch.tensor(list(self.log.text().encode()), dtype=torch.uint8),
            "walk.best": torch.tensor(
                [self.best, self.best_at, -1.0 if self.tilted_since is None else self.tilted_since],
                dtype=torch.float64,
            ),
        }
        env = {f"env.{k}": v for k, v in self.env.state_dict().items()}
        write_tensors(folder / STATE, memory | own | env)
        self.log.save(folder)

    def resume(self) -> None:
        """Go on from where the same walk was saved, if it was."""
        folder = folder_of(self.hike.folder, self.hike.seed)
        state = load_state(folder)
        take = lambda part: {k.removeprefix(part): v for k, v in state.items() if k.startswith(part)}
        own = take("walk.")
        kept = parse(bytes(own["log"].tolist()).decode()) if "log" in own else None
        same = ("policy", "code", "seed", "length", "speed")
        if kept is None or any(getattr(kept, name) != getattr(self.log, name) for name in same):
            return
        self.log = kept
        self.log.save(folder)  # as it was with this state, should its own file be of another moment
        self.stream.origin = own["origin"].numpy().copy()
        self.env.load_state_dict(take("env."))
        self.env.simulator.read()
        for name, value in take("actor.").items():
            setattr(self.actor, name, value.clone())
        self.poses, self.images = list(own["poses"].numpy()), list(own["images"].numpy())
        self.steps = int(own["steps"])
        self.best, self.best_at, tilted = own["best"].tolist()
        self.tilted_since = None if tilted < 0 else tilted
        self.stream.laid = np.full(2, np.inf)
        self.observation = self.env.observation()
