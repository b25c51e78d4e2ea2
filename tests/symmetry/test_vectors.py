"""Sizes, scales and mirror rules of the project's vectors against §3.1 and Table 12."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ssr.errors import UserError
from ssr.symmetry.vectors import Layouts, layouts

NAMES = ("proprioception", "action", "privileged", "actor", "amp")


def all_layouts(vectors: Layouts):
    return [getattr(vectors, name) for name in NAMES]


def test_sizes_of_the_paper(paper_robot):
    vectors = layouts(paper_robot)
    assert [layout.size for layout in all_layouts(vectors)] == [72, 21, 375, 123, 63]


def test_sizes_follow_the_number_of_joints(other_robot):
    vectors = layouts(other_robot)
    assert [layout.size for layout in all_layouts(vectors)] == [78, 23, 381, 129, 67]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", ["paper_robot", "other_robot"])
def test_mirroring_twice_changes_nothing(name, which, request):
    layout = getattr(layouts(request.getfixturevalue(which)), name)
    x = torch.randn(7, layout.size)
    assert torch.equal(layout.mirror(layout.mirror(x)), x)
    assert not torch.equal(layout.mirror(x), x)


def test_mirroring_and_scaling_commute(paper_robot):
    """Otherwise mirroring the scaled vector would not be the mirrored robot's vector."""
    for layout in all_layouts(layouts(paper_robot)):
        for segment in layout:
            scale = torch.as_tensor(segment.scale).expand(segment.size)
            assert torch.equal(scale[list(segment.mirror.source)], scale), segment.name


def put(layout, name, values):
    x = torch.zeros(layout.size)
    x[layout.slice(name)] = torch.as_tensor(values, dtype=torch.float32)
    return x


def seen(layout, name, values):
    return layout.get(layout.mirror(put(layout, name, values)), name).tolist()


@pytest.mark.parametrize("block", ["joint_position", "joint_velocity", "previous_action"])
@pytest.mark.parametrize(
    ("joint", "partner", "sign"),
    [
        ("left_knee", "right_knee", 1),
        ("right_hip_pitch", "left_hip_pitch", 1),
        ("left_hip_roll", "right_hip_roll", -1),
        ("left_hip_yaw", "right_hip_yaw", -1),
        ("left_ankle_pitch", "right_ankle_pitch", 1),
        ("right_ankle_roll", "left_ankle_roll", -1),
        ("waist_yaw", "waist_yaw", -1),
        ("left_shoulder_pitch", "right_shoulder_pitch", 1),
        ("left_shoulder_roll", "right_shoulder_roll", -1),
        ("left_shoulder_yaw", "right_shoulder_yaw", -1),
        ("right_elbow", "left_elbow", 1),
    ],
)
def test_a_bent_joint_bends_on_the_other_side(paper_robot, block, joint, partner, sign):
    layout = layouts(paper_robot).proprioception
    bent = [0.0] * 21
    bent[paper_robot.joint_index(joint)] = 0.7
    mirrored = seen(layout, block, bent)
    assert mirrored[paper_robot.joint_index(partner)] == pytest.approx(0.7 * sign)
    assert sum(abs(v) for v in mirrored) == pytest.approx(0.7)


def test_base_quantities(paper_robot):
    layout = layouts(paper_robot).proprioception
    # Rolling right becomes rolling left; pitching stays; turning left becomes turning right.
    assert seen(layout, "angular_velocity", [1, 2, 3]) == [-1, 2, -3]
    # Leaning left becomes leaning right.
    assert seen(layout, "gravity", [0.1, 0.2, -0.9]) == pytest.approx([0.1, -0.2, -0.9])
    # Forward, left, turn left becomes forward, right, turn right.
    assert seen(layout, "command", [1, 2, 3]) == [1, -2, -3]


def test_privileged_quantities(paper_robot):
    layout = layouts(paper_robot).privileged
    assert seen(layout, "base_velocity", [1, 2, 3]) == [1, -2, 3]
    assert seen(layout, "foot_contact", [1, 0]) == [0, 1]  # standing on the right foot
    for name in ("foot_velocity", "foot_position", "hand_position"):
        assert seen(layout, name, [1, 2, 3, 4, 5, 6]) == [4, -5, 6, 1, -2, 3]


def test_a_wall_on_the_left_is_seen_on_the_right(paper_robot):
    layout = layouts(paper_robot).privileged
    ground = torch.zeros(18, 10)
    ground[3, 9] = 1.0  # the leftmost column, y = +0.45 m
    mirrored = torch.tensor(seen(layout, "base_height_map", ground.flatten())).view(18, 10)
    assert mirrored[3, 0] == 1.0
    assert mirrored.sum() == 1.0


def test_a_stone_under_the_right_foots_outside_is_under_the_left_foots_outside(paper_robot):
    layout = layouts(paper_robot).privileged
    soles = torch.zeros(2, 10, 5)
    soles[0, 7, 0] = 1.0  # right foot, towards the toe, -y side
    mirrored = torch.tensor(seen(layout, "foot_height_maps", soles.flatten())).view(2, 10, 5)
    assert mirrored[1, 7, 4] == 1.0
    assert mirrored.sum() == 1.0


def test_latent_halves_swap_inside_each_head(paper_robot):
    layout = layouts(paper_robot).actor
    for head in ("latent_foot", "latent_base", "latent_proprioception"):
        assert seen(layout, head, range(16)) == [*range(8, 16), *range(8)]
    assert seen(layout, "velocity", [1, 2, 3]) == [1, -2, 3]


def test_a_self_mirrored_pose_is_its_own_mirror(paper_robot):
    """The default pose mirrors onto itself, so standing reads zero on both sides."""
    pose = torch.as_tensor(paper_robot.values("default"))
    rule = paper_robot.joint_mirror
    assert torch.equal(pose[list(rule.source)] * torch.tensor(rule.sign, dtype=pose.dtype), pose)


def broken(robot, joint, **change):
    joints = tuple(replace(j, **change) if j.name == joint else j for j in robot.joints)
    return replace(robot, joints=joints)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"mirror_sign": -1.0}, "do not mirror each other"),
        ({"mirror_name": "left_knee"}, "do not mirror each other"),
        ({"default": 0.2}, "default"),
        ({"action_scale": 0.5}, "action scale"),
        ({"mirror_name": "right_kne"}, "right_kne"),
    ],
)
def test_a_robot_that_is_no_mirror_image_is_refused(paper_robot, change, reason):
    with pytest.raises(UserError, match=reason):
        layouts(broken(paper_robot, "left_knee", **change))
