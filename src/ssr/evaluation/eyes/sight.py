"""What the ground looks like to a policy that walks: its decoded base height map against the true one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ssr.errors import UserError
from ssr.evaluation.intervals import Estimate
from ssr.evaluation.subject import Subject
from ssr.evaluation.worlds import TrialWorlds
from ssr.learning.edge_sight import correlation, moments
from ssr.symmetry.vectors import BASE_MAP
from ssr.task.transition import Observation
from ssr.vision.heightmap import BASE_X, among_obstacles

WATCHED = 2  #: robots of which a moment is kept
SCENE = (1.5, 4.5)  #: m behind the first edge, where that moment is looked for
FINE = 0.01  #: m between two points of the ground's profile
RESAMPLES = 400
SMEAR = 0.5  #: m along x over which a blurred map is averaged: it shows where ground rises, and no edge
OWN, BLURRED = (0, 1, 2), (0, 5, 6)  #: columns of `Sight.sums` that `correlation` takes


@dataclass(frozen=True, kw_only=True)
class Glimpse:
    """One look at the ground. Heights in m above where level ground would be under the standing robot."""

    seconds: float  #: since the trial began
    x: float  #: m along the strip
    age: int  #: control steps since the image was taken
    image: np.ndarray  #: (36, 36) m, z-depth
    true: np.ndarray  #: (18, 10) rows ahead, columns to the left
    decoded: np.ndarray  #: (18, 10)
    ground: np.ndarray  #: (171,) along the middle line from -0.5 to 1.2 m, every cm


@dataclass(frozen=True, kw_only=True)
class Sight:
    """n trials, a ages of the image in control steps."""

    sums: np.ndarray
    """(n, a, 7), added up: `edge_sight.moments` (3), squared error (m²), 1 for every map, and of the true
    map blurred the last two of its `moments`."""
    moments: tuple[Glimpse, ...]

    @staticmethod
    def joined(parts: list[Sight]) -> Sight:
        return Sight(sums=np.concatenate([p.sums for p in parts]), moments=parts[0].moments)


class Watcher:
    """Acts as the policy does, and writes down what its memory says about the ground.

    A map counts while all of it lies between the first edge of the strip and the last.
    """

    def __init__(self, subject: Subject, worlds: TrialWorlds) -> None:
        if worlds.env.camera is None or subject.policy is None or subject.policy.decode is None:
            raise UserError(f"{subject.name} has no eyes: it must see camera images and decode height maps.")
        self.decode, self.actor = subject.policy.decode, subject.policy.actor()
        self.worlds, self.camera = worlds, worlds.env.camera
        self.layout = worlds.env.layouts.privileged
        scale = next(s for s in self.layout if s.name == "base_height_map").scale
        self.scale = torch.as_tensor(scale, dtype=torch.float32)  #: units of the layout per metre
        ages = self.camera.config.period
        self.sums = torch.zeros(worlds.env.num_envs, ages, 7, dtype=torch.float64)
        self.best: dict[int, tuple[float, Glimpse]] = {}  #: by world, with how much there is to be seen

    def begin(self, worlds: int) -> None:
        self.actor.begin(worlds)

    @torch.inference_mode()
    def act(self, observation: Observation) -> Tensor:
        action = self.actor.act(observation)
        env = self.worlds.env
        whole = among_obstacles(env.simulator.state().base_position, env.field)
        chosen = (whole & self.worlds.running).nonzero().squeeze(-1)
        if len(chosen):
            true = self.layout.get(observation.privileged, "base_height_map")
            decoded, true = self.decode(self.actor) / self.scale, true / self.scale
            teeth = self._add(chosen, decoded[chosen], true[chosen])
            self._keep(chosen, teeth, decoded, true, observation)
        return action

    def _add(self, worlds: Tensor, decoded: Tensor, true: Tensor) -> Tensor:
        """Takes in maps (m, 180) of these (m,) worlds; (m,) how much there was to be seen."""
        parts = moments(decoded, true)
        error = (decoded - true).square().mean(-1, keepdim=True)
        floor = moments(blurred(true), true)[:, 1:]
        row = torch.cat((parts, error, torch.ones_like(error), floor), -1).double()
        self.sums.index_put_((worlds, self.camera.age[worlds]), row, accumulate=True)
        return parts[:, 0]

    def _keep(
        self, worlds: Tensor, teeth: Tensor, decoded: Tensor, true: Tensor, observation: Observation
    ) -> None:
        """The moment in which most is to be seen, of the first few robots that still walk."""
        env = self.worlds.env
        behind = env.simulator.state().base_position[:, 0] - env.field.first_edge
        for world, much in zip(worlds[:WATCHED].tolist(), teeth.tolist(), strict=False):
            if SCENE[0] < behind[world] < SCENE[1] and much > self.best.get(world, (0.0,))[0]:
                self.best[world] = (much, self._moment(world, decoded, true, observation.depth))

    def _moment(self, world: int, decoded: Tensor, true: Tensor, depth: Tensor) -> Glimpse:
        env, state = self.worlds.env, self.worlds.env.simulator.state()
        grid = lambda maps: -maps[world].view(BASE_MAP).numpy().astype(np.float64)
        x, y, z = state.base_position[world].tolist()
        level = z - (env.robot.base_height_target - env.robot.base_height_offset)
        along = np.arange(BASE_X[0], BASE_X[1] + FINE / 2, FINE)
        yaw = float(state.yaw[world])
        line = np.stack([x + along * np.cos(yaw), y + along * np.sin(yaw)], axis=1)
        return Glimpse(
            seconds=self.worlds.steps * env.config.control_period,
            x=x,
            age=int(self.camera.age[world]),
            image=depth[world].numpy().copy(),
            true=grid(true),
            decoded=grid(decoded),
            ground=np.clip(self.worlds.tiles[world].heights(line) - level, -1.0, 1.0),
        )

    def sight(self, offset: int, count: int) -> Sight:
        """Of the worlds `offset` to `offset + count`."""
        kept = tuple(self.best[world][1] for world in sorted(self.best)[:WATCHED])
        return Sight(sums=self.sums[offset : offset + count].numpy(), moments=kept)


def blurred(maps: Tensor) -> Tensor:
    """Maps (m, 180) averaged over `SMEAR` along x, at the ends over as much of it as there is."""
    spacing = (BASE_X[1] - BASE_X[0]) / (BASE_MAP[0] - 1)
    reach = int(SMEAR / 2 / spacing + 1e-6)  # rows to either side
    row = torch.arange(BASE_MAP[0])
    near = ((row[:, None] - row).abs() <= reach).to(maps)
    mean = near / near.sum(1, keepdim=True)
    return (mean @ maps.unflatten(-1, BASE_MAP)).flatten(-2)


def edges_seen(sums: np.ndarray, columns: tuple[int, ...] = OWN) -> Estimate:
    """Edge sight of trials whose sums (n, 7) are given, with a 95 % interval from resampled trials.

    columns: OWN of the decoded maps, or BLURRED: what the true maps, blurred, would have got.
    """
    n = len(sums)
    drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(float)
    of = lambda totals: correlation(
        torch.from_numpy(totals[..., list(columns)]), torch.from_numpy(totals[..., 4])
    )
    spread = of(drawn @ sums).numpy()
    spread = spread[np.isfinite(spread)]
    low, high = np.percentile(spread, (2.5, 97.5)) if len(spread) else (np.nan, np.nan)
    return Estimate(value=float(of(sums.sum(axis=0))), low=float(low), high=float(high))


def map_error(sums: np.ndarray) -> float:
    """Root mean square error (m) of the maps in sums (..., 7)."""
    squared, number = sums[..., 3].sum(), sums[..., 4].sum()
    return float(np.sqrt(squared / number)) if number else float("nan")
