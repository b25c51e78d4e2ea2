"""The reference motion a discriminator sees: windows per terrain type (Table 11) and states to start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ssr import rotation
from ssr.errors import UserError, unknown
from ssr.motion import store
from ssr.motion.clip import COLUMNS, Clip
from ssr.motion.frames import STRIDE, WINDOW, amp_frames, blend, smoothed, support_height
from ssr.motion.resident_windows import ResidentWindows
from ssr.motion.speeds import SpeedDraw, commanded
from ssr.motion.targets import FPS
from ssr.robots.spec import RobotSpec
from ssr.symmetry.vectors import layouts
from ssr.terrain.settings import TERRAIN_TYPES

TABLE_11: dict[str, tuple[str, ...]] = {
    "slope": ("forward", "backward", "turn", "slope"),
    "stairs": ("forward", "turn", "stairs"),
    "discrete": ("forward", "turn", "step"),
    "gap": ("forward", "turn", "gap"),
    "platform": ("forward", "turn", "step", "platform"),
}
OWN = {"slope": "slope", "stairs": "stairs", "discrete": "step", "gap": "gap", "platform": "platform"}
OWN_SHARE, STAND_SHARE = 0.5, 0.05
FLAT = ("forward", "backward", "turn", "stand")


@dataclass(frozen=True, kw_only=True)
class StartStates:
    """States to begin episodes in, heading along +x. m states, J policy joints."""

    base_height: Tensor  #: (m,) above the ground it stands on, m
    base_quaternion: Tensor  #: (m, 4) roll and pitch only
    base_velocity: Tensor  #: (m, 3) m/s, world axes
    base_angular_velocity: Tensor  #: (m, 3) rad/s, base axes
    joint_position: Tensor  #: (m, J)
    joint_velocity: Tensor  #: (m, J)
    course: Tensor  #: (m, 3) m/s ahead and to the left, rad/s to the left, mean over the next second


@dataclass(frozen=True, kw_only=True)
class MotionDataset:
    """All frames of all clips, mirrored copies included, one after another.

    `frames` (N, 63) are AMP frames; `starts` holds, per column, every index from which a whole window lies
    inside one clip; `states` are the same frames as states to start from.
    """

    robot: RobotSpec
    clips: tuple[Clip, ...]  #: without the mirrored copies
    frames: Tensor
    starts: dict[str, Tensor]
    states: StartStates
    ends: Tensor  #: (N,) the last frame of the clip that a frame belongs to
    stride: int = STRIDE  #: control steps between the frames of a window

    @staticmethod
    def load(
        robot: RobotSpec, mirror: bool = True, path: Path | None = None, stride: int = STRIDE
    ) -> MotionDataset:
        """The motion of `robot`, or that of a file made by `ssr motion build`.

        stride: control steps between the frames of AMP windows; beyond `STRIDE` a frame is the mean of so
        many steps, and so it is for a policy.
        """
        path = path or store.of(robot)
        clips, _ = store.load(path)
        return MotionDataset.of(robot, clips, mirror=mirror, source=str(path), stride=stride)

    @staticmethod
    def of(
        robot: RobotSpec,
        clips: Sequence[Clip],
        mirror: bool = True,
        source: str = "the motion",
        stride: int = STRIDE,
    ) -> MotionDataset:
        """Join `clips`; joints are matched by name."""
        clips = tuple(_reordered(robot, clip, source) for clip in clips)
        frames, states, ends, offset = [], [], [], 0
        starts: dict[str, list[Tensor]] = {c: [] for c in COLUMNS}
        span = (WINDOW - 1) * stride
        for clip in clips:
            for copy in (clip, clip.mirrored(robot)) if mirror else (clip,):
                f, s = _tensors(robot, copy)
                frames.append(smoothed(f, blend(stride)))
                states.append(s)
                starts[copy.column].append(torch.arange(offset, offset + max(copy.frames - span, 0)))
                offset += copy.frames
                ends.append(torch.full((copy.frames,), offset - 1))
        fields = StartStates.__dataclass_fields__
        return MotionDataset(
            robot=robot,
            clips=clips,
            frames=torch.cat(frames),
            starts={c: torch.cat(parts) for c, parts in starts.items() if sum(map(len, parts))},
            states=StartStates(**{k: torch.cat([getattr(s, k) for s in states]) for k in fields}),
            ends=torch.cat(ends),
            stride=stride,
        )

    def shares(self, terrain_type: str) -> dict[str, float]:
        """What share of a terrain type's windows comes from each column.

        Half is the terrain's own motion, a twentieth standing, the rest the other columns of Table 11 in
        equal parts. A column without motion leaves its share to the others.
        """
        if terrain_type not in TABLE_11:
            raise unknown("terrain type", terrain_type, TERRAIN_TYPES)
        others = [c for c in TABLE_11[terrain_type] if c != OWN[terrain_type]]
        shares = {OWN[terrain_type]: OWN_SHARE, "stand": STAND_SHARE}
        shares.update(dict.fromkeys(others, (1.0 - OWN_SHARE - STAND_SHARE) / len(others)))
        shares = {c: s for c, s in shares.items() if c in self.starts}
        total = sum(shares.values())
        return {c: s / total for c, s in shares.items()}

    def amp_windows(
        self, terrain_type: str, count: int, generator: torch.Generator, speeds: Tensor | None = None
    ) -> Tensor:
        """(count, 5, 63) reference windows of a terrain type, oldest frame first, `stride` steps apart.

        speeds: (count,) m/s along the base's x axis; window k then moves at about speeds[k]. Without them
        they are drawn as the terrain type's commands are.
        """
        starts = self._draw(terrain_type, self.shares(terrain_type), count, generator, speeds)
        return self.frames[starts[:, None] + self.stride * torch.arange(WINDOW)]

    def reset_states(
        self,
        terrain_type: str,
        count: int,
        generator: torch.Generator,
        columns: Sequence[str] | None = None,
    ) -> StartStates:
        """`count` states to start episodes in, from the type's flat-ground motions or from `columns`."""
        shares = self.shares(terrain_type)
        wanted = FLAT if columns is None else columns
        for column in wanted:
            if column not in COLUMNS:
                raise unknown("motion column", column, COLUMNS)
        if columns is None:
            shares = {c: s for c, s in shares.items() if c in FLAT}
        else:
            shares = {c: 1.0 for c in columns if c in self.starts}
        index = self._draw(terrain_type, shares, count, generator)
        return StartStates(**{k: getattr(self.states, k)[index] for k in StartStates.__dataclass_fields__})

    def _draw(
        self,
        terrain_type: str,
        shares: dict[str, float],
        count: int,
        generator: torch.Generator,
        speeds: Tensor | None = None,
    ) -> Tensor:
        """(count,) first frames of windows at `speeds`, by default as commanded, columns by share."""
        draw = self._drawn_by(shares)
        if speeds is None:
            speeds = commanded(terrain_type, count, generator)
        return draw.near(speeds, generator)

    def _drawn_by(self, shares: dict[str, float]) -> SpeedDraw:
        if not shares:
            raise UserError(f"The motion of {self.robot.name} has no clip in the columns asked for.")
        key = tuple(sorted(shares.items()))
        if key not in self._draws:
            columns = {c: (s, self.starts[c], self.speeds[c]) for c, s in shares.items()}
            self._draws[key] = SpeedDraw.of(columns)
        return self._draws[key]

    def window_draw(self, terrain_type: str) -> SpeedDraw:
        """How first frames of windows are drawn."""
        return self._drawn_by(self.shares(terrain_type))

    def on(self, device: torch.device) -> MotionDataset | ResidentWindows:
        """What draws the same windows by generators of this device."""
        if device.type == "cpu":
            return self
        draws = {name: self.window_draw(name).to(device) for name in TERRAIN_TYPES}
        return ResidentWindows(frames=self.frames.to(device), draws=draws, stride=self.stride)

    def start_draw(self, terrain_type: str) -> SpeedDraw:
        """How frames to start from are drawn, from the type's flat-ground motions."""
        return self._drawn_by({c: s for c, s in self.shares(terrain_type).items() if c in FLAT})

    @cached_property
    def _draws(self) -> dict[tuple[tuple[str, float], ...], SpeedDraw]:
        """What was prepared for drawing so far, by shares."""
        return {}

    @cached_property
    def speeds(self) -> dict[str, Tensor]:
        """Per column and window in the order of `starts`: mean velocity along the base's x axis, m/s."""
        ahead = self.frames[:, layouts(self.robot).amp.slice("base_velocity")][:, 0]
        within = self.stride * torch.arange(WINDOW)
        return {c: ahead[starts[:, None] + within].mean(1) for c, starts in self.starts.items()}

    def seconds(self) -> dict[str, tuple[float, float]]:
        """Per column: recorded and synthetic seconds, mirrored copies not counted."""
        out: dict[str, tuple[float, float]] = {c: (0.0, 0.0) for c in COLUMNS}
        for clip in self.clips:
            recorded, synthetic = out[clip.column]
            out[clip.column] = (
                recorded + clip.seconds * (not clip.synthetic),
                synthetic + clip.seconds * clip.synthetic,
            )
        return out


def _reordered(robot: RobotSpec, clip: Clip, source: str) -> Clip:
    """The clip with its joints in policy order; a file for another robot is refused by name."""
    if clip.joint_names == robot.joint_names:
        return clip
    missing = [n for n in robot.joint_names if n not in clip.joint_names]
    extra = [n for n in clip.joint_names if n not in robot.joint_names]
    if missing or extra:
        raise UserError(
            f"Motion in {source} is not for {robot.name}: it lacks {', '.join(missing) or 'no joint'} "
            f"and has {', '.join(extra) or 'no other'}. Retarget it with --robot {robot.name}."
        )
    order = [clip.joint_names.index(n) for n in robot.joint_names]
    return replace(clip, joint_names=robot.joint_names, joint_position=clip.joint_position[:, order])


def _tensors(robot: RobotSpec, clip: Clip) -> tuple[Tensor, StartStates]:
    """A clip's AMP frames and start states."""
    tensor = lambda x: torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
    velocity, spin = clip.base_velocity(), clip.angular_velocity()
    heading = rotation.about(rotation.Z, -rotation.yaw(clip.base_quaternion))
    tilt = rotation.multiply(heading, clip.base_quaternion)
    tilt = np.where(tilt[:, :1] < 0.0, -tilt, tilt)
    return amp_frames(robot, clip), StartStates(
        base_height=tensor(support_height(clip)),
        base_quaternion=tensor(tilt),
        base_velocity=tensor(rotation.rotate(tilt, velocity)),
        base_angular_velocity=tensor(spin),
        joint_position=tensor(clip.joint_position),
        joint_velocity=tensor(clip.joint_velocity()),
        course=tensor(_course(np.concatenate((rotation.rotate(tilt, velocity)[:, :2], spin[:, 2:]), 1))),
    )


def _course(motion: np.ndarray) -> np.ndarray:
    """(T, 3) of motion (T, 3): where it goes in the second that follows each frame, or until its clip ends.

    A body sways: what it does at one moment is not where it goes.
    """
    summed = np.concatenate((np.zeros((1, 3)), np.cumsum(motion, 0)))
    begins = np.arange(len(motion))
    ends = np.minimum(begins + round(FPS), len(motion))
    return (summed[ends] - summed[begins]) / (ends - begins)[:, None]
