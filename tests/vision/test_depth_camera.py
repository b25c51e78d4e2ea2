"""Cameras look where the robot looks, at their own pace, and mirror with the world."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ssr import robots
from ssr.benchmarks.depth_scene import MujocoWorld, pose_scenes
from ssr.errors import UserError
from ssr.symmetry.layout import POLAR, Mirror, apply
from ssr.terrain.field import TerrainField
from ssr.terrain.making import TILE_POOL, make_tile
from ssr.terrain.tile import Box, Tile
from ssr.vision.camera import CameraConfig, DepthCamera

X2 = robots.load("x2")
LINKS = tuple(dict.fromkeys(shape.link for shape in X2.shapes))
EXACT = CameraConfig(randomization=0.0)
QUATERNION = Mirror.signs(1, -1, 1, -1)


def camera(worlds: int, config: CameraConfig = EXACT, seed: int = 0) -> DepthCamera:
    return DepthCamera(X2, worlds, config, links=LINKS, generator=torch.Generator().manual_seed(seed))


class Walk:
    """Worlds on a staircase whose robot stands a little farther on at every step."""

    def __init__(self, worlds: int) -> None:
        self.world = MujocoWorld(X2, make_tile("stairs_up", 8))
        self.terrain = TerrainField(worlds, TILE_POOL)
        self.terrain.place(list(range(worlds)), [self.world.tile] * worlds)
        self.worlds = worlds

    def at(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Link poses of all worlds; world k is k centimetres behind world 0."""
        poses = []
        for k in range(self.worlds):
            self.world.pose(self.world.standing(0.8 + 0.05 * step - 0.01 * k))
            position, quaternion, *_ = (part.copy() for part in self.world.eyes())
            poses.append((position, quaternion))
        return tuple(torch.tensor(np.stack(part)).float() for part in zip(*poses, strict=True))  # type: ignore


def standing_image(tile: Tile, pose: dict[str, float] | None = None, x: float = 0.9) -> np.ndarray:
    """What X2 sees in its default pose with some joints (by role or name) moved by so many radians."""
    world = MujocoWorld(X2, tile)
    qpos = world.standing(x)
    for joint in X2.joints:
        offset = (pose or {}).get(joint.name, 0.0)
        qpos[world.model.joint(joint.name).qposadr[0]] += offset
    scenes = pose_scenes([world], [qpos], TILE_POOL)
    eye = camera(1)
    eye.reset(torch.tensor([0]), scenes.terrain, scenes.link_position, scenes.link_quaternion)
    return eye.image[0].numpy()


# ---- geometry --------------------------------------------------------------------------------------------


def test_the_crop_keeps_the_middle_of_the_sensor() -> None:
    horizontal, vertical = np.degrees(CameraConfig().fov)
    assert horizontal == pytest.approx(56.2, abs=0.05)
    assert vertical == pytest.approx(58.0, abs=1e-9)


@pytest.mark.parametrize("wrong", [{"period": 0}, {"randomization": -1.0}])
def test_an_impossible_camera_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UserError, match="expected"):
        CameraConfig(**wrong)  # type: ignore[arg-type]


def test_on_flat_ground_every_row_is_nearer_than_the_one_above() -> None:
    """Depth of row r: camera height over the downward part of its ray."""
    image = standing_image(make_tile("flat"))
    pitch, tan_half = np.radians(X2.camera.pitch), np.tan(np.radians(58.0) / 2)
    height = X2.standing_height + X2.camera.position[2]
    up = (1.0 - 2.0 * (np.arange(36) + 0.5) / 36) * tan_half
    expected = height / (np.sin(pitch) - up * np.cos(pitch))
    assert (np.diff(expected) < 0).all()
    ground = image[:, 18]
    assert np.abs(ground - expected)[:24].max() < 1e-4


def test_column_0_is_on_the_robots_left() -> None:
    block = Box((1.5, 0.45, 0.2), (0.2, 0.25, 0.2))
    flat = make_tile("flat")
    without, with_block = standing_image(flat), standing_image(replace(flat, boxes=(*flat.boxes, block)))
    columns = np.flatnonzero((without - with_block > 0.01).any(0))
    assert len(columns) > 3 and columns.max() < 18


@pytest.mark.parametrize(
    "pose, left",
    [
        ({"right_hip_pitch_joint": -1.2, "right_knee_joint": 1.0}, False),
        ({"left_hip_pitch_joint": -1.2, "left_knee_joint": 1.0}, True),
    ],
)
def test_the_robot_sees_its_own_knees_on_their_own_side(pose: dict[str, float], left: bool) -> None:
    flat = make_tile("flat")
    rows, columns = np.nonzero(standing_image(flat) - standing_image(flat, pose) > 0.05)
    assert len(rows) > 20
    assert (columns.mean() < 17.5) == left


def test_the_robot_sees_its_arm_when_it_reaches_across() -> None:
    flat = make_tile("flat")
    across = {"waist_yaw_joint": 0.85, "right_shoulder_yaw_joint": 0.65, "right_elbow_joint": -0.4}
    nearer = standing_image(flat) - standing_image(flat, across) > 0.05
    assert nearer.sum() > 20


# ---- mirror ----------------------------------------------------------------------------------------------


def test_a_mirrored_world_gives_the_mirrored_image() -> None:
    """Tile, pose and mounting errors mirrored: the image's columns are reversed."""
    rng = np.random.default_rng(3)
    config = CameraConfig(randomization=4.0)
    worlds, mirrored_worlds, poses, mirrored_poses = [], [], [], []
    for kind in ("slope", "stairs_up", "stairs_down", "discrete", "gap", "platform"):
        tile = make_tile(kind, 12, rng=rng)
        world, other = MujocoWorld(X2, tile), MujocoWorld(X2, tile.mirrored())
        for _ in range(8):
            pose = world.random_pose(rng, spread=0.6)
            poses.append(pose)
            mirrored_poses.append(mirror_pose(world, pose))
        worlds += [world] * 8
        mirrored_worlds += [other] * 8
    images = []
    offsets = None
    for ws, qs in ((worlds, poses), (mirrored_worlds, mirrored_poses)):
        scenes = pose_scenes(ws, qs, TILE_POOL)
        eye = camera(len(qs), replace(config, period=2))
        eye.random_phase = False
        everyone = torch.arange(len(qs))
        eye.reset(everyone, scenes.terrain, scenes.link_position, scenes.link_quaternion)
        if offsets is not None:
            eye.set_offsets(offsets.mirrored())
        offsets = eye.offsets
        for _ in range(3):  # the first is the step of the reset itself
            eye.capture(scenes.terrain, scenes.link_position, scenes.link_quaternion)
        images.append(eye.image.clone())
    original, mirrored = images[0].numpy(), images[1].flip(-1).numpy()
    assert np.abs(original - original[:, :, ::-1]).mean() > 0.01  # the scenes themselves are lopsided
    wrong = np.abs(original - mirrored) > 1e-4
    assert wrong.mean() <= 1e-3


def mirror_pose(world: MujocoWorld, qpos: np.ndarray) -> np.ndarray:
    out = qpos.copy()
    out[:3] = apply(POLAR, torch.tensor(qpos[:3])).numpy()
    out[3:7] = apply(QUATERNION, torch.tensor(qpos[3:7])).numpy()
    address = [world.model.joint(name).qposadr[0] for name in X2.joint_names]
    out[address] = apply(X2.joint_mirror, torch.tensor(qpos[address])).numpy()
    return out


# ---- randomization ---------------------------------------------------------------------------------------


def test_mounting_errors_fill_the_ranges_of_table_10() -> None:
    walk, eye = Walk(1), camera(2000, CameraConfig())
    terrain = TerrainField(2000, 1)
    terrain.place(list(range(2000)), [make_tile("flat")] * 2000)
    position, quaternion = (part.expand(2000, -1, -1) for part in walk.at(0))
    eye.reset(torch.arange(2000), terrain, position, quaternion)
    for drawn, width in (
        (eye.offsets.position, 0.01),
        (eye.offsets.turn, np.radians(1.0)),
        (eye.offsets.field_of_view, np.radians(1.0)),
    ):
        assert drawn.abs().max() <= width
        assert (drawn.amax(0) > 0.98 * width).all() and (drawn.amin(0) < -0.98 * width).all()
        assert (drawn.mean(0).abs() < 0.06 * width).all()
    assert torch.corrcoef(torch.cat(list(vars(eye.offsets).values()), 1).T).triu(1).abs().max() < 0.1


def test_a_reset_remounts_only_its_own_worlds() -> None:
    walk, eye = Walk(4), camera(4, CameraConfig())
    eye.reset(torch.arange(4), walk.terrain, *walk.at(0))
    before = {name: value.clone() for name, value in vars(eye.offsets).items()}
    eye.reset(torch.tensor([2]), walk.terrain, *walk.at(0), ramp=0.0)
    for name, value in vars(eye.offsets).items():
        assert torch.equal(value[[0, 1, 3]], before[name][[0, 1, 3]])
        assert (value[2] == 0.0).all() and (before[name][2] != 0.0).any()


# ---- time ------------------------------------------------------------------------------------------------


def test_the_first_frame_is_seen_at_once() -> None:
    walk = Walk(3)
    for config in (EXACT, replace(EXACT, period=5)):
        eye = camera(3, config)
        eye.reset(torch.arange(3), walk.terrain, *walk.at(0))
        fresh = eye.capture(walk.terrain, *walk.at(0))
        assert fresh.all() and (eye.age == 0).all()
        assert (eye.image < 3.0).any()


def test_every_world_takes_a_frame_once_per_period_at_its_own_phase() -> None:
    walk, eye = Walk(40), camera(40, replace(EXACT, period=5))
    eye.reset(torch.arange(40), walk.terrain, *walk.at(0))
    still = walk.at(1)
    eye.capture(walk.terrain, *walk.at(0))
    fresh = torch.stack([eye.capture(walk.terrain, *still) for _ in range(20)])
    assert (fresh.sum(0) == 4).all()
    assert (fresh.view(4, 5, 40).sum(1) == 1).all()
    assert (fresh[:5].sum(1) > 0).all()  # no step at which nobody is due


def test_only_due_worlds_are_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    walk, eye = Walk(20), camera(20, replace(EXACT, period=4))
    rendered = []
    render = eye.renderer.render

    def counting(*args):
        rendered.append(len(args[-1]))
        return render(*args)

    monkeypatch.setattr(eye.renderer, "render", counting)
    eye.reset(torch.arange(20), walk.terrain, *walk.at(0))
    for _ in range(9):
        eye.capture(walk.terrain, *walk.at(0))
    assert sum(rendered) == 20 + 20 * 2


def test_a_restored_camera_goes_on_as_if_nothing_had_happened() -> None:
    walk = Walk(5)
    config = CameraConfig(period=3)
    eye = camera(5, config)
    eye.reset(torch.arange(5), walk.terrain, *walk.at(0))
    for step in range(4):
        eye.capture(walk.terrain, *walk.at(step))
    state = eye.state_dict()
    other = camera(5, config, seed=99)
    other.load_state_dict(state)
    for step in range(4, 14):
        assert torch.equal(
            eye.capture(walk.terrain, *walk.at(step)), other.capture(walk.terrain, *walk.at(step))
        )
        assert torch.equal(eye.image, other.image) and torch.equal(eye.age, other.age)
    assert not torch.equal(state["image"], eye.image)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's process statistics")
def test_memory_does_not_grow_over_ten_thousand_frames() -> None:
    worlds = 10
    walk, eye = Walk(worlds), camera(worlds, CameraConfig())
    poses = walk.at(0)
    eye.reset(torch.arange(worlds), walk.terrain, *poses)

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for _ in range(100):
        eye.capture(walk.terrain, *poses)
    before = resident()
    for _ in range(10_000 // worlds):
        eye.capture(walk.terrain, *poses)
    assert resident() - before < 2**20
