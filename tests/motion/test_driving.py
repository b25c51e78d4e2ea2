"""Joint targets by inverse dynamics: weight, balance of forces, mirror images."""

from dataclasses import replace

import numpy as np
import pytest

from ssr.motion.clip import Clip
from ssr.motion.dataset import MotionDataset
from ssr.motion.driving import Driver, standing
from ssr.robots import load

FRAMES = 40  #: of a clip that are looked at


@pytest.fixture(scope="module")
def driver() -> Driver:
    return Driver(load("x2"))


@pytest.fixture(scope="module")
def clips() -> dict[str, Clip]:
    return {clip.name: clip for clip in MotionDataset.load(load("x2"), mirror=False).clips}


def cut(clip: Clip, frames: slice) -> Clip:
    arrays = ("base_position", "base_quaternion", "joint_position", "hand_position", "foot_position")
    return replace(clip, **{name: getattr(clip, name)[frames] for name in arrays})


def test_who_stands_is_held_up_by_both_legs_alike(driver: Driver, clips: dict[str, Clip]) -> None:
    still = cut(clips["stand"], slice(0, FRAMES))
    still = replace(still, **{n: np.repeat(getattr(still, n)[:1], FRAMES, 0) for n in
                              ("base_position", "base_quaternion", "joint_position")})  # fmt: skip
    torque, rule = driver.torques(still)[5], driver.robot.joint_mirror
    assert np.allclose(torque, torque[list(rule.source)] * np.array(rule.sign), atol=0.5)
    knees = [driver.robot.joint_index(f"{side}_knee_joint") for side in ("right", "left")]
    assert all(1.0 < abs(torque[k]) < 20.0 for k in knees), "slightly bent knees bear weight"


def test_a_foot_in_the_air_bears_nothing(driver: Driver, clips: dict[str, Clip]) -> None:
    walk = clips["walk_1.0"]
    where = driver.kinematics.configurations(walk.base_position, walk.base_quaternion, walk.joint_position)
    way = driver.kinematics.trajectories(where)
    bears = standing(driver.robot, walk, way)
    high = way.sole_position[..., 2] > 0.06
    assert bears[high].max() < 0.05 and (bears.max(1) > 0.5).mean() > 0.8


def test_mirrored_motion_has_mirrored_targets(driver: Driver, clips: dict[str, Clip]) -> None:
    walk = cut(clips["turn_+0.5_0.6"], slice(50, 50 + FRAMES))
    rule = driver.robot.joint_mirror
    ours, theirs = driver.targets(walk), driver.targets(walk.mirrored(driver.robot))
    np.testing.assert_allclose(theirs, ours[:, list(rule.source)] * np.array(rule.sign), atol=1e-6)
