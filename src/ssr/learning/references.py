"""Reference motion for a run: poses to begin episodes in, and how they go on."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ssr.kept import kept
from ssr.motion.clip import Clip
from ssr.motion.dataset import FLAT, OWN, TABLE_11, MotionDataset, StartStates
from ssr.motion.driving import Driver
from ssr.motion.frames import soles_beside_base
from ssr.motion.speeds import commanded
from ssr.physics.simulator import ResetPose
from ssr.task.commands import ZERO_THRESHOLD
from ssr.task.imitation import ReferenceTrack, on
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

        return _pose({field: gather(field) for field in StartStates.__dataclass_fields__})

    def beside(self, terrain_type: Tensor, chance: Tensor) -> Tensor:
        """(m, c) frames near edges for worlds of these terrain types (m,), from draws (m, c) uniform in 0..1;
        -1 where there are none."""
        return _beside(self.track, terrain_type, chance)

    def at(self, frame: Tensor) -> tuple[ResetPose, Tensor]:
        """The pose in these frames (m,), above the origin, and the courses (m, 3) they are on."""
        return _pose({name: value[frame] for name, value in vars(self.motion.states).items()})

    @cached_property
    def track(self) -> ReferenceTrack:
        """All of the motion. A terrain type may begin with any frame of its columns of Table 11, of recorded
        motion only with that on level ground: treads scaled with the legs are shorter than the soles, and
        where a recording has no blocks its edges are not known."""
        states, motion = self.motion.states, self.motion
        edges, soles, over, usable = _surroundings(motion)
        near = usable & (edges[:, :2] < REACH).any(1)
        near &= states.course.abs().sum(1).numpy() > ZERO_THRESHOLD  # who stands there is on no way
        choices, beside = [], []
        for name in TERRAIN_TYPES:
            columns = [c for c in (*TABLE_11[name], "stand") if c in motion.starts]
            frames = torch.cat([motion.starts[c] for c in columns]).numpy()
            choices.append(frames[usable[frames]])
            own = motion.starts[OWN[name]].numpy() if OWN[name] in motion.starts else frames[:0]
            beside.append(own[near[own]])
        table, count = _table(choices)
        own_table, own_count = _table(beside)
        return ReferenceTrack(
            position=states.joint_position.numpy(),
            velocity=states.joint_velocity.numpy(),
            target=_targets(motion),
            course=states.course.numpy(),
            edges=edges,
            soles=soles,
            over=over,
            end=motion.ends.numpy(),
            choices=table,
            choice_count=count,
            beside=own_table,
            beside_count=own_count,
        )

    def on(self, device: torch.device) -> ResidentStarts:
        """The same, drawn there."""
        return ResidentStarts(self, device)


class ResidentStarts:
    """`ReferenceStarts` on a device: a frame is drawn for every terrain type, so that nobody needs to know
    how many worlds have which."""

    def __init__(self, starts: ReferenceStarts, device: torch.device) -> None:
        self.track = starts.track
        self.there = on(starts.track, device)
        self._draws = [starts.motion.start_draw(name).to(device) for name in TERRAIN_TYPES]
        self._states = {name: value.to(device) for name, value in vars(starts.motion.states).items()}

    def __call__(self, terrain_type: Tensor, generator: torch.Generator) -> tuple[ResetPose, Tensor]:
        frame = torch.zeros_like(terrain_type)
        for k, (name, draw) in enumerate(zip(TERRAIN_TYPES, self._draws, strict=True)):
            drawn = draw.near(commanded(name, len(frame), generator), generator)
            frame = torch.where(terrain_type == k, drawn, frame)
        return self.at(frame)

    def beside(self, terrain_type: Tensor, chance: Tensor) -> Tensor:
        return _beside(self.there, terrain_type, chance)

    def at(self, frame: Tensor) -> tuple[ResetPose, Tensor]:
        return _pose({name: value.index_select(0, frame) for name, value in self._states.items()})


def _pose(states: dict[str, Tensor]) -> tuple[ResetPose, Tensor]:
    """The fields of `StartStates` as poses above the origin, and courses."""
    height = states["base_height"]
    nowhere = torch.zeros_like(height)
    names = [name for name in ResetPose.__dataclass_fields__ if name != "base_position"]
    position = torch.stack((nowhere, nowhere, height), -1)
    return ResetPose(base_position=position, **{name: states[name] for name in names}), states["course"]


def _beside(track: ReferenceTrack, terrain_type: Tensor, chance: Tensor) -> Tensor:
    table, counts = torch.as_tensor(track.beside), torch.as_tensor(track.beside_count)
    count = counts[terrain_type].unsqueeze(1)
    place = terrain_type.unsqueeze(1) * table.shape[1] + (chance * count).long()
    return torch.where(count > 0, table.flatten()[place].long(), -1)


def _table(rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Rows of different lengths as one table, at least one column wide, and their lengths."""
    table = np.zeros((len(rows), max(1, *map(len, rows))), np.int64)
    for place, row in zip(table, rows, strict=True):
        place[: len(row)] = row
    return table, np.array([len(row) for row in rows])


def _surroundings(motion: MotionDataset) -> tuple[np.ndarray, ...]:
    """Of every frame (N, …): `edges_near` the base, soles and their ground as in `ReferenceTrack`, and
    whether its soles lie as a robot's should."""
    edges, soles, over, usable = [], [], [], []
    mirrors = _mirrors(motion)
    for clip in motion.clips:
        along = _edges_along(clip)
        for copy in (clip, clip.mirrored(motion.robot)) if mirrors else (clip,):
            at, height = soles_beside_base(copy)
            edges.append(along)
            soles.append(at)
            over.append(height)
            usable.append(np.full(clip.frames, clip.synthetic or clip.column in FLAT))
    return tuple(map(np.concatenate, (edges, soles, over, usable)))


def _targets(motion: MotionDataset) -> np.ndarray:
    """(N, J) joint targets of every frame, in rad."""
    driver, rule = Driver(motion.robot), motion.robot.joint_mirror
    out = []
    for clip in motion.clips:
        out.append(targets := driver.targets(clip).astype(np.float32))
        if _mirrors(motion):
            out.append(targets[:, list(rule.source)] * np.array(rule.sign, np.float32))
    return np.concatenate(out)


def _mirrors(motion: MotionDataset) -> bool:
    """Whether every clip is followed by its mirror image."""
    return len(motion.frames) > sum(clip.frames for clip in motion.clips)


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
