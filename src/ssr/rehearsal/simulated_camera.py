"""What the simulated robot's depth camera delivers: 640×360 in mm, with a stereo camera's blind band."""

from __future__ import annotations

import numpy as np
import torch

from ssr.rehearsal.simulated_robot import SimulatedRobot
from ssr.robots.spec import RobotSpec
from ssr.rotation.tensors import multiply, rotate
from ssr.terrain.tile import Tile
from ssr.vision.camera import CameraConfig
from ssr.vision.mounting import CameraOffsets, mount_position, mount_quaternion
from ssr.vision.renderer import DepthRenderer

RANGE = (0.1, 10.0)  #: m, what the camera can measure
BASELINE = 0.05  #: m between the two imagers of a D435i
COARSENESS = 5  #: camera pixels per rendered one: the pipeline's first step averages over as many


class SimulatedCamera:
    def __init__(
        self,
        robot: RobotSpec,
        tile: Tile,
        config: CameraConfig,
        offsets: CameraOffsets | None = None,
        seed: int = 0,
    ) -> None:
        self._rng = np.random.default_rng(seed)
        offsets = offsets or CameraOffsets.none(1)
        columns, rows = (pixels // COARSENESS for pixels in config.sensor_pixels)
        links = tuple(dict.fromkeys(shape.link for shape in robot.shapes))
        self._renderer = DepthRenderer(robot.shapes, links, rows, columns, *RANGE)
        self._base = links.index(robot.base_link)
        self._position = mount_position(robot.camera, offsets).double()
        self._quaternion = mount_quaternion(robot.camera, offsets).double()
        self._tan = torch.tan(torch.deg2rad(torch.tensor([config.sensor_fov])) / 2)
        # Offsets of the field of view are those of the image that is kept.
        kept = torch.tensor([config.fov])
        self._tan *= torch.tan((kept + offsets.field_of_view) / 2) / torch.tan(kept / 2)
        tile = tile.seen()
        boxes = tile.rows(len(tile.boxes))
        self._boxes = torch.tensor(boxes, dtype=torch.float32)[None]
        self._count = torch.tensor([len(tile.boxes)], dtype=torch.int32)
        focal = columns / 2 / float(self._tan[0, 0])  # in rendered pixels
        # A pixel is seen by both imagers if it lies farther right than its disparity.
        self._least_depth = (focal * BASELINE / (np.arange(columns) + 0.5)).astype(np.float32)

    def image(self, position: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
        """(360, 640) uint16 in mm, 0 where nothing is measured, from link poses (L, 3), (L, 4)."""
        links, turns = torch.from_numpy(position)[None], torch.from_numpy(quaternion)[None]
        base, turn = links[:, self._base], turns[:, self._base]
        depth = self._renderer.render(
            base + rotate(turn, self._position),
            multiply(turn, self._quaternion),
            self._tan,
            self._boxes,
            self._count,
            links,
            turns,
            torch.zeros(1, dtype=torch.int64),
        )[0].numpy()
        seen = (depth < RANGE[1]) & (depth > self._least_depth)
        # Rounded up or down by chance: two images of a robot that stands still differ, as a camera's do.
        rounded = np.floor(1000.0 * depth + self._rng.random(depth.shape, np.float32))
        millimetres = np.where(seen, rounded, 0.0).astype(np.uint16)
        return np.repeat(np.repeat(millimetres, COARSENESS, axis=0), COARSENESS, axis=1)

    def of(self, robot: SimulatedRobot) -> np.ndarray:
        return self.image(*robot.link_poses())
