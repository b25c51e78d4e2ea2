"""The scene in the browser: robot, ground, footprints and imagined footholds.

Everything hangs on one node, `/world`. Following the robot means moving that node the other way, so that
whoever looks on can still turn and zoom the view freely.
"""

from __future__ import annotations

from math import cos, sin
from typing import Literal, get_args

import numpy as np
import viser

from ssr import rotation
from ssr.evaluation.film import BAD, FEET, GOOD
from ssr.learning.statistics import SAFE_SUPPORT
from ssr.robots.assembly import JOINT, LEFT_FOOT, RIGHT_FOOT, SHELL
from ssr.robots.spec import RobotSpec
from ssr.terrain.lines import edges, in_pieces, ruling
from ssr.terrain.tile import Box, Tile
from ssr.viewer import meshes
from ssr.viewer.footprints import TRAIL
from ssr.viewer.world import PlayMoment
from ssr.vision.camera import CameraConfig

View = Literal["follow", "follow and turn", "stay"]
VIEWS: tuple[View, ...] = get_args(View)

GROUND = ((126, 136, 148), (100, 116, 134))  #: boxes in turn
GRASS, WOOD = (92, 148, 64), (184, 135, 82)
EDGE, RULING = (60, 70, 84), (222, 227, 232)
LIFT = 0.006  #: m above the ground, of lines
LONGEST = 2.0  #: m; a browser loses the near part of a line that goes on behind the onlooker
ABOVE_GROUND = 0.006  #: m, of marks
SMOOTHING = 0.08  #: per drawn frame, of the onlooker's height and heading
CENTRE = 0.018  #: m, radius of the dot in the middle of an imagined foothold
UPRIGHT = 0.8  #: width ÷ height of a window that is held upright
CONE = 0.35  #: m, how far the camera's view is drawn


def _rgb(colour: tuple[float, ...]) -> tuple[int, int, int]:
    r, g, b = (round(255 * c) for c in colour[:3])
    return r, g, b


class Scene:
    def __init__(
        self, server: viser.ViserServer, robot: RobotSpec, links: tuple[str, ...], camera: CameraConfig | None
    ) -> None:
        self.server, self.robot = server, robot
        self.view: View = "follow"
        self.imagined = self.footprints = True  #: are shown
        self.laid: dict[str, Tile] = {}
        self.ground: dict[str, list[viser.SceneNodeHandle]] = {}  #: by what was laid
        self.loose: list[viser.SceneNodeHandle] = []  #: those of it that move
        self._height, self._heading = robot.standing_height, 0.0  #: of the onlooker, smoothed
        reach = robot.standing_height
        server.initial_camera.position = (-2.1 * reach, -2.9 * reach, 1.0 * reach)
        server.initial_camera.look_at = (0.3 * reach, 0.0, -0.3 * reach)
        server.initial_camera.fov = 0.9
        server.on_client_connect(self._welcome)
        server.scene.configure_fog(8.0, 30.0)
        server.scene.configure_environment_map(None)  # costs a machine without a GPU ten seconds
        server.scene.add_light_hemisphere("/sky", ground_color=(165, 170, 180), intensity=2.0)
        self.world = server.scene.add_frame("/world", show_axes=False)
        self.links = [server.scene.add_frame(f"/world/robot/{link}", show_axes=False) for link in links]
        for link in links:
            self._add_link(link)
        self._add_marks()
        self.cone = None if camera is None else self._add_cone(camera)  #: the camera's view

    def _welcome(self, client: viser.ClientHandle) -> None:
        """On a telephone the panel covers the lower part: the robot goes above it, further away."""
        if client.camera.aspect < UPRIGHT:
            reach = self.robot.standing_height
            client.camera.position = (-4.4 * reach, -5.7 * reach, 0.8 * reach)
            client.camera.look_at = (0.3 * reach, 0.3 * reach, -2.3 * reach)

    # ---- building ---------------------------------------------------------------------------------------

    def _add_link(self, link: str) -> None:
        shapes = [shape for shape in self.robot.shapes if shape.link == link]
        for part in dict.fromkeys(shape.part for shape in shapes):
            chosen = [shape for shape in shapes if shape.part == part]
            left = chosen[0].name.startswith("left")
            colour = {"shell": SHELL, "joint": JOINT, "foot": LEFT_FOOT if left else RIGHT_FOOT}[part]
            mesh = meshes.joined(meshes.of_shape(shape) for shape in chosen)
            self.server.scene.add_mesh_simple(
                f"/world/robot/{link}/{part}",
                mesh.vertices,
                mesh.faces,
                color=_rgb(colour),
                flat_shading=any(shape.kind in ("box", "cylinder") for shape in chosen),
            )

    def _add_marks(self) -> None:
        scene, disc = self.server.scene, meshes.disc()
        sole = meshes.rectangle(self.robot.sole.length, self.robot.sole.width)
        upright = np.tile([1.0, 0.0, 0.0, 0.0], (TRAIL, 1))
        self.prints = scene.add_batched_meshes_simple(
            "/world/footprints",
            sole.vertices,
            sole.faces,
            upright,
            np.zeros((TRAIL, 3)),
            batched_scales=np.full(TRAIL, 1e-6),
            batched_colors=np.zeros((TRAIL, 3), dtype=np.uint8),
            opacity=0.75,
            cast_shadow=False,
            receive_shadow=False,
            lod="off",
        )
        self.spreads, self.centres = (
            [
                scene.add_mesh_simple(
                    f"/world/imagined/{side}/{name}",
                    disc.vertices,
                    disc.faces,
                    color=_rgb(FEET[foot]),
                    opacity=opacity,
                    cast_shadow=False,
                    receive_shadow=False,
                    visible=False,
                )
                for foot, side in enumerate(("right", "left"))
            ]
            for name, opacity in (("spread", 0.4), ("centre", None))
        )

    def _add_cone(self, camera: CameraConfig) -> viser.CameraFrustumHandle:
        """What the depth camera sees, on the base link."""
        horizontal, vertical = camera.fov
        # A camera of MuJoCo looks along -z with y up, one of viser along z with y down.
        turned = rotation.multiply(np.array(self.robot.camera.quaternion), rotation.about(rotation.X, np.pi))
        return self.server.scene.add_camera_frustum(
            f"/world/robot/{self.robot.base_link}/eye",
            fov=vertical,
            aspect=float(np.tan(horizontal / 2) / np.tan(vertical / 2)),
            scale=CONE,
            thickness=0.004,
            color=(40, 60, 80),
            wxyz=turned,
            position=self.robot.camera.position,
            cast_shadow=False,
            visible=False,
        )

    # ---- showing ----------------------------------------------------------------------------------------

    def lay(self, parts: dict[str, Tile]) -> None:
        """Show these parts of the ground, by name; what is shown already stays, what is not named goes."""
        if parts.keys() == self.laid.keys():
            return
        with self.server.atomic():
            for name in parts.keys() - self.laid.keys():
                self.ground[name] = self._add_part(name, parts[name])
            for name in self.laid.keys() - parts.keys():
                for node in self.ground.pop(name):
                    node.remove()
                    self.loose = [other for other in self.loose if other is not node]
        self.laid = parts

    def _add_part(self, name: str, tile: Tile) -> list[viser.SceneNodeHandle]:
        scene, here = self.server.scene, f"/world/ground/{name}"
        nodes: list[viser.SceneNodeHandle] = [
            scene.add_line_segments(
                f"{here}/{what}",
                in_pieces(lines(tile), LONGEST),
                colour,
                thickness=0.007,
                position=(0.0, 0.0, LIFT),
            )
            for what, lines, colour in (("edges", edges, EDGE), ("ruling", ruling, RULING))
        ]
        groups = [(str(k), tile.boxes[k :: len(GROUND)], colour) for k, colour in enumerate(GROUND)]
        for what, boxes, colour in (*groups, ("grass", tile.sights, GRASS)):
            if boxes:
                mesh = meshes.joined(map(meshes.of_box, boxes))
                nodes.append(
                    scene.add_mesh_simple(
                        f"{here}/{what}",
                        mesh.vertices,
                        mesh.faces,
                        color=colour,
                        flat_shading=what != "grass",
                    )
                )
        self.loose += [self._add_loose(f"{here}/loose/{k}", body.box) for k, body in enumerate(tile.loose)]
        return nodes + self.loose[len(self.loose) - len(tile.loose) :]

    def _add_loose(self, name: str, box: Box) -> viser.SceneNodeHandle:
        mesh = meshes.of_box(Box((0.0, 0.0, 0.0), box.half))
        return self.server.scene.add_mesh_simple(
            name,
            mesh.vertices,
            mesh.faces,
            color=WOOD,
            flat_shading=True,
            position=box.center,
            wxyz=box.quaternion,
        )

    def show_cone(self, wanted: bool) -> None:
        if self.cone is not None:
            self.cone.visible = wanted

    def show(self, moment: PlayMoment) -> None:
        """Bring everything to this moment at once."""
        with self.server.atomic():
            for link, position, quaternion in zip(
                self.links, moment.link_position, moment.link_quaternion, strict=True
            ):
                link.position, link.wxyz = position, quaternion
            for body, position, quaternion in zip(
                self.loose, moment.loose_position, moment.loose_quaternion, strict=True
            ):
                body.position, body.wxyz = position, quaternion
            self._look(moment)
            self._show_imagined(moment)
            self._show_footprints(moment)

    def _look(self, moment: PlayMoment) -> None:
        if self.view == "stay":
            return
        x, y, z = moment.base_position.tolist()
        self._height += SMOOTHING * (z - self._height)
        aim = moment.base_yaw if self.view == "follow and turn" else 0.0
        self._heading += SMOOTHING * ((aim - self._heading + np.pi) % (2 * np.pi) - np.pi)
        c, s = cos(self._heading), sin(self._heading)
        self.world.wxyz = rotation.about(rotation.Z, -self._heading)
        self.world.position = (-c * x - s * y, s * x - c * y, -self._height)

    def _show_imagined(self, moment: PlayMoment) -> None:
        """Of the feet in the air: a dot where the foot is expected to land, a disc of two σ around it."""
        for foot in (0, 1):
            shown = self.imagined and moment.imagined is not None and not moment.contact[foot]
            if shown and moment.imagined is not None:
                x, y, std = moment.imagined[foot].tolist()
                height = self._ground_at(np.array([[x, y]]))[0]
                self.spreads[foot].position = (x, y, height + ABOVE_GROUND)
                self.spreads[foot].scale = 2.0 * std
                self.centres[foot].position = (x, y, height + 2 * ABOVE_GROUND)
                self.centres[foot].scale = CENTRE
            self.spreads[foot].visible = self.centres[foot].visible = shown

    def _show_footprints(self, moment: PlayMoment) -> None:
        self.prints.visible = self.footprints
        prints = moment.footprints
        if not prints:
            self.prints.batched_scales = np.full(TRAIL, 1e-6, dtype=np.float32)
            return
        count = len(prints)
        yaw = np.array([p.yaw for p in prints])
        positions, turns = np.zeros((TRAIL, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (TRAIL, 1))
        positions[:count] = [p.position for p in prints]
        positions[:count, 2] += ABOVE_GROUND / 2
        turns[:count] = rotation.about(rotation.Z, yaw)
        colours = np.zeros((TRAIL, 3), dtype=np.uint8)
        colours[:count] = [_rgb(GOOD if p.support > SAFE_SUPPORT else BAD) for p in prints]
        self.prints.batched_positions = positions.astype(np.float32)
        self.prints.batched_wxyzs = turns.astype(np.float32)
        self.prints.batched_colors = colours
        self.prints.batched_scales = (np.arange(TRAIL) < count).astype(np.float32) + np.float32(1e-6)

    def _ground_at(self, points: np.ndarray) -> np.ndarray:
        return np.max([tile.heights(points) for tile in self.laid.values()], axis=0)
