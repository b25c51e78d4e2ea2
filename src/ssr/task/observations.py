"""Building the flat vectors of `Layouts` from named quantities."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ssr.physics.simulator import PhysicsState
from ssr.robots.spec import RobotSpec
from ssr.symmetry.layout import Layout
from ssr.symmetry.vectors import Layouts
from ssr.task.config import NoiseConfig
from ssr.terrain.field import TerrainField
from ssr.vision.heightmap import base_map_points, depth_below, foot_map_points


class VectorBuilder:
    """Fills a layout by name and applies its scales."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        scale = torch.ones(layout.size)
        for segment in layout:
            scale[layout.slice(segment.name)] = torch.as_tensor(segment.scale, dtype=torch.float32)
        self.scale = scale

    def __call__(self, parts: Mapping[str, Tensor]) -> Tensor:
        """Raw SI quantities (n, ...) by segment name → (n, size)."""
        flat = [parts[s.name].flatten(1) for s in self.layout]
        return torch.cat(flat, dim=-1) * self.scale


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
        self.robot = robot
        self.default = torch.tensor(robot.values("default"), dtype=torch.float32)
        self.proprioception = VectorBuilder(layouts.proprioception)
        self.privileged = VectorBuilder(layouts.privileged)
        self.amp = VectorBuilder(layouts.amp)

    def facts(
        self, state: PhysicsState, command: Tensor, action: Tensor, contact: Tensor
    ) -> dict[str, Tensor]:
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
            "foot_contact": contact.to(torch.float32),
            "hand_position": state.local_hand_position,
            "foot_position": state.local_sole_position,
        }

    def vectors(
        self, state: PhysicsState, facts: dict[str, Tensor], field: TerrainField
    ) -> tuple[Tensor, Tensor]:
        """Proprioception and privileged state."""
        return self.proprioception(facts), self.privileged(facts | self._height_maps(state, field))

    def amp_frame(self, state: PhysicsState, facts: dict[str, Tensor]) -> Tensor:
        """One frame of the motion prior; joint positions are absolute there."""
        return self.amp(facts | {"joint_position": state.joint_position})

    def _height_maps(self, state: PhysicsState, field: TerrainField) -> dict[str, Tensor]:
        """Clipped heights below their references, m; both maps in one query."""
        base = base_map_points(state.base_position, state.yaw)
        feet = foot_map_points(state.sole_position, state.sole_yaw, self.robot.sole)
        n, split = len(base), base.shape[1]
        ground = field.heights(torch.cat([base, feet.reshape(n, -1, 2)], dim=1))
        target = self.robot.base_height_target - self.robot.base_height_offset
        return {
            "base_height_map": depth_below(state.base_position[:, 2:] - target, ground[:, :split]),
            "foot_height_maps": depth_below(state.sole_position[..., 2:], ground[:, split:].view(n, 2, -1)),
        }
