"""Pictures without a screen: one place that knows about OpenGL backends, sky and light."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import TracebackType

import mujoco
import numpy as np
from mujoco.rendering.classic import gl_context

from ssr.errors import UserError

BACKENDS = ("egl", "osmesa")
DISC_HEIGHT = 0.006  #: m, half
PROBE = """
import mujoco
context = mujoco.GLContext(16, 16)
context.make_current()
mujoco.MjrContext(mujoco.MjModel.from_xml_string("<mujoco/>"), 100).free()
context.free()
"""


@cache
def working_backend() -> str | None:
    """The OpenGL backend that works here, tried in a process of its own: a bad driver may crash."""
    chosen = os.environ.get("MUJOCO_GL")
    for backend in (chosen,) if chosen else BACKENDS:
        probe = subprocess.run(
            [sys.executable, "-c", PROBE], env={**os.environ, "MUJOCO_GL": backend}, capture_output=True
        )
        if probe.returncode == 0:
            return backend
    return None


def dress(spec: mujoco.MjSpec, *, width: int, height: int) -> None:
    """Sky, sun and a picture size for a scene."""
    spec.visual.global_.offwidth, spec.visual.global_.offheight = width, height
    spec.visual.quality.shadowsize = 4096
    spec.visual.headlight.ambient = [0.35] * 3
    spec.visual.headlight.diffuse = [0.35] * 3
    spec.visual.map.zfar = 200
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.9, 0.94, 0.98],
        rgb2=[0.65, 0.73, 0.82],
        width=64,
        height=384,
    )
    spec.worldbody.add_light(
        pos=[0, -4, 12],
        dir=[0.25, 0.35, -1],
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        castshadow=True,
        diffuse=[0.55] * 3,
    )


def onlooker(
    lookat: tuple[float, float, float], distance: float, azimuth: float, elevation: float
) -> mujoco.MjvCamera:
    """A camera at `distance` m from `lookat`; azimuth and elevation in degrees."""
    camera = mujoco.MjvCamera()
    camera.lookat[:] = lookat
    camera.distance, camera.azimuth, camera.elevation = distance, azimuth, elevation
    return camera


@dataclass(frozen=True, kw_only=True)
class Disc:
    """A flat mark that is part of the picture, not of the world."""

    position: tuple[float, float, float]  #: m, of its centre
    radius: float  #: m
    colour: tuple[float, float, float, float]  #: red, green, blue, opacity


class Offscreen:
    """A renderer that draws into arrays. Use as a context manager."""

    def __init__(self, model: mujoco.MjModel, *, width: int, height: int) -> None:
        backend = working_backend()
        if backend is None:
            raise UserError("Cannot draw: no offscreen OpenGL. Install libegl1 and libgl1-mesa-dri.")
        # MuJoCo chose its context class when it was imported, perhaps for a screen that is not there.
        gl_context.GLContext = importlib.import_module(f"mujoco.{backend}").GLContext
        self.renderer = mujoco.Renderer(model, height=height, width=width)

    def frame(
        self, data: mujoco.MjData, camera: mujoco.MjvCamera | str, discs: Sequence[Disc] = ()
    ) -> np.ndarray:
        """(height, width, 3) uint8, with `discs` laid on the ground."""
        self.renderer.update_scene(data, camera)
        scene = self.renderer.scene
        for disc in discs[: scene.maxgeom - scene.ngeom]:
            mujoco.mjv_initGeom(
                scene.geoms[scene.ngeom],
                mujoco.mjtGeom.mjGEOM_ELLIPSOID,
                np.array([disc.radius, disc.radius, DISC_HEIGHT]),
                np.array(disc.position),
                np.eye(3).ravel(),
                np.array(disc.colour, dtype=np.float32),
            )
            scene.ngeom += 1
        return self.renderer.render()

    def __enter__(self) -> Offscreen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.renderer.close()
