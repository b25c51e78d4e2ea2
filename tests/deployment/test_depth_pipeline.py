"""A camera's image through the RealSense filters is the image the policy was trained on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ssr.deployment.contract import Contract
from ssr.deployment.depth_messages import as_image, image_message
from ssr.deployment.depth_pipeline import DepthPipeline, ImageSource
from ssr.errors import UserError
from ssr.rehearsal.lockstep import Eye
from ssr.rehearsal.simulated_camera import SimulatedCamera
from ssr.rehearsal.simulated_robot import SimulatedRobot
from ssr.rehearsal.trial import strip
from ssr.robots import load
from ssr.terrain.field import TerrainField
from ssr.terrain.tile import Tile
from ssr.vision.camera import CameraConfig, DepthCamera

TERRAINS = {"flat": "", "stairs_up": "0.15/0.30", "gap": "0.6", "platform": "0.3", "slope": "15"}


def as_trained(robot: SimulatedRobot, tile: Tile) -> np.ndarray:
    """The image of training's camera, without its randomization."""
    config = CameraConfig(randomization=0.0)
    field = TerrainField(1, len(tile.boxes))
    field.place([0], [tile])
    camera = DepthCamera(robot.robot, 1, config, links=robot.link_names, generator=torch.Generator())
    position, quaternion = (torch.from_numpy(x)[None] for x in robot.link_poses())
    camera.reset(torch.tensor([0]), field, position, quaternion)
    return camera.image[0].numpy()


def standing(kind: str, x: float) -> tuple[SimulatedRobot, Tile]:
    tile = strip(kind, TERRAINS[kind])
    robot = SimulatedRobot(load("x2"), tile)
    ground = float(tile.heights(np.array([[x, 0.0]]))[0])
    height = ground + robot.robot.standing_height
    robot.place((x, 0.1, height), robot.robot.values("default"), yaw=0.15)
    return robot, tile


@pytest.mark.parametrize("kind", TERRAINS)
def test_pipeline_matches_the_camera_of_training(contract: Contract, kind: str) -> None:
    """Within the quarter of a row that the SDK's median costs; at edges pixels are areas there, rays here."""
    for x in (1.0, 1.8):
        robot, tile = standing(kind, x)
        eye = Eye(contract.camera)
        camera = SimulatedCamera(robot.robot, tile, CameraConfig())
        for _ in range(4):
            seen = eye.see(camera.of(robot))
        wanted = as_trained(robot, tile)
        assert seen.shape == wanted.shape == (36, 36) and seen.dtype == np.float32
        error = np.abs(seen - wanted)
        row = np.abs(np.diff(wanted, axis=0, append=wanted[-1:]))
        assert (error < np.maximum(0.3 * row, 0.012)).mean() > 0.9
        assert np.median(error) < 0.01
        assert (error < 0.03).mean() > 0.93


def test_the_image_is_neither_mirrored_nor_upside_down(contract: Contract) -> None:
    depth = np.full((360, 640), 1000, np.uint16)
    depth[:60, 320:] = 2000  # far on the top right
    seen = Eye(contract.camera).see(depth)
    assert seen[2, 30] == 2.0 and seen[2, 5] == 1.0 and seen[33, 30] == 1.0


def test_columns_are_the_middle_ones(contract: Contract) -> None:
    """Of 64 image columns the middle 36 remain: camera columns 140 to 499."""
    for first, column in ((140, 0), (490, 35)):
        depth = np.full((360, 640), 1000, np.uint16)
        depth[:, first : first + 10] = 2500
        seen = Eye(contract.camera).see(depth)
        np.testing.assert_allclose(seen[:, column], 2.5)
        assert (np.delete(seen, column, axis=1) < 1.1).all()


def test_the_blind_band_of_a_stereo_camera_does_not_reach_the_image(contract: Contract) -> None:
    """Objects as near as 0.15 m leave 112 columns on the left without depth."""
    whole = np.full((360, 640), 150, np.uint16)
    blind = whole.copy()
    blind[:, : int(337 * 0.05 / 0.15)] = 0
    np.testing.assert_array_equal(Eye(contract.camera).see(blind), Eye(contract.camera).see(whole))


def test_holes_are_filled(contract: Contract) -> None:
    rng = np.random.default_rng(0)
    depth = np.full((360, 640), 1200, np.uint16)
    depth[rng.random(depth.shape) < 0.3] = 0  # single pixels
    depth[100:130, 300:340] = 0  # and a patch of 3 × 4 image pixels
    np.testing.assert_allclose(Eye(contract.camera).see(depth), 1.2, atol=0.002)


def test_depths_stay_within_the_range_of_training(contract: Contract) -> None:
    eye = Eye(contract.camera)
    assert (eye.see(np.full((360, 640), 9000, np.uint16)) == 3.0).all()
    assert (Eye(contract.camera).see(np.full((360, 640), 40, np.uint16)) == np.float32(0.1)).all()
    assert (Eye(contract.camera).see(np.zeros((360, 640), np.uint16)) == 3.0).all()


def test_a_camera_nobody_knows_is_refused(contract: Contract) -> None:
    with pytest.raises(UserError, match="shrunk by 7"):
        DepthPipeline(replace(contract.camera, shrink=7))
    with pytest.raises(ValueError, match="depth image of"):
        ImageSource(contract.camera).frame(np.zeros((10, 10), np.uint16))


def test_messages_that_are_no_depth_images_are_refused(contract: Contract) -> None:
    image = np.arange(360 * 640, dtype=np.uint32).astype(np.uint16).reshape(360, 640)
    message = image_message(image, 5)
    np.testing.assert_array_equal(as_image(message, contract.camera), image)
    padded = np.zeros((360, 1290), np.uint8)
    padded[:, :1280] = image.view(np.uint8).reshape(360, 1280)
    wide = replace(message, step=1290, data=padded.ravel())
    np.testing.assert_array_equal(as_image(wide, contract.camera), image)
    for wrong in (
        replace(message, encoding="8UC1"),
        replace(message, width=320),
        replace(message, data=message.data[:-2]),
        replace(message, step=10),
        replace(message, is_bigendian=1),
    ):
        assert as_image(wrong, contract.camera) is None
