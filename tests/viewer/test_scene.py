"""What the browser is told, without a browser."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import viser

from ssr.evaluation.subject import Subject
from ssr.rotation import matrix
from ssr.viewer.ground import Ground
from ssr.viewer.scene import CENTRE, Scene
from ssr.viewer.world import Footprint, PlayWorld


@pytest.fixture(scope="module")
def world(untrained: Subject) -> PlayWorld:
    return PlayWorld(untrained, Ground.of("stairs_up", 6))


@pytest.fixture()
def scene(server: viser.ViserServer, world: PlayWorld) -> Scene:
    built = Scene(server, world.env.robot, world.env.simulator.link_names, world.subject.camera)
    built.lay(world.scenery())
    return built


def test_links_stand_where_physics_has_them(scene: Scene, world: PlayWorld) -> None:
    moment = world.step()
    scene.show(moment)
    np.testing.assert_allclose([link.position for link in scene.links], moment.link_position, atol=1e-6)
    np.testing.assert_allclose([link.wxyz for link in scene.links], moment.link_quaternion, atol=1e-6)


def test_every_shape_of_the_robot_is_drawn(scene: Scene, world: PlayWorld) -> None:
    nodes = {link.name for link in scene.links}
    assert {f"/world/robot/{shape.link}" for shape in world.env.robot.shapes} == nodes


def test_on_a_telephone_the_whole_robot_stands_above_the_panel(scene: Scene) -> None:
    """Which covers the lower 60 % of the page."""
    camera = SimpleNamespace(aspect=390 / 844, position=None, look_at=None)
    scene._welcome(SimpleNamespace(camera=camera))
    ahead = np.subtract(camera.look_at, camera.position)
    ahead /= np.linalg.norm(ahead)
    up = np.array([0.0, 0.0, 1.0]) - ahead[2] * ahead
    up /= np.linalg.norm(up)
    soles = np.array([0.0, 0.0, -scene.robot.standing_height])  # the base is the scene's middle
    for point in (soles, -soles):
        seen = point - camera.position
        height = (seen @ up) / (seen @ ahead) / np.tan(scene.server.initial_camera.fov / 2)
        assert 0.2 < height < 1.0  # of the page's half, from its middle


@pytest.mark.parametrize("view", ["follow", "follow and turn"])
def test_following_keeps_the_robot_in_the_middle(scene: Scene, world: PlayWorld, view: str) -> None:
    scene.view = view
    start = world.moment
    for k in range(200):
        scene.show(replace(start, base_position=np.array([0.1 * k, -0.05 * k, 0.8]), base_yaw=1.0))
    base = matrix(scene.world.wxyz) @ np.array([19.9, -9.95, 0.8]) + scene.world.position
    np.testing.assert_allclose(base, 0.0, atol=1e-3)
    heading = matrix(scene.world.wxyz) @ np.array([np.cos(1.0), np.sin(1.0), 0.0])
    assert heading[1] == pytest.approx(0.0 if view == "follow and turn" else np.sin(1.0), abs=1e-3)


def test_an_onlooker_who_stays_sees_the_robot_leave(scene: Scene, world: PlayWorld) -> None:
    scene.show(world.moment)
    scene.view = "stay"
    before = scene.world.position.copy()
    scene.show(replace(world.moment, base_position=np.array([5.0, 1.0, 0.8])))
    np.testing.assert_array_equal(scene.world.position, before)


def test_imagined_footholds_are_shown_for_feet_in_the_air(scene: Scene, world: PlayWorld) -> None:
    """Right in the air, left on the ground; on the first tread, two σ wide."""
    x = 3.5 + 1.5 + 0.1  # behind the level ground before the first piece, on its first tread
    imagined = np.array([[x, -0.1, 0.04], [x, 0.1, 0.06]])
    moment = replace(world.moment, imagined=imagined, contact=np.array([False, True]))
    scene.show(moment)
    right, left = scene.spreads
    assert right.visible and scene.centres[0].visible
    assert not left.visible and not scene.centres[1].visible
    assert right.scale == pytest.approx(0.08)
    assert scene.centres[0].scale == CENTRE
    rise = world.walk.trail.route.pieces[0].setting[0]
    np.testing.assert_allclose(right.position, (x, -0.1, rise), atol=0.01)
    scene.imagined = False
    scene.show(moment)
    assert not right.visible


def test_footprints_are_green_where_supported_and_red_elsewhere(scene: Scene, world: PlayWorld) -> None:
    prints = (
        Footprint(position=np.array([1.0, 0.1, 0.0]), yaw=0.0, support=1.0),
        Footprint(position=np.array([1.3, -0.1, 0.0]), yaw=0.5, support=0.5),
    )
    scene.show(replace(world.moment, footprints=prints))
    shown = scene.prints.batched_scales > 0.5
    assert shown.tolist() == [True, True] + [False] * 10
    (_, green, _), (red, _, _) = scene.prints.batched_colors[:2].tolist()
    assert green > 120 and red > 180
    scene.show(world.moment)
    assert not (scene.prints.batched_scales > 0.5).any()


def test_new_ground_takes_the_place_of_the_old(scene: Scene, world: PlayWorld) -> None:
    old = [node for nodes in scene.ground.values() for node in nodes]
    world.choose(Ground.of("flat", 0))
    scene.lay(world.scenery())
    (here,) = world.scenery()
    names = {node.name for nodes in scene.ground.values() for node in nodes}
    assert names == {f"/world/ground/{here}/{part}" for part in ("edges", "ruling", "0")}
    for node in old:
        with pytest.raises(RuntimeError, match="removed"):
            node.visible = False
    world.choose(Ground.of("stairs_up", 6))


def test_ground_that_is_still_seen_is_not_sent_again(scene: Scene, world: PlayWorld) -> None:
    parts = world.scenery()
    kept, *_, gone = parts
    nodes = scene.ground[kept]
    scene.lay({name: tile for name, tile in parts.items() if name != gone})
    assert scene.ground[kept] is nodes and gone not in scene.ground


def test_the_cone_looks_where_the_camera_looks(scene: Scene, world: PlayWorld) -> None:
    """Forward and 50° down: viser's cameras look along z, with x to their right."""
    assert scene.cone is not None
    turn = matrix(scene.cone.wxyz)
    pitch = np.deg2rad(world.env.robot.camera.pitch)
    np.testing.assert_allclose(turn[:, 2], (np.cos(pitch), 0.0, -np.sin(pitch)), atol=1e-6)
    np.testing.assert_allclose(turn[:, 0], (0.0, -1.0, 0.0), atol=1e-6)
