"""Reference motion for a run: poses to begin episodes in, and how they go on."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ssr.kept import kept
from ssr.motion.clip import Clip
from ssr.motion.dataset import FLAT, TABLE_11, MotionDataset
from ssr.motion.speeds import commanded
from ssr.physics.simulator import ResetPose
from ssr.task.imitation import ReferenceTrack
from ssr.terrain.edges_near import BEYOND, REACH, edges_near
from ssr.terrain.settings import TERRAIN_TYPES
from ssr.terrain.tile import Box


class ReferenceStarts:
    """Draws start poses above flat ground at the origin, heading along +x, by terrain type."""

    def __init__(self, motion: MotionDataset) -> None:
        self.motion = motion

    def __call__(self, terrain_type: Tensor, generator: torch.Generator) -> tuple[ResetPose, Tensor]:
        """Of terrain_type (m,), index into TERRAIN_TYPES; and the courses (m, 3) they are on."""
        order = torch.argsort(terrain_type, stable=True)
        counts = torch.bincount(terrain_type, minlength=len(TERRAIN_TYPES)).tolist()
        drawn = [
            self.motion.reset_states(name, count, generator)
            for name, count in zip(TERRAIN_TYPES, counts, strict=True)
            if count
        ]
        back = torch.argsort(order)

        def gather(field: str) -> Tensor:
            return torch.cat([getattr(states, field) for states in drawn])[back]

        position = torch.zeros(len(terrain_type), 3)
        position[:, 2] = gather("base_height")
        pose = ResetPose(
            base_position=position,
            base_quaternion=gather("base_quaternion"),
            base_velocity=gather("base_velocity"),
            base_angular_velocity=gather("base_angular_velocity"),
            joint_position=gather("joint_position"),
            joint_velocity=gather("joint_velocity"),
        )
        return pose, gather("course")

    @cached_property
    def track(self) -> ReferenceTrack:
        """All of the motion. A terrain type may begin with any frame of its columns of Table 11, of recorded
        motion only with that on level ground: treads scaled with the legs are shorter than the soles, and
        where a recording has no blocks its edges are not known."""
        states, motion = self.motion.states, self.motion
        edges, usable = _edges(motion)
        choices = []
        for name in TERRAIN_TYPES:
            columns = [c for c in (*TABLE_11[name], "stand") if c in motion.starts]
            frames = torch.cat([motion.starts[c] for c in columns]).numpy()
            choices.append(frames[usable[frames]])
        table = np.zeros((len(choices), max(map(len, choices))), np.int64)
        for row, frames in zip(table, choices, strict=True):
            row[: len(frames)] = frames
        return ReferenceTrack(
            position=states.joint_position.numpy(),
            velocity=states.joint_velocity.numpy(),
            course=states.course.numpy(),
            edges=edges,
            end=motion.ends.numpy(),
            choices=table,
            choice_count=np.array([len(frames) for frames in choices]),
        )

    def on(self, device: torch.device) -> ResidentStarts:
        """The same, drawn there."""
        return ResidentStarts(self, device)


class ResidentStarts:
    """`ReferenceStarts` on a device: a frame is drawn for every terrain type, so that nobody needs to know
    how many worlds have which."""

    def __init__(self, starts: ReferenceStarts, device: torch.device) -> None:
        self.track = starts.track
        self._draws = [starts.motion.start_draw(name).to(device) for name in TERRAIN_TYPES]
        self._states = {name: value.to(device) for name, value in vars(starts.motion.states).items()}

    def __call__(self, terrain_type: Tensor, generator: torch.Generator) -> tuple[ResetPose, Tensor]:
        frame = torch.zeros_like(terrain_type)
        for k, (name, draw) in enumerate(zip(TERRAIN_TYPES, self._draws, strict=True)):
            drawn = draw.near(commanded(name, len(frame), generator), generator)
            frame = torch.where(terrain_type == k, drawn, frame)
        taken = {name: value.index_select(0, frame) for name, value in self._states.items()}
        height = taken.pop("base_height")
        position = torch.zeros(len(height), 3, device=height.device)
        position[:, 2] = height
        course = taken.pop("course")
        return ResetPose(base_position=position, **taken), course


def _edges(motion: MotionDataset) -> tuple[np.ndarray, np.ndarray]:
    """(N, 5) `edges_near` the base in every frame, and (N,) bool: its soles lie as a robot's should."""
    edges, usable = [], []
    copies = len(motion.frames) // sum(clip.frames for clip in motion.clips)  # as they are, and mirrored
    for clip in motion.clips:
        edges += [_edges_along(clip)] * copies
        usable += [np.full(clip.frames, clip.synthetic or clip.column in FLAT)] * copies
    return np.concatenate(edges), np.concatenate(usable)


def _edges_along(clip: Clip) -> np.ndarray:
    out = np.tile(np.array([REACH, REACH, BEYOND, 0.0, 0.0], np.float32), (clip.frames, 1))
    if clip.boxes:
        floor = Box((0.0, 0.0, -1.0), (100.0, 100.0, 1.0))
        facets = np.array([row for box in (floor, *clip.boxes) for row in box.facets()], np.float32)
        _look_around(facets[None], clip.base_position[:, :2].astype(np.float32), out)
    return out


@kept(error_model="numpy")
def _look_around(facets, places, out):
    for k in range(len(places)):
        x, y = places[k]
        behind, ahead, second, risen, rise = edges_near(facets, facets.shape[1], 0, x, y)
        out[k, 0], out[k, 1], out[k, 2], out[k, 3], out[k, 4] = behind, ahead, second, risen, rise
