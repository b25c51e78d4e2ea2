"""Film strips: the robot doing a motion, one panel per moment, seen from its side."""

from __future__ import annotations

import mujoco
import numpy as np
from PIL import Image

from ssr import rotation
from ssr.pictures.offscreen import Offscreen, dress, onlooker
from ssr.robots.spec import RobotSpec
from ssr.terrain.tile import Box

GROUND, BLOCK = (0.86, 0.87, 0.88, 1.0), (0.66, 0.72, 0.78, 1.0)


def strip(
    robot: RobotSpec,
    configurations: np.ndarray,
    boxes: tuple[Box, ...] = (),
    *,
    panels: int = 8,
    columns: int = 8,
    size: tuple[int, int] = (200, 260),
    azimuth: float = 60.0,
) -> Image.Image:
    """Panels of (T, nq) `configurations`, evenly spaced in time, row by row; `size` is one panel in pixels.

    The camera follows the base and stands `azimuth` degrees to the right of where the robot looks.
    """
    model = scene(robot, boxes, size).compile()
    data = mujoco.MjData(model)
    frames = np.linspace(0, len(configurations) - 1, panels).round().astype(int)
    rows = -(-panels // columns)
    picture = Image.new("RGB", (columns * size[0], rows * size[1]), "white")
    with Offscreen(model, width=size[0], height=size[1]) as screen:
        for k, frame in enumerate(frames):
            data.qpos[:] = configurations[frame]
            mujoco.mj_forward(model, data)
            heading = float(np.degrees(rotation.yaw(configurations[frame, 3:7])))
            x, y, z = data.qpos[:3]
            camera = onlooker((x, y, z - 0.08), 3.3 * robot.standing_height, heading + azimuth, -10.0)
            place = ((k % columns) * size[0], (k // columns) * size[1])
            picture.paste(Image.fromarray(screen.frame(data, camera)), place)
    return picture


def scene(robot: RobotSpec, boxes: tuple[Box, ...], size: tuple[int, int]) -> mujoco.MjSpec:
    """The robot on the ground with the motion's boxes, lit from above."""
    spec = robot.build()
    dress(spec, width=size[0], height=size[1])
    world = spec.worldbody
    world.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.1], rgba=GROUND)
    for box in boxes:
        world.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, pos=box.center, size=box.half, quat=box.quaternion, rgba=BLOCK
        )
    return spec
