"""Terrain nobody trained on: physics, rays, heights and mirror images of one description."""

from __future__ import annotations

from math import cos, sin

import mujoco
import numpy as np
import pytest
import torch
from test_geometry import mujoco_heights, triangle_heights

from ssr import robots
from ssr.benchmarks.depth_scene import MujocoWorld, pose_scenes
from ssr.errors import UserError
from ssr.evaluation.courses import course_sets
from ssr.terrain.field import TerrainField
from ssr.terrain.kind import Setting
from ssr.terrain.making import make_tile
from ssr.terrain.registry import all_kinds, kind_named, trained_kinds
from ssr.terrain.settings import LEVELS
from ssr.terrain.strip import STRIP_POOL, make_strip
from ssr.terrain.tile import Tile

UNSEEN = tuple(kind.name for kind in all_kinds() if not kind.trained)
COURSES = [(course.kind, course.setting) for course in course_sets()["open_world"]]
PLATE = (0.24, 0.12, 0.02)  #: m, of what is dropped: about a sole


def strip_of(kind: str, setting: Setting, seed: int = 3) -> Tile:
    return make_strip(kind, setting, rng=np.random.default_rng(seed)).at_rest()


def places_on(tile: Tile, rng: np.random.Generator, count: int = 300) -> np.ndarray:
    """(n, 2) among the obstacles, near the way, none of them within 20 µm of a step in height."""
    way = np.array(tile.way) if tile.way else np.linspace((tile.first_edge, 0.0), (tile.last_edge, 0.0), 99)
    points = way[rng.integers(1, len(way), count)] + rng.uniform(-0.6, 0.6, (count, 2))
    around = [tile.heights(points + 2e-5 * np.array(step)) for step in ((1, 0), (-1, 0), (0, 1), (0, -1))]
    return points[np.ptp(around, axis=0) < 1e-4]


def test_there_are_nine_and_none_is_trained_on() -> None:
    assert len(UNSEEN) == 9
    assert {kind for kind, _ in COURSES} == set(UNSEEN)
    assert not set(UNSEEN) & set(trained_kinds())


@pytest.mark.parametrize("kind", UNSEEN)
def test_every_level_fits_the_pool_of_a_viewer(kind: str) -> None:
    for level in range(0, LEVELS, 3):
        tile = make_tile(kind, level=level, rng=np.random.default_rng(level))
        assert len(tile.boxes) <= STRIP_POOL
        assert tile.heights(np.array([[tile.start, 0.0]])) == pytest.approx(0.0)


@pytest.mark.parametrize(("kind", "setting"), COURSES)
def test_rays_down_meet_the_queried_height(kind: str, setting: Setting) -> None:
    rng = np.random.default_rng(1)
    tile = strip_of(kind, setting)
    points = places_on(tile, rng)
    assert len(points) > 100
    heights = tile.heights(points)
    assert np.abs(triangle_heights(tile, points) - heights).max() < 1e-8
    assert np.abs(mujoco_heights(tile, points) - heights).max() < 1e-8
    field = TerrainField(1, STRIP_POOL)
    field.place([0], [tile])
    queried = field.heights(torch.tensor(points)[None])[0].numpy()
    assert np.abs(queried - heights).max() < 2e-5


@pytest.mark.parametrize(("kind", "setting"), COURSES)
def test_the_mirror_image(kind: str, setting: Setting) -> None:
    tile = make_strip(kind, setting, rng=np.random.default_rng(3))
    mirrored = tile.mirrored()
    assert mirrored.mirrored() == tile
    points = places_on(tile.at_rest(), np.random.default_rng(2))
    np.testing.assert_allclose(
        mirrored.at_rest().heights(points * [1, -1]), tile.at_rest().heights(points), atol=1e-12
    )
    shown = np.concatenate([box.corners() for box in tile.seen().boxes])
    other = np.concatenate([box.corners() for box in mirrored.seen().boxes])
    other = other.reshape(-1, 2, 2, 2, 3)[:, :, ::-1].reshape(-1, 3)  # left and right corners change places
    np.testing.assert_allclose(other, shown * [1, -1, 1], atol=1e-12)


@pytest.mark.parametrize(("kind", "setting"), COURSES)
def test_images_are_what_mujoco_measures(kind: str, setting: Setting) -> None:
    rng = np.random.default_rng(5)
    tile = make_strip(kind, setting, length=6.0, rng=rng).at_rest().seen()
    world = MujocoWorld(robots.load("x2"), tile)
    poses = [world.random_pose(rng) for _ in range(12)]
    scenes = pose_scenes([world] * len(poses), poses, len(tile.boxes))
    reference = []
    for pose in poses:
        world.pose(pose)
        reference.append(world.depth()[0])
    ours = scenes.render(scenes.renderer()).numpy()
    outside = ~(ours == np.float32(0.1)).all((1, 2))
    assert outside.sum() >= 6
    wrong = np.abs(ours - np.stack(reference))[outside] > 1e-3
    assert wrong.mean() < 2e-3  # silhouettes: a blade of grass has more of them than insides


@pytest.mark.parametrize(("kind", "setting"), COURSES)
def test_a_plate_dropped_on_it_rests_where_heights_say(kind: str, setting: Setting) -> None:
    rng = np.random.default_rng(4)
    tile = strip_of(kind, setting)
    spots = _flat_spots(tile, rng, kind == "grid_floor")
    spec = mujoco.MjSpec()
    spec.option.timestep = 0.002
    for box in tile.boxes:
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, pos=box.center, size=box.half, quat=box.quaternion,
            contype=1, conaffinity=0,
        )  # fmt: skip
    for spot in spots:
        x, y, z, yaw = spot
        turn = np.zeros(4)
        mujoco.mju_axisAngle2Quat(turn, np.array([0.0, 0.0, 1.0]), yaw)
        body = spec.worldbody.add_body(pos=(x, y, z + 0.03), quat=turn)
        body.add_freejoint()
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, size=[side / 2 for side in PLATE], density=800,
            contype=0, conaffinity=1, friction=(1.0, 0.01, 0.001),
        )  # fmt: skip
    model = spec.compile()
    data = mujoco.MjData(model)
    for _ in range(600):
        mujoco.mj_step(model, data)
    for number, (x, y, *_) in enumerate(spots):
        place = data.qpos[7 * number : 7 * number + 3]
        assert np.abs(place[:2] - (x, y)).max() < 0.02, "it stays where it fell"
        under = tile.heights(place[None, :2])[0] if kind != "grid_floor" else 0.0
        assert place[2] - under == pytest.approx(PLATE[2] / 2, abs=2e-3)


def _flat_spots(tile: Tile, rng: np.random.Generator, gridded: bool, count: int = 8) -> list[tuple]:
    """x, y, z and yaw where a plate has nothing but one plane under it, or where it bridges bars."""
    side_x, side_y = (np.linspace(-side / 2 - 0.02, side / 2 + 0.02, 9) for side in PLATE[:2])
    patch = np.stack(np.meshgrid(side_x, side_y), axis=-1).reshape(-1, 2)
    spots: list[tuple] = []
    for x, y in places_on(tile, rng, 4000):
        yaw = rng.uniform(-0.3, 0.3)
        turned = patch @ np.array([[cos(yaw), sin(yaw)], [-sin(yaw), cos(yaw)]])
        heights = tile.heights(turned + np.array([x, y]))
        plane = np.c_[turned, np.ones(len(turned))]
        bent = np.abs(heights - plane @ np.linalg.lstsq(plane, heights, rcond=None)[0]).max()
        apart = [np.hypot(x - other[0], y - other[1]) for other in spots]
        solid = heights.max() > -0.3 or not kind_named(tile.kind).has_pits
        if (gridded or bent < 1e-6) and min(apart, default=9.0) > 0.3 and solid:
            spots.append((x, y, heights.max(), yaw))
        if len(spots) == count:
            break
    assert len(spots) == count
    return spots


def test_through_a_grid_and_between_open_steps_the_ground_below_is_seen() -> None:
    """A ray straight down between bars meets the pit, one between treads passes under the next."""
    grid = make_strip("grid_floor", (0.1, 0.05))
    on, between = np.array([[1.5 + 0.125, 0.2]]), np.array([[1.55, 0.2]])
    assert grid.heights(on)[0] == 0.0
    assert grid.heights(between)[0] == pytest.approx(-0.6)
    stairs = make_strip("open_stairs", (0.15, 0.3))
    treads = [box for box in stairs.boxes if box.half[1] == pytest.approx(0.65)]
    assert len(treads) > 60
    assert all(2 * box.half[2] == pytest.approx(0.04) for box in treads), "no riser fills the 11 cm between"


def test_uneven_steps_differ_and_keep_their_mean() -> None:
    tile = make_strip("uneven_stairs", (0.13, 0.32), rng=np.random.default_rng(0))
    tops = np.array([box.center[2] + box.half[2] for box in tile.boxes])
    risers, treads = np.diff(tops), np.array([2 * box.half[0] for box in tile.boxes[1:-1]])
    assert np.ptp(risers) > 0.05 and np.ptp(treads) > 0.1
    assert risers.mean() == pytest.approx(0.13, rel=0.1)
    assert (risers > 0.09).all() and (risers < 0.17).all()


def test_the_spiral_turns_inwards_without_a_turn_above_another() -> None:
    tile = make_strip("spiral_stairs", (0.15, 0.3))
    way = np.array(tile.way)
    heights = tile.heights(way)
    assert (np.diff(heights) >= -1e-9).all() and heights[-1] == pytest.approx(0.15 * 73)
    steps = np.diff(way, axis=0)
    turned = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
    assert turned[-1] > 2.5 * np.pi
    assert np.linalg.norm(steps, axis=1).sum() > 22.0


@pytest.mark.parametrize(
    ("kind", "text"),
    [("open_stairs", "0.5/0.3"), ("grid_floor", "0.001"), ("trolley", "8/-0.3"), ("tall_grass", "0.6/1e9"),
     ("pallets", "nan"), ("spiral_stairs", "-0.1/0.3"), ("street", ""), ("stepping_stones", "0.2")],
)  # fmt: skip
def test_a_bad_setting_is_one_clear_line(kind: str, text: str) -> None:
    with pytest.raises(UserError, match=kind) as caught:
        kind_named(kind).parse(text)
    assert "\n" not in str(caught.value)
