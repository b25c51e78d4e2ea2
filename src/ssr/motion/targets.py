"""What the robot's key points should do over time: the common ground of recorded and planned motion."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from ssr import rotation
from ssr.terrain.tile import Box

FPS = 50.0  #: everything below runs at the control rate
FLIP = np.array([1.0, -1.0, 1.0])  #: the sagittal mirror, y negated


@dataclass(frozen=True, kw_only=True)
class Targets:
    """T frames at 50 Hz, world frame (x forward at the start, z up), metres; sides are right, left."""

    base_position: np.ndarray  #: (T, 3) origin of the base link
    base_quaternion: np.ndarray  #: (T, 4)
    torso_quaternion: np.ndarray  #: (T, 4)
    sole_position: np.ndarray  #: (T, 2, 3) sole centres
    sole_quaternion: np.ndarray  #: (T, 2, 4)
    knee_position: np.ndarray  #: (T, 2, 3)
    elbow_position: np.ndarray  #: (T, 2, 3)
    hand_position: np.ndarray  #: (T, 2, 3)
    stance: np.ndarray  #: (T, 2) bool, the sole (or its toe or heel edge) bears on the ground
    boxes: tuple[Box, ...] = ()  #: terrain under the motion; without a box the ground is z = 0

    @property
    def frames(self) -> int:
        return len(self.base_position)

    def __getitem__(self, rows: slice) -> Targets:
        """A stretch of time; the terrain stays whole."""
        cut = {f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name != "boxes"}
        return Targets(**cut, boxes=self.boxes)

    def mirrored(self) -> Targets:
        """The same motion in the sagittal mirror."""
        changes: dict[str, object] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "boxes":
                changes["boxes"] = tuple(mirror_box(b) for b in value)
            elif field.name == "stance":
                changes["stance"] = value[:, ::-1]
            else:
                value = rotation.mirror(value) if value.shape[-1] == 4 else value * FLIP
                changes[field.name] = value[:, ::-1] if value.ndim == 3 else value
        return replace(self, **changes)  # type: ignore[arg-type]


def mirror_box(box: Box) -> Box:
    return replace(box, center=(box.center[0], -box.center[1], box.center[2]))
