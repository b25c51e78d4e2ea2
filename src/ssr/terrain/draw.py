"""Pictures of a tile: the boxes in 3-D where OpenGL works, and always the side profile and the height map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ssr.errors import UserError
from ssr.files import replacing
from ssr.terrain.lines import edges, ruling
from ssr.terrain.registry import kind_named
from ssr.terrain.tile import Box, Tile

if TYPE_CHECKING:
    from ssr.pictures.offscreen import Lines

CROP_BEFORE, CROP_BEHIND = 1.0, 1.5  #: ground shown before and behind the tile (m)
CROP_BESIDE = 0.6  #: and beside it
APART = 0.001  #: m between the cut sides of one box and the next
ROBOT_HEIGHT, ROBOT_RADIUS = 1.2, 0.15  #: of the upright capsule that marks the start and gives the scale
RENDER_SIZE = (1400, 560)
LIFT = 0.003  #: m above the ground, of lines
IN_SIGHT = 40.0  #: m from the start, up to which an onlooker is chosen: the ground of a route has no end
PIT = 0.2  #: m below the start, from which on ground counts as one
RULED = 0.9  #: m; on smaller surfaces a ruling would only confuse
EDGE, RULING = (0.12, 0.15, 0.19, 1.0), (0.80, 0.82, 0.85, 1.0)
LOOSE, GRASS, SLIPPERY = (0.72, 0.53, 0.32, 1.0), (0.36, 0.58, 0.25, 1.0), (0.63, 0.83, 0.89, 1.0)


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
    _draw_profile(axes[0], tile.at_rest())
    _draw_map(figure, axes[1], tile.at_rest())
    with replacing(path) as partial:
        FigureCanvasAgg(figure).print_png(str(partial))


def _title(tile: Tile) -> str:
    level = "" if tile.level is None else f", level {tile.level}"
    return f"{tile.kind}{level}: {kind_named(tile.kind).describe(tile.setting)}"


def _sample(tile: Tile) -> np.ndarray:
    return np.arange(-CROP_BEFORE, tile.length + CROP_BEHIND, 0.005)


def _draw_profile(axes, tile: Tile) -> None:
    x = _sample(tile)
    lanes = np.linspace(-tile.half_width, tile.half_width, 41)
    z = np.max([tile.heights(np.stack([x, np.full_like(x, y)], axis=-1)) for y in lanes], axis=0)
    axes.fill_between(x, z, z.min() - 0.3, color="#8d99a6", lw=0)
    axes.plot(x, z, color="#20303f", lw=1)
    for edge in (tile.first_edge, tile.last_edge) if kind_named(tile.kind).has_edges else ():
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
    side = tile.half_width + CROP_BESIDE
    x, y = _sample(tile)[::4], np.linspace(-side, side, 251)
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

    from ssr.pictures.offscreen import Offscreen, working_backend

    if working_backend() is None:
        return None
    width, height = RENDER_SIZE
    model = _scene(tile).compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with Offscreen(model, width=width, height=height) as screen:
        return screen.frame(data, _camera(tile))


def _camera(tile: Tile):
    from ssr.pictures.offscreen import onlooker

    middle = (tile.length / 2, 0.0, tile.end_height / 2)
    return onlooker(middle, 1.35 * tile.length + 1.5, seen_from(tile), -25.0)


def seen_from(tile: Tile) -> float:
    """Azimuth (degrees) of an onlooker who sees the risers: from behind the start where the tile climbs, else
    from its far end; along a gap, whose floor is hidden from everybody else."""
    if tile.end_height < 0:
        return 125.0
    x = np.arange(-CROP_BEFORE, min(tile.length + CROP_BEHIND, IN_SIGHT), 0.005)
    sunk = tile.heights(np.stack([x, np.zeros_like(x)], axis=-1)).min() < -PIT
    return 80.0 if sunk else 55.0


def drawn_lines(tile: Tile) -> list[Lines]:
    """Edges and a metre ruling, for a picture of the tile."""
    from ssr.pictures.offscreen import Lines

    ruled = ruling(tile)
    ruled = ruled[np.linalg.norm(ruled[:, 1] - ruled[:, 0], axis=-1) > RULED]
    return [
        Lines(ends=lines + np.array([0.0, 0.0, LIFT]), colour=colour, width=width)
        for lines, colour, width in ((ruled, RULING, 1.0), (edges(tile), EDGE, 1.5))
    ]


def _scene(tile: Tile):
    import mujoco

    from ssr.pictures.offscreen import dress

    spec = mujoco.MjSpec()
    dress(spec, width=RENDER_SIZE[0], height=RENDER_SIZE[1], over=tile.length / 2)
    spec.visual.global_.fovy = 30
    world = spec.worldbody
    for number, box in enumerate(tile.boxes):
        shown = _cropped(box, tile, number * APART)
        world.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=shown.center,
            size=shown.half,
            quat=shown.quaternion,
            rgba=_colour(number, box),
        )
    for boxes, colour in (([body.box for body in tile.loose], LOOSE), (tile.sights, GRASS)):
        for box in boxes:
            world.add_geom(
                type=mujoco.mjtGeom.mjGEOM_BOX,
                pos=box.center,
                size=box.half,
                quat=box.quaternion,
                rgba=colour,
            )
    ground = float(tile.heights(np.array([[tile.start, 0.0]]))[0])
    world.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        pos=[tile.start, 0, ground + ROBOT_HEIGHT / 2],
        size=[ROBOT_RADIUS, ROBOT_HEIGHT / 2 - ROBOT_RADIUS, 0],
        rgba=[0.9, 0.49, 0.13, 1],
    )
    return spec


def _cropped(box: Box, tile: Tile, inset: float) -> Box:
    """The part of an upright box near the tile; a pitched one is cut in y alone, a turned one not at all.

    inset (m): how much more its sides are cut, so that no two of them lie in one plane and flicker.
    """
    if box.yaw != 0.0:
        return box
    (cx, cy, cz), (hx, hy, hz) = box.center, box.half
    side = tile.half_width + CROP_BESIDE - inset
    y = (max(cy - hy, -side), min(cy + hy, side))
    x = (cx - hx, cx + hx)
    if box.pitch == 0.0:
        x = (max(x[0], -CROP_BEFORE), min(x[1], tile.length + CROP_BEHIND))
    return Box(
        ((x[0] + x[1]) / 2, (y[0] + y[1]) / 2, cz), ((x[1] - x[0]) / 2, (y[1] - y[0]) / 2, hz), box.pitch
    )


def _colour(number: int, box: Box) -> tuple[float, float, float, float]:
    """Ground grey, pits dark, raised and sloped surfaces in two alternating shades."""
    top = box.center[2] + box.half[2]
    if box.friction is not None:
        return SLIPPERY
    if box.pitch == 0.0 and top == 0.0:
        return (0.62, 0.64, 0.66, 1.0)
    if number % 2:
        return (0.42, 0.58, 0.74, 1.0)
    return (0.55, 0.69, 0.83, 1.0)
