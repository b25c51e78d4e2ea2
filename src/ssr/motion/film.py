"""Film strips: the robot doing a motion, one panel per moment, seen from its side."""

from __future__ import annotations

import os

import mujoco
import numpy as np
from PIL import Image

from ssr.errors import UserError
from ssr.motion import rotation
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
    with renderer(model, size) as render:
        for k, frame in enumerate(frames):
            data.qpos[:] = configurations[frame]
            mujoco.mj_forward(model, data)
            heading = np.degrees(rotation.yaw(configurations[frame, 3:7]))
            camera = mujoco.MjvCamera()
            camera.lookat[:] = data.qpos[:3] - np.array([0.0, 0.0, 0.08])
            camera.distance = 3.3 * robot.standing_height
            camera.azimuth, camera.elevation = heading + azimuth, -10.0
            render.update_scene(data, camera)
            picture.paste(
                Image.fromarray(render.render()), ((k % columns) * size[0], (k // columns) * size[1])
            )
    return picture


def scene(robot: RobotSpec, boxes: tuple[Box, ...], size: tuple[int, int]) -> mujoco.MjSpec:
    """The robot on the ground with the motion's boxes, lit from above."""
    spec = robot.build()
    spec.visual.global_.offwidth, spec.visual.global_.offheight = size
    world = spec.worldbody
    world.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.1], rgba=GROUND)
    for box in boxes:
        quaternion = rotation.about(rotation.Y, box.pitch)
        world.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, pos=box.center, size=box.half, quat=quaternion, rgba=BLOCK
        )
    world.add_light(
        pos=[0, 0, 6], dir=[0.2, 0.3, -1], type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, castshadow=True
    )
    return spec


def renderer(model: mujoco.MjModel, size: tuple[int, int]) -> mujoco.Renderer:
    """An offscreen renderer, or one line that says what the machine lacks."""
    os.environ.setdefault("MUJOCO_GL", "egl")
    try:
        return mujoco.Renderer(model, height=size[1], width=size[0])
    except Exception as error:
        raise UserError(
            f"Cannot draw without a screen ({type(error).__name__}). Install libegl1 and libgl1-mesa-dri, "
            "or set MUJOCO_GL to a backend this machine has (egl, osmesa, glfw)."
        ) from None
