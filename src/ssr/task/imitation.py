"""Reference motion to follow while the bootstrap is on.

A gait of long swings must be found before anything can pay for it. Every world follows a stretch of reference
motion that begins in the pose most like its own, at about the commanded speed; when the stretch is over, the
next one is looked for. So nobody needs a phase: wherever a robot is, it is told how people go on from there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from torch import Tensor

from ssr.physics.readout import Reading
from ssr.task.saving import NamedTensors

STRETCH = 0.8  #: s followed before the nearest pose is looked for anew
LEAD = 0.06  #: s by which joints lag behind their targets
THINNED = 2  #: every so many-th frame is looked at
VELOCITY_WEIGHT = 0.1  #: s, rad/s of a joint against rad
COMMAND_WEIGHT = 2.0  #: s/m, m/s of the command against rad
TURN_WEIGHT = 0.7  #: s, rad/s of the commanded turn against rad


class ReferenceTrack(NamedTuple):
    """Reference motion, frame after frame, one control step apart. N frames, J joints."""

    position: np.ndarray  #: (N, J) rad
    velocity: np.ndarray  #: (N, J) rad/s
    course: np.ndarray  #: (N, 3) m/s ahead and to the left, rad/s to the left
    end: np.ndarray  #: (N,) int64, the last frame of the clip a frame belongs to
    choices: np.ndarray  #: (types, most) int64 frames that a terrain type may begin with
    choice_count: np.ndarray  #: (types,) int64


class Followed(NamedTuple):
    """What each of n worlds follows."""

    frame: np.ndarray  #: (n,) int64, the frame to be in now; negative: none yet
    left: np.ndarray  #: (n,) int64, control steps until another is looked for
    now: np.ndarray  #: (n, J) joint positions of that frame, rad
    soon: np.ndarray  #: (n, J) joint positions `LEAD` later, rad


class Imitation(NamedTensors):
    """Keeps, for n worlds, the reference pose each should be in."""

    ARRAYS, TENSORS = Followed, Followed._fields

    def __init__(
        self, num_envs: int, joints: int, track: ReferenceTrack | None, control_period: float
    ) -> None:
        self.track, self.stretch = track, max(1, round(STRETCH / control_period))
        self.frame = torch.full((num_envs,), -1, dtype=torch.long)
        self.left = torch.zeros(num_envs, dtype=torch.long)
        self.now = torch.zeros(num_envs, joints)
        self.soon = torch.zeros(num_envs, joints)
        self.lead = max(1, round(LEAD / control_period))
        self._everywhere = np.arange(num_envs)

    def begin(self, env_ids: Tensor, frame: Tensor) -> None:
        """Worlds that begin in these frames (m,) of the track; -1 where they begin elsewhere."""
        self.frame[env_ids] = frame
        self.left[env_ids] = self.stretch

    def advance(
        self, state: Reading, command: np.ndarray, terrain_type: np.ndarray, begun: Tensor | None = None
    ) -> None:
        """One control step has passed; or none, in the worlds that have just `begun`."""
        if self.track is None:
            return
        worlds, steps = (self._everywhere, 1) if begun is None else (begun.numpy(), 0)
        _advance(
            worlds, steps, state.joint_position, state.joint_velocity, command, terrain_type,
            tuple(self.track), (self.stretch, self.lead), tuple(self.arrays),
        )  # fmt: skip


@njit(cache=True, nogil=True)
def _advance(worlds, steps, position, velocity, command, terrain_type, track, spans, followed):
    reference, own = ReferenceTrack(*track), Followed(*followed)
    stretch, lead = spans
    for i in worlds:
        frame = own.frame[i]
        if frame < 0 or own.left[i] < steps or frame + steps > reference.end[frame]:
            own.frame[i] = _nearest(position[i], velocity[i], command[i], terrain_type[i], reference)
            own.left[i] = stretch
        else:
            own.frame[i] = frame + steps
            own.left[i] -= steps
        frame = own.frame[i]
        own.now[i] = reference.position[frame]
        own.soon[i] = reference.position[min(frame + lead, reference.end[frame])]


@njit(cache=True, nogil=True)
def _nearest(position, velocity, command, terrain_type, reference):
    """The frame most like a pose on its way along a command."""
    choices = reference.choices[terrain_type]
    best, least = choices[0], np.inf
    for k in range(0, reference.choice_count[terrain_type], THINNED):
        frame = choices[k]
        apart = (TURN_WEIGHT * (reference.course[frame, 2] - command[2])) ** 2
        for axis in range(2):
            apart += (COMMAND_WEIGHT * (reference.course[frame, axis] - command[axis])) ** 2
        for j in range(len(position)):
            if apart >= least:
                break
            apart += (reference.position[frame, j] - position[j]) ** 2
            apart += (VELOCITY_WEIGHT * (reference.velocity[frame, j] - velocity[j])) ** 2
        if apart < least:
            best, least = frame, apart
    return best
