"""What the robots weigh, measure and can do, against the makers' figures and the paper's tables."""

from __future__ import annotations

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest

from ssr import robots
from ssr.errors import UserError
from ssr.robots.posture import measure, stand

FACTS = Path(__file__).parents[3] / "shared" / "robots"
EVERY = pytest.mark.parametrize("name", robots.names())

TABLE_14 = {
    "hip_pitch": (120, 4, 0.25),
    "hip_yaw": (100, 2, 0.25),
    "hip_roll": (100, 2, 0.25),
    "knee": (120, 4, 0.25),
    "ankle_pitch": (40, 2, 0.25),
    "ankle_roll": (20, 1, 0.25),
    "waist_yaw": (100, 3, 0.2),
    "shoulder_pitch": (30, 1, 0.2),
    "shoulder_roll": (30, 1, 0.2),
    "shoulder_yaw": (30, 1, 0.2),
    "elbow": (30, 1, 0.2),
}
LEG = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")


def test_x2_weighs_what_the_paper_says():
    assert measure(robots.load("x2")).mass == pytest.approx(39.0, abs=1e-9)


def test_dr02_weighs_what_its_maker_says():
    assert measure(robots.load("dr02")).mass == pytest.approx(67.575, abs=1e-3)


def test_g1_weighs_what_its_maker_says():
    assert measure(robots.load("g1")).mass == pytest.approx(33.341, abs=1e-3)


def test_g1_measures_and_can_do_what_its_maker_says():
    g1, size = robots.load("g1"), measure(robots.load("g1"))
    assert size.height == pytest.approx(1.32, abs=0.01)
    assert size.foot_distance == pytest.approx(2 * (0.06445 + 0.052 + 0.00215), abs=1e-3)
    assert (len(g1.joints), len(g1.locked_joints)) == (21, 8)
    knee = g1.joints[g1.joint_index("left_knee_joint")]
    assert (knee.lower, knee.upper, knee.max_torque, knee.max_velocity) == (-0.08727, 2.8798, 139, 20)
    ankle = g1.build().compile().joint("right_ankle_pitch_joint")
    assert ankle.armature[0] == 0.007219  # two motors


def test_heights_and_legs():
    x2, dr02 = measure(robots.load("x2")), measure(robots.load("dr02"))
    assert x2.height == pytest.approx(1.3236, abs=1e-3)  # 1.31 m in the paper
    assert x2.thigh == pytest.approx(0.31995, abs=1e-6)
    assert x2.shank == pytest.approx(0.282, abs=1e-6)
    assert dr02.height == pytest.approx(1.8144, abs=1e-3)
    assert dr02.thigh == pytest.approx(0.4194, abs=1e-6)
    assert dr02.shank == pytest.approx(0.41, abs=1e-6)
    assert x2.foot_distance == pytest.approx(0.2741, abs=5e-4)
    assert dr02.foot_distance == pytest.approx(0.3228, abs=1e-6)


def test_joint_counts():
    x2, dr02 = robots.load("x2"), robots.load("dr02")
    assert (len(x2.joints), len(x2.locked_joints)) == (21, 8)
    assert (len(dr02.joints), len(dr02.locked_joints)) == (21, 0)
    assert set(x2.joint_names).isdisjoint(x2.locked_joints)


@EVERY
def test_policy_order_is_appendix_b(name):
    robot = robots.load(name)
    roles = [*LEG, *LEG, "waist_yaw", *ARM, *ARM]
    sides = ["right"] * 6 + ["left"] * 6 + ["waist"] + ["right"] * 4 + ["left"] * 4
    assert [j.role for j in robot.joints] == roles
    assert all(j.name.startswith(side) for j, side in zip(robot.joints, sides, strict=True))


def test_x2_gains_and_scales_are_table_14():
    for joint in robots.load("x2").joints:
        assert (joint.kp, joint.kd, joint.action_scale) == TABLE_14[joint.role], joint.name


@EVERY
def test_mirror_signs_are_appendix_b(name):
    leg, arm = [1, -1, -1, 1, 1, -1], [1, -1, -1, 1]
    robot = robots.load(name)
    assert list(robot.joint_mirror.sign) == [*leg, *leg, -1, *arm, *arm]
    for joint in robot.joints:
        swapped = joint.name.replace("right", "?").replace("left", "right").replace("?", "left")
        assert joint.mirror_name == swapped


@EVERY
def test_limits_torques_and_pose_mirror(name):
    robot = robots.load(name)
    for joint in robot.joints:
        other = robot.joints[robot.joint_index(joint.mirror_name)]
        limits = sorted((joint.mirror_sign * other.lower, joint.mirror_sign * other.upper))
        assert limits == [joint.lower, joint.upper]
        assert joint.default == joint.mirror_sign * other.default
        assert joint.lower <= joint.default <= joint.upper
        for number in ("max_torque", "max_velocity", "kp", "kd", "action_scale"):
            assert getattr(joint, number) == getattr(other, number)


def test_some_limits_by_hand():
    x2, dr02 = robots.load("x2"), robots.load("dr02")
    knee = x2.joints[x2.joint_index("left_knee_joint")]
    assert (knee.lower, knee.upper, knee.max_torque, knee.max_velocity) == (0.0, 2.408554, 120, 11.93808)
    ankle = x2.joints[x2.joint_index("right_ankle_roll_joint")]
    assert (ankle.lower, ankle.upper, ankle.max_torque) == (-0.296706, 0.296706, 36)
    hip = dr02.joints[dr02.joint_index("left_hip_x_joint")]
    assert (hip.lower, hip.upper, hip.max_torque, hip.max_velocity) == (-0.349066, 2.618, 363, 20.0)


def test_paper_numbers_of_x2():
    x2 = robots.load("x2")
    assert x2.base_height_target == 0.68
    assert x2.standing_height + x2.base_height_offset == pytest.approx(0.68, abs=1e-12)
    assert x2.min_foot_distance == 0.22
    assert x2.sole.patch == (0.225, 0.10)
    assert (x2.camera.position, x2.camera.pitch) == ((0.10, 0.0, 0.05), 50.0)


def test_sole_samples_are_a_2_5_cm_grid_about_the_centre():
    offsets = robots.load("x2").sole.offsets()
    assert offsets.shape == (10, 5, 2)
    np.testing.assert_allclose(np.diff(offsets[:, 0, 0]), 0.025)
    np.testing.assert_allclose(np.diff(offsets[0, :, 1]), 0.025)
    np.testing.assert_allclose(offsets.mean((0, 1)), 0, atol=1e-15)


@EVERY
def test_the_default_pose_balances_on_two_flat_soles(name):
    robot = robots.load(name)
    model, data = stand(robot.build(), robot.joints)
    data.qpos[2] = robot.standing_height
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    for side in ("right", "left"):
        foot = data.geom(f"{side}_foot")
        half = model.geom(f"{side}_foot").size
        corners = foot.xpos + np.array(
            [foot.xmat.reshape(3, 3) @ (half * (x, y, -1)) for x in (-1, 1) for y in (-1, 1)]
        )
        np.testing.assert_allclose(corners[:, 2], 0.0, atol=1e-9)
        np.testing.assert_allclose(data.site(f"{side}_sole").xpos, corners.mean(0), atol=1e-9)
        margin = robot.sole.length / 2 - 0.05
        assert abs(data.subtree_com[0, 0] - data.site(f"{side}_sole").xpos[0]) < margin


def test_an_unknown_robot_or_joint_is_one_line():
    with pytest.raises(UserError, match=r"Unknown robot: 'x3'\. Known: dr02, g1, x2"):
        robots.load("x3")
    with pytest.raises(UserError, match=r"left_hip_pich.*left_hip_pitch_joint"):
        robots.load("x2").joint_index("left_hip_pich")


@pytest.mark.skipif(not FACTS.is_dir(), reason="the makers' full figures are not part of the project")
@pytest.mark.parametrize("name", ["x2", "dr02"])
def test_every_figure_against_the_makers(name):
    facts = json.loads((FACTS / f"{name}_facts.json").read_text())
    robot = robots.load(name)
    model = robot.build().compile()
    scale = 39.0 / sum(link["symmetrised"]["mass"] for link in facts["links"]) if name == "x2" else 1.0
    assert list(robot.joint_names) == facts["paper_joint_order"]
    assert sorted(robot.locked_joints) == sorted(facts.get("fixed_in_21dof", []))
    welded = {link["name"] for link in facts["links"] if link["joint"]["name"] in robot.locked_joints}
    heavier = {link["parent"] for link in facts["links"] if link["name"] in welded}
    for link in facts["links"]:
        joint = link["joint"]
        if joint["name"] in robot.joint_names:
            ours = robot.joints[robot.joint_index(joint["name"])]
            assert (ours.max_torque, ours.max_velocity) == (joint["effort"], joint["velocity"])
            lower, upper = joint["range"]
            if ours.role == "waist_yaw":  # narrowed to the symmetric part
                upper = min(-lower, upper)
                lower = -upper
            assert (ours.lower, ours.upper) == (lower, upper)
            body = model.body(link["name"])
            if link["parent"] not in welded:
                np.testing.assert_allclose(body.pos, link["symmetrised"]["origin_xyz"], atol=1e-9)
            if link["name"] not in heavier:
                assert body.mass[0] == pytest.approx(scale * link["symmetrised"]["mass"], rel=1e-9)
                np.testing.assert_allclose(body.ipos, link["symmetrised"]["com"], atol=1e-9)
