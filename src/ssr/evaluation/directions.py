"""Walking in eight directions and turning on the spot on open ground (Fig. 7a)."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np
import torch

from ssr.evaluation.conditions import Conditions
from ssr.evaluation.subject import Subject
from ssr.evaluation.worlds import TrialWorlds, seed_of
from ssr.task.frames import to_yaw
from ssr.terrain.tile import Box, Tile

FORWARD, LATERAL = 0.6, 0.4  #: m/s at most, along and across; within Table 5
TURN = 0.8  #: rad/s
SECONDS = 8.0
REPEATS = 8  #: trials per command
FIELD = 12.0  #: m of open ground on each side of the start

Command = tuple[float, float, float]  #: forward, left (m/s), turn to the left (rad/s)


def commands() -> list[Command]:
    """Eight directions counter-clockwise from straight ahead, then turning left and turning right."""
    circle = [2 * pi * k / 8 for k in range(8)]
    straight = [(FORWARD * cos(a), LATERAL * sin(a), 0.0) for a in circle]
    return [*straight, (0.0, 0.0, TURN), (0.0, 0.0, -TURN)]


def mirror_partners() -> list[int]:
    """The command that is each command's mirror image."""
    return [(-k) % 8 for k in range(8)] + [9, 8]


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Where the base went; c commands, r repeats, t control steps."""

    position: np.ndarray  #: (c, r, t, 2) float32, m, from the start, x along the first heading
    turned: np.ndarray  #: (c, r) float32, rad to the left in all, until the end or the fall
    lasted: np.ndarray  #: (c, r) bool; where a robot fell, its last position is repeated

    def means(self) -> np.ndarray:
        """(c, t, 2)"""
        return self.position.mean(axis=1)

    def end_error(self) -> np.ndarray:
        """(c,) m between where the robot was to be in the end and where it was, mean over the repeats."""
        aim = np.array([(v[0] * SECONDS, v[1] * SECONDS) for v in commands()])
        return np.linalg.norm(self.position[:, :, -1] - aim[:, None], axis=-1).mean(axis=1)

    def turned_share(self) -> list[float | None]:
        """Of each command, angle turned ÷ angle asked for, mean over the repeats; None where none was."""
        asked = [turn * SECONDS for _, _, turn in commands()]
        means = self.turned.mean(axis=1).tolist()
        return [mean / angle if angle else None for mean, angle in zip(means, asked, strict=True)]

    def falls(self) -> np.ndarray:
        """(c,) share of the repeats that fell."""
        return 1.0 - self.lasted.mean(axis=1)

    def asymmetry(self) -> np.ndarray:
        """(c,) m, root mean square distance between a mean path and its partner's mirror image."""
        means = self.means()
        mirrored = means[mirror_partners()] * np.array([1.0, -1.0])
        return np.sqrt(((means - mirrored) ** 2).sum(-1).mean(-1))


def open_ground() -> Tile:
    """Flat as far as a robot gets."""
    box = Box.spanning((-5.0, 2 * FIELD + 5.0), (-FIELD - 5.0, FIELD + 5.0), (-1.0, 0.0))
    return Tile(
        kind="flat",
        setting=(),
        boxes=(box,),
        length=2 * FIELD,
        half_width=FIELD,
        start=FIELD,
        first_edge=0.5,
        last_edge=2 * FIELD - 0.5,
        end_height=0.0,
    )


def walk(subject: Subject, seed: int) -> Paths:
    """All commands at once, `REPEATS` times each, with the nominal robot and without pushes."""
    asked = commands()
    count = len(asked) * REPEATS
    conditions = Conditions(seed=seed, speed=0.0, seconds=SECONDS, push=0.0)
    # A command's repeats have the seeds of every other command's: only the command differs.
    seeds = [seed_of("directions", seed, k % REPEATS) for k in range(count)]
    tiles = [open_ground()] * count
    worlds = TrialWorlds(
        subject.robot,
        subject.task,
        subject.camera,
        tiles,
        seeds,
        conditions,
        physics=subject.physics,
        scan=subject.scan,
    )
    env = worlds.env
    env.set_ramp(0.0)
    actor = subject.actor()
    actor.begin(count)
    observation = worlds.begin()
    env.progress.omnidirectional.fill_(True)
    env.commands.still.fill_(False)
    env.commands.free.copy_(torch.tensor(asked).repeat_interleave(REPEATS, dim=0))

    fallen = torch.zeros(count, dtype=torch.bool)
    places: list[torch.Tensor] = []
    origin = env.simulator.state().base_position[:, :2].clone()
    heading, turned = env.simulator.state().yaw.clone(), torch.zeros(count)
    faced = heading
    for _ in range(env.config.control_steps(SECONDS)):
        transition = worlds.step(actor.act(observation))
        # The difference of two headings half a turn to either side, so that whole turns add up.
        swung = torch.remainder(transition.base_yaw - faced + pi, 2 * pi) - pi
        turned += torch.where(fallen | ~transition.valid, 0.0, swung)
        faced = transition.base_yaw.clone()
        fallen |= transition.terminated
        places.append(transition.base_position[:, :2].clone())
        observation = worlds.observe()
    moved = torch.stack(places, dim=1) - origin[:, None]
    return Paths(
        position=to_yaw(heading, moved).numpy().reshape(len(asked), REPEATS, -1, 2).astype(np.float32),
        turned=turned.numpy().reshape(len(asked), REPEATS),
        lasted=~fallen.numpy().reshape(len(asked), REPEATS),
    )
