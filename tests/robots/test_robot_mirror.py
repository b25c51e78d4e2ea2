"""Every robot is its own mirror image: any posture, mirrored, is the posture of the mirrored joints."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssr import robots
from ssr.robots.links import other_side
from ssr.robots.spec import RobotSpec

FLIP = np.array([1.0, -1.0, 1.0])
FLIP_QUATERNION = np.array([1.0, -1.0, 1.0, -1.0])
FLIP_FREE = np.array([1, -1, 1, -1, 1, -1.0])  #: linear and angular velocity of the base
EVERY = pytest.mark.parametrize("name", robots.names())
seeds = st.integers(0, 2**32 - 1)

_built: dict[str, tuple[RobotSpec, mujoco.MjModel]] = {}


def built(name: str) -> tuple[RobotSpec, mujoco.MjModel]:
    if name not in _built:
        _built[name] = (robots.load(name), robots.load(name).build().compile())
    return _built[name]


def mirrored_joints(robot: RobotSpec, angles: np.ndarray) -> np.ndarray:
    rule = robot.joint_mirror
    return np.array(rule.sign) * angles[list(rule.source)]


def random_posture(robot: RobotSpec, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    quaternion = rng.normal(size=4)
    angles = rng.uniform(robot.values("lower"), robot.values("upper"))
    return rng.normal(size=3), quaternion / np.linalg.norm(quaternion), angles


def place(model, robot, position, quaternion, angles) -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.qpos[:3], data.qpos[3:7] = position, quaternion
    for joint, angle in zip(robot.joints, angles, strict=True):
        data.joint(joint.name).qpos[0] = angle
    mujoco.mj_fwdPosition(model, data)
    return data


def both(name: str, seed: int) -> tuple[RobotSpec, mujoco.MjModel, mujoco.MjData, mujoco.MjData]:
    robot, model = built(name)
    position, quaternion, angles = random_posture(robot, seed)
    original = place(model, robot, position, quaternion, angles)
    image = place(model, robot, position * FLIP, quaternion * FLIP_QUATERNION, mirrored_joints(robot, angles))
    return robot, model, original, image


@EVERY
@settings(deadline=None, max_examples=25)
@given(seed=seeds)
def test_every_link_site_and_shape_lands_on_its_mirror_place(name, seed):
    _, model, original, image = both(name, seed)
    for k in range(1, model.nbody):
        link, partner = original.body(k), image.body(other_side(model.body(k).name))
        np.testing.assert_allclose(partner.xpos, link.xpos * FLIP, atol=1e-9)
        np.testing.assert_allclose(partner.xipos, link.xipos * FLIP, atol=1e-9)
        rotation = link.xmat.reshape(3, 3) * np.outer(FLIP, FLIP)
        np.testing.assert_allclose(partner.xmat.reshape(3, 3), rotation, atol=1e-9)
    for site in ("right_sole", "left_sole", "right_hand", "left_hand", "imu", "camera"):
        image_site = image.site(other_side(site))
        np.testing.assert_allclose(image_site.xpos, original.site(site).xpos * FLIP, atol=1e-9)
    centres = np.sort(original.geom_xpos * FLIP, axis=0)
    np.testing.assert_allclose(np.sort(image.geom_xpos, axis=0), centres, atol=1e-9)


@EVERY
@settings(deadline=None, max_examples=25)
@given(seed=seeds)
def test_the_mass_matrix_is_mirror_consistent(name, seed):
    """M(mirrored q) = F M(q) F with F the signed permutation of the velocities."""
    robot, model, original, image = both(name, seed)
    matrices = []
    for data in (original, image):
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full)
        matrices.append(full)
    flip = velocity_mirror(model, robot)
    np.testing.assert_allclose(matrices[1], flip @ matrices[0] @ flip.T, atol=1e-9)


def velocity_mirror(model: mujoco.MjModel, robot: RobotSpec) -> np.ndarray:
    flip = np.zeros((model.nv, model.nv))
    flip[:6, :6] = np.diag(FLIP_FREE)
    for joint in robot.joints:
        row, column = (model.joint(n).dofadr[0] for n in (joint.name, joint.mirror_name))
        flip[row, column] = joint.mirror_sign
    return flip


@EVERY
def test_mirrored_robots_move_as_mirror_images(name):
    """Ten control steps in the air and against the other leg: states stay mirrored to 1e-9."""
    robot, model = built(name)
    model.opt.timestep = 0.005
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    rng = np.random.default_rng(3)
    position, quaternion = np.array([0.0, 0.0, 2.0]), np.array([1.0, 0, 0, 0])
    crossed = robot.values("default") + 0.05 * rng.normal(size=len(robot.joints))
    for joint in robot.joints:  # feet pulled together until the legs touch
        if joint.role == "hip_roll":
            crossed[robot.joint_index(joint.name)] += 0.2 if joint.name.startswith("right") else -0.2
    target = crossed + 0.3 * rng.normal(size=len(robot.joints))
    velocity = 0.5 * rng.normal(size=model.nv)
    original = place(model, robot, position, quaternion, crossed)
    image = place(model, robot, position, quaternion, mirrored_joints(robot, crossed))
    flip = velocity_mirror(model, robot)
    original.qvel[:], image.qvel[:] = velocity, flip @ velocity
    original.ctrl[:], image.ctrl[:] = target, mirrored_joints(robot, target)
    touched = 0
    for _ in range(40):
        mujoco.mj_step(model, original)
        mujoco.mj_step(model, image)
        touched += original.ncon
        assert original.ncon == image.ncon
    assert touched > 0
    np.testing.assert_allclose(image.qvel, flip @ original.qvel, atol=1e-9)
    np.testing.assert_allclose(image.qpos[:3], original.qpos[:3] * FLIP, atol=1e-9)
