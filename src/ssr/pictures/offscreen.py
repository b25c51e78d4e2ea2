"""Pictures without a screen: one place that knows about OpenGL backends, sky and light."""

from __future__ import annotations

import importlib
import operator
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

BACKENDS = ("cgl",) if sys.platform == "darwin" else ("egl", "osmesa")
DISC_HEIGHT = 0.003  #: m, half
UPRIGHT, NOWHERE = np.eye(3).ravel(), np.zeros(3)
SUN = (-0.45, 0.4, -0.8)  #: where its light goes: from the side, so that no two faces of a box look alike
HIGH = 15.0  #: m from the sun to what lies in the middle of its light
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


def dress(spec: mujoco.MjSpec, *, width: int, height: int, fine: bool = True, over: float = 0.0) -> None:
    """Sky, sun and a picture size for a scene; `fine`: with shadows and smooth edges, at ten times the cost
    where there is no graphics card. `over`: x (m) of the scene's middle; shadows far from it are speckled."""
    spec.visual.global_.offwidth, spec.visual.global_.offheight = width, height
    spec.visual.quality.shadowsize = 4096
    spec.visual.quality.offsamples = 4 if fine else 0
    if not fine:
        spec.visual.quality.numslices, spec.visual.quality.numstacks, spec.visual.quality.numquads = 14, 8, 1
    spec.visual.headlight.ambient = [0.34] * 3
    spec.visual.headlight.diffuse = [0.18] * 3
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
        pos=[over - HIGH * SUN[0], -HIGH * SUN[1], -HIGH * SUN[2]],
        dir=SUN,
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        castshadow=fine,
        diffuse=[0.62] * 3,
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


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Thin lines that are part of the picture, not of the world."""

    ends: np.ndarray  #: (n, 2, 3) m
    colour: tuple[float, float, float, float]  #: red, green, blue, opacity
    width: float = 1.5  #: pixels


class Offscreen:
    """A renderer that draws into arrays. Use as a context manager."""

    def __init__(self, model: mujoco.MjModel, *, width: int, height: int) -> None:
        backend = working_backend()
        if backend is None:
            raise UserError("Cannot draw: no offscreen OpenGL. Install libegl1 and libgl1-mesa-dri.")
        # MuJoCo chose its context class when it was imported, perhaps for a screen that is not there.
        gl_context.GLContext = importlib.import_module(f"mujoco.{backend}").GLContext
        self.renderer = mujoco.Renderer(model, height=height, width=width)
        self._lines: list[Lines] = []  #: drawn last
        self._lines_at = (0, 0)  #: where they lie among the scene's shapes: from, to
        # A light with shadows adds a drawing to that of the others; lines, which know no light, are in both.
        self._times_drawn = 1 + int(model.light_castshadow.sum())

    def frame(
        self, data: mujoco.MjData, camera: mujoco.MjvCamera | str, marks: Sequence[Disc | Lines] = ()
    ) -> np.ndarray:
        """(height, width, 3) uint8, with `marks` drawn in; lines of the frame before, the same objects, are
        next to free."""
        self.renderer.update_scene(data, camera)
        self._rule([mark for mark in marks if isinstance(mark, Lines)])
        for mark in marks:
            if isinstance(mark, Disc):
                size = np.array([mark.radius, DISC_HEIGHT, 0.0])
                self._add(mujoco.mjtGeom.mjGEOM_CYLINDER, mark.colour, size, np.array(mark.position))
        return self.renderer.render()

    def _rule(self, lines: list[Lines]) -> None:
        scene = self.renderer.scene
        first = scene.ngeom
        same = len(lines) == len(self._lines) and all(map(operator.is_, lines, self._lines))
        if same and first == self._lines_at[0]:  # a scene that is updated leaves what lies behind it alone
            scene.ngeom = self._lines_at[1]
            return
        for drawn in lines:
            *shade, opacity = drawn.colour
            colour = (*(part / self._times_drawn for part in shade), opacity)
            for start, end in drawn.ends.astype(np.float64):
                line = self._add(mujoco.mjtGeom.mjGEOM_LINE, colour, NOWHERE, NOWHERE)
                if line is not None:
                    mujoco.mjv_connector(line, mujoco.mjtGeom.mjGEOM_LINE, drawn.width, start, end)
        self._lines, self._lines_at = lines, (first, scene.ngeom)

    def _add(
        self,
        kind: mujoco.mjtGeom,
        colour: tuple[float, ...],
        size: np.ndarray,
        position: np.ndarray,
    ) -> mujoco.MjvGeom | None:
        """One more shape in the scene, None if it is full."""
        scene = self.renderer.scene
        if scene.ngeom >= scene.maxgeom:
            return None
        geom = scene.geoms[scene.ngeom]
        mujoco.mjv_initGeom(geom, kind, size, position, UPRIGHT, np.array(colour, dtype=np.float32))
        scene.ngeom += 1
        return geom

    def __enter__(self) -> Offscreen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.renderer.close()
