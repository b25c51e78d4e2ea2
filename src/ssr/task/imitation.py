"""Reference motion to follow while the bootstrap is on.

A gait of long swings must be found before anything can pay for it. Every world follows a stretch of reference
motion that begins in the pose most like its own, at about the commanded speed; when the stretch is over, the
next one is looked for. So nobody needs a phase: wherever a robot is, it is told how people go on from there.
Near edges the place counts as well: on stairs the motion begins as far from the edges as the robot is, and on
stairs like these, so that its feet come down where the robot's should.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ssr.per_world import compiled, per_world, square
from ssr.physics.readout import Reading
from ssr.task.commands import ZERO_THRESHOLD
from ssr.task.saving import NamedTensors
from ssr.terrain.edges_near import REACH, edges_near
from ssr.terrain.field import FieldArrays, TerrainField

STRETCH = 0.8  #: s followed before the nearest pose is looked for anew
STEP = 0.3  #: s, likewise near an edge: who is slower than the reference must not be led off the tread
LEAD = 0.04  #: s until a target acts: the control step and a delay of another
THINNED = 2  #: every so many-th frame is looked at
VELOCITY_WEIGHT = 0.1  #: s, rad/s of a joint against rad
COMMAND_WEIGHT = 2.0  #: s/m, m/s of the command against rad
ASIDE_WEIGHT = 6.0  #: s/m, likewise sideways, where little is asked for
FAR = 1e30  #: rad², farther than any pose from another
TURN_WEIGHT = 1.0  #: s, rad/s of the commanded turn against rad
PLACE_WEIGHT = 15.0  #: 1/m, distances from edges against rad
BEYOND_WEIGHT = 5.0  #: 1/m, likewise, of the edge after the next
RISE_WEIGHT = 8.0  #: 1/m, heights of edges against rad


class ReferenceTrack(NamedTuple):
    """Reference motion, frame after frame, one control step apart. N frames, J joints."""

    position: np.ndarray  #: (N, J) rad
    velocity: np.ndarray  #: (N, J) rad/s
    target: np.ndarray  #: (N, J) rad, told which a robot as built does the motion
    course: np.ndarray  #: (N, 3) m/s ahead and to the left, rad/s to the left, mean over the next second
    edges: np.ndarray  #: (N, 5) m, `edges_near` the base
    soles: np.ndarray  #: (N, 2, 2) m, sole centres ahead and to the left of the base
    over: np.ndarray  #: (N, 2) m, height of the base over the ground under each
    end: np.ndarray  #: (N,) int64, the last frame of the clip a frame belongs to
    choices: np.ndarray  #: (types, most) int64 frames that a terrain type may begin with
    choice_count: np.ndarray  #: (types,) int64
    beside: np.ndarray  #: (types, most) int64 frames of a terrain type's own motion that are near edges
    beside_count: np.ndarray  #: (types,) int64


class Followed(NamedTuple):
    """What each of n worlds follows."""

    frame: np.ndarray  #: (n,) int64, the frame to be in now; negative: none yet
    left: np.ndarray  #: (n,) int64, control steps until another is looked for
    now: np.ndarray  #: (n, J) joint positions of that frame, rad
    soon: np.ndarray  #: (n, J) joint targets of `LEAD` later, rad


class Spans(NamedTuple):
    """Control steps."""

    stretch: int  #: followed before the nearest pose is looked for anew
    step: int  #: likewise near an edge
    lead: int  #: until a target acts


class Imitation(NamedTensors):
    """Keeps, for n worlds, the reference pose each should be in."""

    ARRAYS, TENSORS = Followed, Followed._fields

    def __init__(
        self,
        num_envs: int,
        joints: int,
        track: ReferenceTrack | None,
        control_period: float,
        device: torch.device | None = None,
    ) -> None:
        self.device = device
        steps = lambda seconds: max(1, round(seconds / control_period))
        self.spans = Spans(stretch=steps(STRETCH), step=steps(STEP), lead=steps(LEAD))
        self.track = track if track is None or device is None else on(track, device)
        self.frame = self.full(num_envs, value=-1, dtype=torch.long)
        self.left = self.full(num_envs, dtype=torch.long)
        self.now = self.full(num_envs, joints)
        self.soon = self.full(num_envs, joints)

    def begin(self, worlds: Tensor) -> None:
        """New episodes: these worlds, numbers on the host and a mask on a device, have yet to look."""
        if self.device is None:
            self.frame[worlds] = -1
        else:  # told by a mask: a device would be waited for to know which these are
            self.frame.masked_fill_(worlds, -1)

    def advance(self, state: Reading, command: Any, field: TerrainField, begun: Tensor | None = None) -> None:
        """One control step has passed; or none, in the worlds that have just `begun`."""
        if self.track is None:
            return
        worlds, steps = (self.everywhere, 1) if begun is None else (self.given(begun), 0)
        moving = (state.joint_position, state.joint_velocity, state.base_position, command)
        ground = field.arrays if self.device is None else field.tensors
        advance(worlds, steps, *moving, ground, self.track, self.spans, self.arrays)


def on(track: ReferenceTrack, device: torch.device) -> ReferenceTrack:
    """The track as tensors there."""
    tensors = [torch.from_numpy(part) for part in track]
    whole = [t.int() if t.dtype == torch.int64 else t for t in tensors]
    return ReferenceTrack(*(t.to(device) for t in whole))  # type: ignore[arg-type]


@per_world(None, None, None, None, None, FieldArrays, ReferenceTrack, Spans, Followed)
def advance(steps, position, velocity, base, command, tile, reference, spans, own, i, k):
    frame = int(own.frame[i])
    lost = frame < 0 or own.left[i] < steps
    if not lost:  # a frame before the first belongs to no clip
        lost = frame + steps > reference.end[frame]
    if lost:
        behind, ahead, second, risen, rise = edges_near(
            tile.facets, tile.facet_count[i], i, base[i, 0], base[i, 1]
        )
        own.left[i] = spans.step if behind < REACH or ahead < REACH else spans.stretch
        frame = nearest(
            position[i],
            velocity[i],
            command[i],
            behind,
            ahead,
            second,
            risen,
            rise,
            int(tile.type[i]),
            reference,
        )
    else:
        frame = frame + steps
        own.left[i] = own.left[i] - steps
    own.frame[i] = frame
    soon = min(frame + spans.lead, int(reference.end[frame]))
    for j in range(own.now.shape[1]):
        own.now[i, j] = reference.position[frame, j]
        own.soon[i, j] = reference.target[soon, j]


@compiled
def nearest(position, velocity, command, behind, ahead, second, risen, rise, terrain_type, reference):
    """The frame most like a pose on its way along a command, as far from edges as these."""
    # Who is asked to stand may do so wherever it is.
    walks = abs(command[0]) + abs(command[1]) + abs(command[2]) > ZERO_THRESHOLD
    best, least = int(reference.choices[terrain_type, 0]), float(FAR)
    for place in range(0, reference.choice_count[terrain_type], THINNED):
        frame = int(reference.choices[terrain_type, place])
        apart = float(square(TURN_WEIGHT * (reference.course[frame, 2] - command[2])))
        apart += square(COMMAND_WEIGHT * (reference.course[frame, 0] - command[0]))
        apart += square(ASIDE_WEIGHT * (reference.course[frame, 1] - command[1]))
        if walks:
            edges = reference.edges[frame]
            apart += square(PLACE_WEIGHT * (edges[0] - behind)) + square(PLACE_WEIGHT * (edges[1] - ahead))
            apart += square(BEYOND_WEIGHT * (edges[2] - second))
            apart += square(RISE_WEIGHT * (edges[3] - risen)) + square(RISE_WEIGHT * (edges[4] - rise))
        for j in range(position.shape[0]):
            if apart >= least:
                break
            apart += square(reference.position[frame, j] - position[j])
            apart += square(VELOCITY_WEIGHT * (reference.velocity[frame, j] - velocity[j]))
        if apart < least:
            best, least = frame, apart
    return best
