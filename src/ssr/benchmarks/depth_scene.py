"""Robots in many poses on many tiles, and MuJoCo's own ray casting to compare a depth image with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
import torch
from torch import Tensor

from ssr.physics.world import build_world, show_tile
from ssr.robots.spec import RobotSpec
from ssr.terrain.field import TerrainField
from ssr.terrain.tile import Tile
from ssr.vision.camera import CameraConfig
from ssr.vision.renderer import DepthRenderer

#: how far (rad) a joint may be moved from its default to lift a knee and an arm
LIFTED = {"hip_pitch": -1.2, "knee": 0.9, "shoulder_pitch": -1.3}
#: likewise to bring the right arm before the camera; the left arm takes the mirror image
ACROSS = {
    "waist_yaw": 0.85,
    "shoulder_pitch": -0.3,
    "shoulder_roll": 0.1,
    "shoulder_yaw": 0.65,
    "elbow": -0.4,
}
VISIBLE_GROUPS = np.array([1, 1, 1, 1, 0, 0], dtype=np.uint8)  #: geom groups of shapes and terrain


@dataclass(frozen=True, kw_only=True)
class Scenes:
    """n worlds, one robot pose each. Tensors as `DepthRenderer.render` takes them, float64."""

    robot: RobotSpec
    tiles: tuple[Tile, ...]
    links: tuple[str, ...]
    terrain: TerrainField
    qpos: np.ndarray  #: (n, nq)
    link_position: Tensor
    link_quaternion: Tensor
    camera_position: Tensor
    camera_quaternion: Tensor
    tan_half_fov: Tensor

    def render(self, renderer: DepthRenderer) -> Tensor:
        return renderer.render(
            self.camera_position,
            self.camera_quaternion,
            self.tan_half_fov,
            self.terrain.boxes,
            self.terrain.count,
            self.link_position,
            self.link_quaternion,
            torch.arange(len(self.tiles)),
        )

    def renderer(self, **options) -> DepthRenderer:
        return DepthRenderer(self.robot.shapes, self.links, **options)


class MujocoWorld:
    """One robot on one tile, compiled: MuJoCo's ray casting keeps bounds of the world as it was compiled."""

    def __init__(self, robot: RobotSpec, tile: Tile, config: CameraConfig | None = None) -> None:
        self.robot, self.tile, self.config = robot, tile, config or CameraConfig()
        spec = build_world(robot, len(tile.boxes))
        show_tile(spec, tile)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.links = tuple(dict.fromkeys(shape.link for shape in robot.shapes))
        self._bodies = [self.model.body(name).id for name in self.links]
        self._camera = self.model.site("camera").id
        self._rays = pixel_rays(self.config)

    def pose(self, qpos: np.ndarray) -> None:
        self.data.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, self.data)

    def standing(self, x: float, y: float = 0.0, clearance: float = 0.0) -> np.ndarray:
        """qpos (nq,) of the default pose with the base over (x, y)."""
        qpos = self.model.qpos0.copy()
        ground = float(self.tile.heights(np.array([[x, y]]))[0])
        qpos[:3] = x, y, ground + self.robot.standing_height + clearance
        for joint in self.robot.joints:
            qpos[self.model.joint(joint.name).qposadr[0]] = joint.default
        return qpos

    def random_pose(self, rng: np.random.Generator, spread: float = 0.9) -> np.ndarray:
        """qpos (nq,) over the obstacles, tilted, joints moved, knees lifted; every other one with an
        arm before the camera."""
        x, y = rng.uniform(0.3, self.tile.last_edge), rng.uniform(-1.2, 1.2)
        qpos = self.standing(x, y, clearance=rng.uniform(-0.1, 0.15))
        turn = rng.uniform(-1, 1, size=3) * (0.8, 0.3, 0.3)
        mujoco.mju_euler2Quat(qpos[3:7], turn, "ZYX")
        lift = {side: rng.uniform(0, 1) for side in ("right", "left")}
        crossing = rng.choice(["right", "left", "neither", "neither"])
        for joint in self.robot.joints:
            side = "left" if joint.name.startswith("left") else "right"
            sides = ("right", "left") if joint.role == "waist_yaw" else (side,)
            if joint.role in ACROSS and crossing in sides:
                sign = joint.mirror_sign if crossing == "left" else 1.0
                target = joint.default + sign * ACROSS[joint.role] + 0.15 * rng.uniform(-1, 1)
            else:
                target = (
                    joint.default + LIFTED.get(joint.role, 0.0) * lift[side] + spread * rng.uniform(-1, 1)
                )
            qpos[self.model.joint(joint.name).qposadr[0]] = np.clip(target, joint.lower, joint.upper)
        return qpos

    def eyes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Link positions (L, 3) and quaternions (L, 4), camera position (3,) and quaternion (4,)."""
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, self.data.site_xmat[self._camera])
        bodies = self._bodies
        return self.data.xpos[bodies], self.data.xquat[bodies], self.data.site_xpos[self._camera], quaternion

    def depth(self) -> tuple[np.ndarray, np.ndarray]:
        """MuJoCo's own z-depth (H, W) of this pose, and which pixels show the robot (H, W)."""
        config, rays = self.config, self._rays
        length = np.linalg.norm(rays, axis=1)
        turn = self.data.site_xmat[self._camera].reshape(3, 3)
        directions = np.ascontiguousarray((rays / length[:, None]) @ turn.T)
        hit, distance = np.empty(len(rays), dtype=np.int32), np.empty(len(rays))
        mujoco.mj_multiRay(
            self.model, self.data, self.data.site_xpos[self._camera], directions.ravel(), VISIBLE_GROUPS,
            True, -1, hit, distance, None, len(rays), mujoco.mjMAXVAL,
        )  # fmt: skip
        z = np.where(distance < 0, config.far, distance / length)
        shape = (config.height, config.width)
        on_robot = (hit >= 0) & (self.model.geom_bodyid[np.maximum(hit, 0)] > 0)
        return np.clip(z, config.near, config.far).reshape(shape), on_robot.reshape(shape)


def pose_scenes(worlds: Sequence[MujocoWorld], qpos: Sequence[np.ndarray], pool: int) -> Scenes:
    """The robot of world i in qpos[i]; all worlds hold the same robot."""
    tiles = [world.tile for world in worlds]
    terrain = TerrainField(len(tiles), pool)
    terrain.place(list(range(len(tiles))), tiles)
    seen = []
    for world, pose in zip(worlds, qpos, strict=True):
        world.pose(pose)
        seen.append([part.copy() for part in world.eyes()])
    links_at, links_turned, cameras_at, cameras_turned = (
        torch.tensor(np.stack(part)) for part in zip(*seen, strict=True)
    )
    tangents = torch.tan(torch.tensor(worlds[0].config.fov, dtype=torch.float64) / 2)
    return Scenes(
        robot=worlds[0].robot,
        tiles=tuple(tiles),
        links=worlds[0].links,
        terrain=terrain,
        qpos=np.stack(qpos),
        link_position=links_at,
        link_quaternion=links_turned,
        camera_position=cameras_at,
        camera_quaternion=cameras_turned,
        tan_half_fov=tangents.expand(len(tiles), 2).contiguous(),
    )


def pixel_rays(config: CameraConfig) -> np.ndarray:
    """(H·W, 3) directions of the pixels in camera axes, one unit forward (-z)."""
    tan_x, tan_y = np.tan(np.array(config.fov) / 2)
    x = (2.0 * (np.arange(config.width) + 0.5) / config.width - 1.0) * tan_x
    y = (1.0 - 2.0 * (np.arange(config.height) + 0.5) / config.height) * tan_y
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    return np.concatenate([grid, -np.ones((len(grid), 1))], axis=1)
