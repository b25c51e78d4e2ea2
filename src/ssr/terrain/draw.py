"""Pictures of a tile: the boxes in 3-D where OpenGL works, and always the side profile and the height map."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from ssr.errors import UserError
from ssr.terrain.settings import describe
from ssr.terrain.tile import Box, Tile

CROP_BEFORE, CROP_BEHIND = 1.0, 1.5  #: ground shown before and behind the tile (m)
CROP_ACROSS = 2.6  #: the 3-D picture shows |y| up to here
ROBOT_HEIGHT, ROBOT_RADIUS = 1.2, 0.15  #: of the upright capsule that marks the start and gives the scale
RENDER_SIZE = (1400, 560)


def check_picture(path: Path) -> None:
    if path.suffix.lower() != ".png":
        raise UserError(f"Picture {str(path)!r}: the name must end in .png.")
    if not path.parent.is_dir():
        raise UserError(f"Picture {str(path)!r}: no such directory; create {str(path.parent)!r} first.")


def save_picture(tile: Tile, path: Path) -> None:
    """Write a PNG of the tile. Without OpenGL the 3-D view is left out."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    check_picture(path)
    view = render(tile)
    figure = Figure(figsize=(12, 8.4 if view is not None else 4.6), layout="constrained")
    figure.suptitle(_title(tile))
    axes = list(
        figure.subplots(2 if view is None else 3, 1, height_ratios=[2.2, 1, 1][-2 if view is None else -3 :])
    )
    if view is not None:
        picture = axes.pop(0)
        picture.imshow(view)
        picture.axis("off")
    _draw_profile(axes[0], tile)
    _draw_map(figure, axes[1], tile)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    FigureCanvasAgg(figure).print_png(str(temporary))
    os.replace(temporary, path)


def _title(tile: Tile) -> str:
    level = "" if tile.level is None else f", level {tile.level}"
    return f"{tile.kind}{level}: {describe(tile.kind, tile.setting)}"


def _sample(tile: Tile) -> np.ndarray:
    return np.arange(-CROP_BEFORE, tile.length + CROP_BEHIND, 0.005)


def _draw_profile(axes, tile: Tile) -> None:
    x = _sample(tile)
    lanes = np.linspace(-tile.half_width, tile.half_width, 41)
    z = np.max([tile.heights(np.stack([x, np.full_like(x, y)], axis=-1)) for y in lanes], axis=0)
    axes.fill_between(x, z, z.min() - 0.3, color="#8d99a6", lw=0)
    axes.plot(x, z, color="#20303f", lw=1)
    for edge in (tile.first_edge, tile.last_edge) if tile.has_edges else ():
        axes.axvline(edge, color="#c0392b", lw=0.8, ls="--")
    axes.axvline(tile.start, color="#e67e22", lw=1.5)
    axes.set(
        xlim=(x[0], x[-1]),
        ylabel="z (m)",
        title="profile, highest across the tile (orange: start, red: first and last edge)",
    )
    axes.title.set_size(9)
    axes.grid(alpha=0.3)


def _draw_map(figure, axes, tile: Tile) -> None:
    x, y = _sample(tile)[::4], np.linspace(-CROP_ACROSS, CROP_ACROSS, 251)
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    z = tile.heights(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    image = axes.imshow(z, origin="lower", extent=(x[0], x[-1], y[0], y[-1]), aspect="auto", cmap="viridis")
    axes.hlines([-tile.half_width, tile.half_width], 0, tile.length, color="#c0392b", lw=1)
    axes.set(xlabel="x (m)", ylabel="y (m)", title="height from above (red: boundary)")
    axes.title.set_size(9)
    figure.colorbar(image, ax=axes, label="z (m)")


def render(tile: Tile) -> np.ndarray | None:
    """(height, width, 3) uint8 picture of the boxes, or None on a machine without OpenGL."""
    import mujoco

    width, height = RENDER_SIZE
    model = _scene(tile).compile()
    try:
        context = _gl_context(width, height)
        context.make_current()
        graphics = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
    except Exception:  # each backend fails in its own way, and a picture without 3-D view still tells enough
        return None
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, graphics)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera, scene = _camera(tile), mujoco.MjvScene(model, maxgeom=1000)
    options, perturbation = mujoco.MjvOption(), mujoco.MjvPerturb()
    mujoco.mjv_updateScene(model, data, options, perturbation, camera, mujoco.mjtCatBit.mjCAT_ALL, scene)
    viewport = mujoco.MjrRect(0, 0, width, height)
    picture = np.empty((height, width, 3), dtype=np.uint8)
    mujoco.mjr_render(viewport, scene, graphics)
    mujoco.mjr_readPixels(picture, None, viewport, graphics)
    graphics.free()
    context.free()
    return picture[::-1]


def _gl_context(width: int, height: int):
    """A context without a window where none can be opened, else what MUJOCO_GL or the desktop offers."""
    import mujoco

    if sys.platform == "linux" and not os.environ.get("MUJOCO_GL") and not os.environ.get("DISPLAY"):
        from mujoco.egl import GLContext

        return GLContext(width, height)
    return mujoco.GLContext(width, height)


def _camera(tile: Tile):
    import mujoco

    camera = mujoco.MjvCamera()
    camera.lookat[:] = (tile.length / 2, 0.0, tile.end_height / 2 - 0.5)
    camera.distance = 1.4 * tile.length + 3.0
    # Seen from below, so that risers show: from the start where the tile climbs, else from its far end.
    camera.azimuth = 125.0 if tile.end_height < 0 else 55.0
    camera.elevation = -25.0
    return camera


def _scene(tile: Tile):
    import mujoco

    spec = mujoco.MjSpec()
    spec.visual.global_.offwidth, spec.visual.global_.offheight = RENDER_SIZE
    spec.visual.global_.fovy = 30
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
    world = spec.worldbody
    world.add_light(
        pos=[tile.length / 2, -4, 12 + max(tile.end_height, 0)],
        dir=[0.25, 0.35, -1],
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        castshadow=True,
        diffuse=[0.55] * 3,
    )
    for number, box in enumerate(tile.boxes):
        shown = _cropped(box, tile)
        world.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=shown.center,
            size=shown.half,
            quat=[np.cos(shown.pitch / 2), 0, np.sin(shown.pitch / 2), 0],
            rgba=_colour(number, box),
        )
    ground = float(tile.heights(np.array([[tile.start, 0.0]]))[0])
    world.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        pos=[tile.start, 0, ground + ROBOT_HEIGHT / 2],
        size=[ROBOT_RADIUS, ROBOT_HEIGHT / 2 - ROBOT_RADIUS, 0],
        rgba=[0.9, 0.49, 0.13, 1],
    )
    return spec


def _cropped(box: Box, tile: Tile) -> Box:
    """The part of an upright box near the tile; a pitched one is cut in y alone."""
    (cx, cy, cz), (hx, hy, hz) = box.center, box.half
    y = (max(cy - hy, -CROP_ACROSS), min(cy + hy, CROP_ACROSS))
    x = (cx - hx, cx + hx)
    if box.pitch == 0.0:
        x = (max(x[0], -CROP_BEFORE), min(x[1], tile.length + CROP_BEHIND))
    return Box(
        ((x[0] + x[1]) / 2, (y[0] + y[1]) / 2, cz), ((x[1] - x[0]) / 2, (y[1] - y[0]) / 2, hz), box.pitch
    )


def _colour(number: int, box: Box) -> tuple[float, float, float, float]:
    """Ground grey, pits dark, raised and sloped surfaces in two alternating shades."""
    top = box.center[2] + box.half[2]
    if box.pitch == 0.0 and top == 0.0:
        return (0.62, 0.64, 0.66, 1.0)
    if number % 2:
        return (0.42, 0.58, 0.74, 1.0)
    return (0.55, 0.69, 0.83, 1.0)
