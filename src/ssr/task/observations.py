"""Building the flat vectors of `Layouts` from named quantities."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from ssr.physics.readout import Reading
from ssr.robots.spec import RobotSpec
from ssr.symmetry.layout import Layout
from ssr.symmetry.vectors import Layouts
from ssr.task.config import NoiseConfig
from ssr.terrain.field import TerrainField
from ssr.vision.heightmap import height_maps


class VectorBuilder:
    """Fills a layout by name and applies its scales."""

    def __init__(self, layout: Layout) -> None:
        self.names = [segment.name for segment in layout]
        self.scale = np.ones(layout.size, dtype=np.float32)
        for segment in layout:
            self.scale[layout.slice(segment.name)] = segment.scale

    def __call__(self, parts: Mapping[str, np.ndarray | Tensor]) -> Tensor:
        """Raw SI quantities (n, ...) by segment name → (n, size)."""
        arrays = [np.asarray(parts[name]) for name in self.names]
        out = np.concatenate([part.reshape(len(part), -1) for part in arrays], axis=1)
        out *= self.scale
        return torch.from_numpy(out)


def noise_widths(layout: Layout, noise: NoiseConfig) -> Tensor:
    """Half-width of the uniform noise on each entry, in the vector's scaled units."""
    widths = torch.zeros(layout.size)
    for name in ("angular_velocity", "gravity", "joint_position", "joint_velocity"):
        segment = next(s for s in layout if s.name == name)
        widths[layout.slice(name)] = getattr(noise, name) * torch.as_tensor(
            segment.scale, dtype=torch.float32
        )
    return widths


class Senses:
    """The clean vectors of one robot's worlds."""

    def __init__(self, robot: RobotSpec, layouts: Layouts) -> None:
        self.sole = robot.sole
        self.drop = robot.base_height_target - robot.base_height_offset  #: m from the base to level ground
        self.default = np.array(robot.values("default"), dtype=np.float32)
        own, whole = layouts.proprioception, layouts.privileged
        assert whole.segments[: len(own.segments)] == own.segments, (
            "privileged state begins with proprioception"
        )
        self.measured = own.size
        self.privileged = VectorBuilder(layouts.privileged)
        self.amp = VectorBuilder(layouts.amp)

    def facts(
        self, state: Reading, command: np.ndarray, action: np.ndarray, contact: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Named raw quantities in the base frame, from which every vector is built."""
        return {
            "angular_velocity": state.base_angular_velocity,
            "gravity": state.gravity,
            "command": command,
            "joint_position": state.joint_position - self.default,
            "joint_velocity": state.joint_velocity,
            "previous_action": action,
            "base_velocity": state.local_velocity,
            "foot_velocity": state.local_foot_velocity,
            "foot_contact": contact,
            "hand_position": state.local_hand_position,
            "foot_position": state.local_sole_position,
        }

    def vectors(
        self, state: Reading, facts: dict[str, np.ndarray], field: TerrainField, env_ids: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Proprioception and privileged state of these (m,) worlds, of which `state` and `facts` speak."""
        privileged = self.privileged(facts | self._height_maps(state, field, env_ids))
        return privileged[:, : self.measured].clone(), privileged

    def amp_frame(self, state: Reading, facts: dict[str, np.ndarray]) -> Tensor:
        """One frame of the motion prior; joint positions are absolute there."""
        return self.amp(facts | {"joint_position": state.joint_position})

    def _height_maps(self, state: Reading, field: TerrainField, env_ids: Tensor) -> dict[str, np.ndarray]:
        """Clipped heights below their references, m."""
        base, feet = height_maps(
            field,
            env_ids,
            (state.base_position, state.yaw, self.drop),
            (state.sole_position, state.sole_yaw, self.sole),
        )
        return {"base_height_map": base, "foot_height_maps": feet}
