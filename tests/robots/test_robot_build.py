"""The built model keeps what `RobotSpec.build` promises."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from ssr import robots, rotation
from ssr.robots.links import Link, merge_welded
from ssr.robots.posture import stand

EVERY = pytest.mark.parametrize("name", robots.names())
GUARDS = {"right_foot_guard", "right_shank_guard", "left_foot_guard", "left_shank_guard"}


@EVERY
def test_one_free_base_and_one_hinge_and_actuator_per_joint(name):
    robot = robots.load(name)
    model = robot.build().compile()
    kinds = [int(kind) for kind in model.jnt_type]
    assert kinds.count(mujoco.mjtJoint.mjJNT_FREE) == 1
    assert kinds.count(mujoco.mjtJoint.mjJNT_HINGE) == len(kinds) - 1 == 21
    assert model.jnt_bodyid[0] == model.body(robot.base_link).id
    assert [model.actuator(k).name for k in range(model.nu)] == list(robot.joint_names)
    assert {model.joint(k).name for k in range(1, model.njnt)} == set(robot.joint_names)
    links = {robot.torso_link, *robot.foot_links, *robot.hand_links, *robot.shank_links}
    assert links <= {model.body(k).name for k in range(model.nbody)}


@EVERY
def test_hinges_stop_at_the_joint_limits(name):
    """In the robot alone and after it was attached to a world that counts in degrees."""
    robot = robots.load(name)
    world = mujoco.MjSpec()
    world.attach(robot.build(), prefix="robot/", frame=world.worldbody.add_frame())
    for model, prefix in ((robot.build().compile(), ""), (world.compile(), "robot/")):
        for joint in robot.joints:
            hinge = model.joint(prefix + joint.name)
            np.testing.assert_allclose(hinge.range, (joint.lower, joint.upper), rtol=1e-12)
            assert model.jnt_limited[hinge.id]


@EVERY
def test_an_actuator_is_a_pd_controller_within_its_torque_limit(name):
    robot = robots.load(name)
    model, data = stand(robot.build(), robot.joints)
    rng = np.random.default_rng(0)
    for scale in (0.05, 20.0):
        data.ctrl[:] = robot.values("default") + scale * rng.normal(size=21)
        data.qvel[6:] = rng.normal(size=21)
        mujoco.mj_forward(model, data)
        for k, joint in enumerate(robot.joints):
            velocity = data.joint(joint.name).qvel[0]
            torque = joint.kp * (data.ctrl[k] - joint.default) - joint.kd * velocity
            expected = np.clip(torque, -joint.max_torque, joint.max_torque)
            assert data.actuator_force[k] == pytest.approx(expected, rel=1e-9)


@EVERY
def test_geoms_are_the_listed_shapes_and_four_guards(name):
    robot = robots.load(name)
    model = robot.build().compile()
    guards = {model.geom(k).name for k in range(model.ngeom)} & GUARDS
    assert guards == GUARDS
    geoms = [k for k in range(model.ngeom) if model.geom(k).name not in GUARDS]
    assert len(geoms) == len(robot.shapes)
    by_link = sorted(robot.shapes, key=lambda shape: model.body(shape.link).id)
    for k, shape in zip(geoms, by_link, strict=True):
        assert model.body(model.geom_bodyid[k]).name == shape.link
        np.testing.assert_allclose(model.geom_pos[k], shape.position, atol=1e-12)
        np.testing.assert_allclose(model.geom_quat[k], shape.quaternion, atol=1e-12)
        np.testing.assert_allclose(model.geom_size[k][: len(shape.size)], shape.size)
        assert (model.geom_contype[k], model.geom_conaffinity[k]) == (0, int(shape.collides))
    for side, link in zip(("right", "left"), robot.foot_links, strict=True):
        foot = model.geom(f"{side}_foot")
        assert foot.conaffinity[0] == 1 and model.body(foot.bodyid[0]).name == link


@EVERY
def test_only_the_two_legs_can_touch_each_other(name):
    model = robots.load(name).build().compile()
    bits = [(int(model.geom_contype[k]), int(model.geom_conaffinity[k])) for k in range(model.ngeom)]
    names = [model.geom(k).name for k in range(model.ngeom)]
    pairs = {
        frozenset((names[a], names[b]))
        for a in range(model.ngeom)
        for b in range(a)
        if bits[a][0] & bits[b][1] or bits[b][0] & bits[a][1]
    }
    legs = ("foot_guard", "shank_guard")
    assert pairs == {frozenset((f"right_{a}", f"left_{b}")) for a in legs for b in legs}
    terrain = 1
    assert not any(bits[k][1] & terrain or bits[k][0] & terrain for k, n in enumerate(names) if n in GUARDS)


@EVERY
def test_feet_together_push_each_other_apart(name):
    robot = robots.load(name)
    model, data = stand(robot.build(), robot.joints)
    assert data.ncon == 0
    soles = [data.site(f"{side}_sole").xpos for side in ("right", "left")]
    hip = next(joint.name for joint in robot.joints if joint.role == "hip_roll")
    leg = data.joint(hip).xanchor[2] - soles[0][2]
    inward = np.arcsin((soles[1][1] - soles[0][1] - 0.8 * robot.sole.width) / 2 / leg)
    for joint in robot.joints:
        if joint.role == "hip_roll":
            data.joint(joint.name).qpos[0] = inward if joint.name.startswith("right") else -inward
    mujoco.mj_forward(model, data)
    touching = {
        frozenset(model.geom(int(g)).name for g in contact.geom) for contact in data.contact[: data.ncon]
    }
    assert frozenset(("right_foot_guard", "left_foot_guard")) in touching


@EVERY
def test_the_camera_looks_forward_and_down(name):
    robot = robots.load(name)
    model, data = stand(robot.build(), robot.joints)
    mujoco.mj_forward(model, data)
    down = np.deg2rad(50.0)
    for frame in (data.camera("depth"), data.site("camera")):
        right, up, back = frame.xmat.reshape(3, 3).T
        np.testing.assert_allclose(-back, [np.cos(down), 0, -np.sin(down)], atol=1e-9)
        np.testing.assert_allclose(right, [0, -1, 0], atol=1e-9)
        np.testing.assert_allclose(up, [np.sin(down), 0, np.cos(down)], atol=1e-9)
        np.testing.assert_allclose(frame.xpos, robot.camera.position, atol=1e-9)


@EVERY
def test_the_camera_sits_in_the_open(name):
    """At least a centimetre from every shape, so that no near surface blinds it."""
    robot = robots.load(name)
    model, data = stand(robot.build(), robot.joints)
    mujoco.mj_forward(model, data)
    for k in range(model.ngeom):
        local = data.geom_xmat[k].reshape(3, 3).T @ (data.site("camera").xpos - data.geom_xpos[k])
        assert distance(int(model.geom_type[k]), model.geom_size[k], local) > 0.01, model.geom(k).name


def distance(kind: int, size: np.ndarray, point: np.ndarray) -> float:
    """From a point in a primitive's frame to its surface; not positive inside."""
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return float(np.linalg.norm(np.maximum(np.abs(point) - size, 0)))
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        around = np.array([np.hypot(*point[:2]) - size[0], abs(point[2]) - size[1]])
        return float(np.linalg.norm(np.maximum(around, 0)))
    reach = size[1] if kind == mujoco.mjtGeom.mjGEOM_CAPSULE else 0.0
    return float(np.linalg.norm(point - [0, 0, np.clip(point[2], -reach, reach)]) - size[0])


@EVERY
def test_building_twice_gives_equal_but_separate_models(name):
    robot = robots.load(name)
    first, second = robot.build(), robot.build()
    first.body(robot.base_link).mass = 1.0
    assert second.compile().body(robot.base_link).mass[0] != 1.0


def cloud_link(name: str, parent: str, points: np.ndarray, masses: np.ndarray, rng) -> Link:
    com = masses @ points / masses.sum()
    quaternion = rng.normal(size=4)
    return Link(
        name=name,
        parent=parent,
        position=rng.normal(size=3),
        quaternion=quaternion / np.linalg.norm(quaternion),
        mass=float(masses.sum()),
        com=com,
        inertia=inertia(points - com, masses),
        hinges=(),
        shapes=(),
    )


def inertia(points: np.ndarray, masses: np.ndarray) -> np.ndarray:
    return sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for p, m in zip(points, masses, strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_a_welded_link_weighs_and_turns_as_the_same_matter_in_one_piece(seed):
    """Links made of point masses: the merged link is the link of all the points."""
    rng = np.random.default_rng(seed)
    clouds = [(rng.normal(size=(6, 3)), rng.uniform(0.1, 1, 6)) for _ in range(3)]
    links = [
        cloud_link(name, parent, *cloud, rng)
        for (name, parent), cloud in zip([("a", ""), ("b", "a"), ("c", "b")], clouds, strict=True)
    ]
    (merged,), placed = merge_welded(links)
    points = np.concatenate(
        [[placed[n].point(p) for p in cloud[0]] for n, cloud in zip("abc", clouds, strict=True)]
    )
    masses = np.concatenate([masses for _, masses in clouds])
    com = masses @ points / masses.sum()
    assert merged.mass == pytest.approx(masses.sum())
    np.testing.assert_allclose(merged.com, com, atol=1e-12)
    np.testing.assert_allclose(merged.inertia, inertia(points - com, masses), atol=1e-10)
    tip = rng.normal(size=3)
    through_b = links[1].position + rotation.matrix(links[1].quaternion) @ (
        links[2].position + rotation.matrix(links[2].quaternion) @ tip
    )
    np.testing.assert_allclose(placed["c"].point(tip), through_b, atol=1e-12)
