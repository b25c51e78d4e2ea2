"""`ssr camera`: what the robot's depth camera sees on a terrain, beside what an onlooker sees."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import mujoco
import numpy as np
import torch
import tyro
from rich.console import Console

from ssr.cli import arguments
from ssr.errors import UserError
from ssr.files import replacing
from ssr.physics.world import build_world, show_tile
from ssr.ranges import Seed, Within, settings
from ssr.robots import load
from ssr.robots.spec import RobotSpec
from ssr.terrain.draw import check_picture, drawn_lines, seen_from
from ssr.terrain.field import TerrainField
from ssr.terrain.making import make_tile
from ssr.terrain.registry import kind_named, kinds_help, settings_help
from ssr.terrain.settings import parse_level
from ssr.terrain.tile import Tile
from ssr.vision.camera import CameraConfig, DepthCamera
from ssr.vision.sensor import SensorConfig

BEFORE_EDGE = 0.35  #: m, how far the base stands before the first edge unless told otherwise
PICTURE = (900, 720)  #: pixels of the onlooker's picture
SIGHT = (0.95, 0.55, 0.1, 0.5)  #: colour of the lines that bound the view

#: joints moved from the default pose (rad), by side and role
POSES: dict[str, dict[str, float]] = {
    "stand": {},
    "step": {"right hip_pitch": -1.0, "right knee": 0.9, "right ankle_pitch": 0.1},
    "reach": {"waist_yaw": 0.85, "right shoulder_yaw": 0.65, "right elbow": -0.4},
}
Pose = Literal["stand", "step", "reach"]


@settings("--")
class CameraOptions:
    """Show what the robot's depth camera sees on a terrain tile, beside what an onlooker sees."""

    terrain: Annotated[str, tyro.conf.arg(metavar="KIND", help=kinds_help())] = "stairs_up"
    level: Annotated[str | None, tyro.conf.arg(metavar="INT")] = None
    """Difficulty 0 to 19; 10 unless a setting is given."""
    setting: Annotated[
        str | None, tyro.conf.arg(metavar="NUMBERS", help=f"Instead of a level. {settings_help()}")
    ] = None
    picture: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Write a PNG here."""
    robot: str = "x2"
    """Whose camera: the name of a shipped robot, or a file that describes one."""
    x: Annotated[float | None, Within(-100.0, 100.0), tyro.conf.arg(metavar="METRES")] = None
    """Where the robot stands along the tile; just before the first edge unless given."""
    pose: Pose = "stand"
    """How: on both feet, with the right knee lifted, or with the right arm across."""
    sensor: bool = False
    """With the sensor model: noise, missing pixels, a blind band and grass."""
    seed: Seed = 0
    """Places obstacles, and draws the sensor's noise."""


def run(argv: list[str]) -> int:
    options = arguments.parsed(CameraOptions, argv, prog="ssr camera")
    if options.picture is not None:
        check_picture(options.picture)
    tile = _tile(options)
    robot = load(options.robot)
    config = CameraConfig(sensor=SensorConfig(enabled=options.sensor))
    scene = StandingRobot(robot, tile, options.x, options.pose)
    depth = scene.depth(config, options.seed)
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{robot.title} on {_title(tile)}, base at x = {scene.x:.2f} m, z = {scene.z:.2f} m")
    horizontal, vertical = np.degrees(config.fov)
    console.print(
        f"{config.width}×{config.height} pixels, {horizontal:.1f}° × {vertical:.1f}°, "
        f"{robot.camera.pitch:g}° down: nearest {depth.min():.2f} m, farthest {depth.max():.2f} m"
    )
    if options.picture is not None:
        _save(options.picture, scene, depth, config)
        console.print(f"picture: {options.picture}")
    return 0


def _tile(options: CameraOptions) -> Tile:
    kind = kind_named(options.terrain)
    setting = None if options.setting is None else kind.parse(options.setting)
    level = None if options.level is None else parse_level(options.level)
    if level is None and setting is None and kind.parameters:
        level = 10
    return make_tile(kind.name, level, setting, np.random.default_rng(options.seed)).at_rest()


def _title(tile: Tile) -> str:
    level = "" if tile.level is None else f", level {tile.level}"
    return f"{tile.kind}{level}: {kind_named(tile.kind).describe(tile.setting)}"


class StandingRobot:
    """The robot, its soles on the tile, not moving."""

    def __init__(self, robot: RobotSpec, tile: Tile, x: float | None, pose: Pose) -> None:
        self.robot, self.tile = robot, tile
        self.x = tile.first_edge - BEFORE_EDGE if x is None else x
        if not tile.boxes[0].center[0] - tile.boxes[0].half[0] + 1 <= self.x <= tile.length:
            raise UserError(f"x = {self.x:g} m: the tile is {tile.length:g} m long; stand on it.")
        self.links = tuple(dict.fromkeys(shape.link for shape in robot.shapes))
        self.spec = build_world(robot, len(tile.boxes))
        show_tile(self.spec, tile)
        model = self.spec.compile()
        data = mujoco.MjData(model)
        for joint in robot.joints:
            side = next((s for s in ("right", "left") if joint.name.startswith(s)), "")
            moved = POSES[pose].get(f"{side} {joint.role}".strip(), 0.0)
            data.qpos[model.joint(joint.name).qposadr[0]] = np.clip(
                joint.default + moved, joint.lower, joint.upper
            )
        data.qpos[0] = self.x
        self.z = self._height_on_soles(model, data)
        data.qpos[2] = self.z
        mujoco.mj_kinematics(model, data)
        self.qpos, self.data, self.model = data.qpos.copy(), data, model

    def _height_on_soles(self, model: mujoco.MjModel, data: mujoco.MjData) -> float:
        """Base height at which the lower foot, or the one on higher ground, touches."""
        data.qpos[2] = 0.0
        mujoco.mj_kinematics(model, data)
        offsets = self.robot.sole.offsets().reshape(-1, 2)
        soles = [data.site(f"{side}_sole").xpos for side in ("right", "left")]
        return float(max(self.tile.heights(sole[:2] + offsets).max() - sole[2] for sole in soles))

    def depth(self, config: CameraConfig, seed: int) -> np.ndarray:
        """(H, W) z-depth in metres, through a camera mounted exactly as drawn."""
        seen = self.tile.seen()
        terrain = TerrainField(1, len(seen.boxes))
        terrain.place([0], [seen])
        generator = torch.Generator().manual_seed(seed)
        camera = DepthCamera(self.robot, 1, config, links=self.links, generator=generator)
        bodies = [self.model.body(name).id for name in self.links]
        poses = (torch.tensor(self.data.xpos[bodies])[None], torch.tensor(self.data.xquat[bodies])[None])
        camera.reset(torch.tensor([0]), terrain, *poses, ramp=0.0)
        return camera.image[0].numpy()

    def onlooker(self, depth: np.ndarray, config: CameraConfig) -> np.ndarray | None:
        """(height, width, 3) picture with the bounds of the view drawn in, None without OpenGL."""
        from ssr.pictures.offscreen import Offscreen, dress, onlooker, working_backend

        if working_backend() is None:
            return None
        width, height = PICTURE
        eye = self.data.site("camera").xpos.copy()
        for corner in self.corners(depth, config):
            self.spec.worldbody.add_geom(
                type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[0.004, 0, 0], fromto=[*eye, *corner], rgba=SIGHT,
                contype=0, conaffinity=0,
            )  # fmt: skip
        dress(self.spec, width=width, height=height)
        model = self.spec.compile()
        data = mujoco.MjData(model)
        data.qpos[:] = self.qpos
        mujoco.mj_forward(model, data)
        scale = self.robot.standing_height
        middle = (self.x + 0.6 * scale, 0.0, self.z - 0.25 * scale)
        camera = onlooker(middle, 4.2 * scale, seen_from(self.tile), -18.0)
        with Offscreen(model, width=width, height=height) as picture:
            return picture.frame(data, camera, drawn_lines(self.tile)).copy()

    def corners(self, depth: np.ndarray, config: CameraConfig) -> list[np.ndarray]:
        """Where the four corner pixels end."""
        site = self.data.site("camera")
        tan_x, tan_y = np.tan(np.array(config.fov) / 2)
        ends = []
        for row, up in ((0, 1.0), (-1, -1.0)):
            for column, right in ((0, -1.0), (-1, 1.0)):
                ray = site.xmat.reshape(3, 3) @ np.array([right * tan_x, up * tan_y, -1.0])
                ends.append(site.xpos + float(depth[row, column]) * ray)
        return ends


def _save(path: Path, scene: StandingRobot, depth: np.ndarray, config: CameraConfig) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 5.6), layout="constrained")
    figure.suptitle(f"{scene.robot.title} on {_title(scene.tile)}")
    seen, beside = figure.subplots(1, 2, width_ratios=[1, 1.15])
    shown = seen.imshow(depth, cmap="turbo", vmin=config.near, vmax=config.far, interpolation="nearest")
    seen.set(title="what the robot sees: depth", xticks=(0, config.width - 1), yticks=(0, config.height - 1))
    figure.colorbar(shown, ax=seen, label="m", shrink=0.9)
    picture = scene.onlooker(depth, config)
    beside.set_title("what an onlooker sees")
    if picture is None:
        _draw_from_the_side(beside, scene, depth, config)
    else:
        beside.imshow(picture)
        beside.axis("off")
    with replacing(path) as partial:
        FigureCanvasAgg(figure).print_png(str(partial))


def _draw_from_the_side(axes: Any, scene: StandingRobot, depth: np.ndarray, config: CameraConfig) -> None:
    """For machines without OpenGL: the ground's profile, the robot as sticks, the bounds of the view."""
    x = np.arange(scene.x - 1.0, scene.x + 2.5, 0.005)
    ground = scene.tile.heights(np.stack([x, np.zeros_like(x)], axis=-1))
    axes.fill_between(x, ground, ground.min() - 0.3, color="#8d99a6", lw=0)
    data, model = scene.data, scene.model
    for geom in range(model.ngeom):
        if model.geom_bodyid[geom] == 0 or model.geom_group[geom] > 2:
            continue
        half = model.geom_size[geom, 1 if model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_BOX else 2]
        axis = data.geom_xmat[geom].reshape(3, 3)[:, 2] * half
        ends = data.geom_xpos[geom] + np.outer([-1, 1], axis)
        axes.plot(ends[:, 0], ends[:, 2], color="#20303f", lw=6, alpha=0.6, solid_capstyle="round")
    eye = data.site("camera").xpos
    for corner in scene.corners(depth, config):
        axes.plot([eye[0], corner[0]], [eye[2], corner[2]], color=SIGHT[:3], lw=1)
    axes.set(aspect="equal", xlabel="x (m)", ylabel="z (m)")
