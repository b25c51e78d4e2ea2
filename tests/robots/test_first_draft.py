"""`ssr robots new`: what a stranger's MJCF or URDF is, told by where its parts are."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest
from test_own_robot import JOINTS, MJCF, URDF

from ssr import robots
from ssr.cli.main import main
from ssr.robots import description
from ssr.robots.guess import guess
from ssr.robots.posture import measure
from urdf_writing import urdf

EXAMPLE = Path(str(resources.files("ssr.robots") / "example"))
DOCS = Path(__file__).parents[2] / "docs" / "own-robot.md"


def draft(folder: Path, model: str, name: str = "stranger.xml") -> Path:
    (folder / name).write_text(model)
    assert main(["robots", "new", str(folder / name)]) == 0
    return (folder / name).with_suffix(".toml")


@pytest.mark.parametrize("name", robots.names())
def test_a_shipped_robot_seen_as_a_stranger_is_understood(name, tmp_path, capsys):
    """Its bare model, without a word on what is what: the same links, pairs, order, roles and gains."""
    known = robots.load(name)
    found = robots.load(draft(tmp_path, known.build().to_xml()))
    assert found.joint_names == known.joint_names
    for joint, same in zip(found.joints, known.joints, strict=True):
        assert (joint.role, joint.mirror_name, joint.mirror_sign) == (
            same.role,
            same.mirror_name,
            same.mirror_sign,
        )
        assert (joint.kp, joint.kd) == pytest.approx((same.kp, same.kd))
        assert joint.max_torque == pytest.approx(same.max_torque)
    assert (found.base_link, found.torso_link) == (known.base_link, known.torso_link)
    assert (found.foot_links, found.shank_links, found.hand_links) == (
        known.foot_links,
        known.shank_links,
        known.hand_links,
    )
    assert found.sole.length == pytest.approx(known.sole.length, abs=2e-3)
    assert found.sole.center[2] == pytest.approx(known.sole.center[2], abs=2e-3)
    said = capsys.readouterr().out
    assert "It can be used as it is." in said and "max_velocity" in said and "kp and kd" not in said


def test_the_example_is_its_own_draft_finished(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["robots", "example"]) == 0
    finished = robots.load("example.toml")
    Path("example.toml").unlink()
    assert main(["robots", "new", "example.xml"]) == 0
    begun = robots.load("example.toml")
    assert begun.joint_names == finished.joint_names and begun.hand_offset == finished.hand_offset
    assert finished.locked_joints == ("r_wrist", "l_wrist")
    assert {j.max_velocity for j in begun.joints} == {12.0} != {j.max_velocity for j in finished.joints}
    assert "# ?" in Path("example.toml").read_text()
    assert "# ?" not in (EXAMPLE / "example.toml").read_text()
    assert main(["robots", "example"]) == 2
    assert "example.toml exists" in capsys.readouterr().err


@pytest.mark.parametrize("model, name", [(MJCF, "biped.xml"), (URDF, "biped.urdf")])
def test_pairs_are_found_by_place_whatever_axes_and_frames_say(model, name, tmp_path):
    """The left knee of the MJCF turns the other way about, and its feet's frames are turned."""
    (tmp_path / name).write_text(model)
    found = guess(tmp_path / name)
    assert (found.base, found.torso) == ("pelvis", "chest")
    assert (found.feet, found.shanks) == (("r_foot", "l_foot"), ("r_shank", "l_shank"))
    assert found.hands == ("r_arm", "l_arm")
    legs = [(joint.right, joint.left) for joint in found.joints][:4]
    assert legs == [(f"r_{joint}", f"l_{joint}") for joint in JOINTS]
    assert [joint.right for joint in found.joints][4:] == ["waist", "r_shoulder"]
    assert all(("max_velocity" in joint.limits) == name.endswith("xml") for joint in found.joints)


def test_a_urdf_becomes_a_robot(tmp_path, capsys):
    robot = robots.load(draft(tmp_path, URDF, "biped.urdf"))
    assert robot.joint_names[:4] == tuple(f"r_{joint}" for joint in JOINTS)
    assert {j.max_torque for j in robot.joints} == {45.0} and {j.max_velocity for j in robot.joints} == {7.5}
    said = capsys.readouterr().out
    assert "armature" in said and "max_torque" not in said and "max_velocity" not in said


def test_the_same_robot_as_urdf_and_as_mjcf_is_understood_alike(tmp_path):
    known = robots.load(EXAMPLE / "example.toml")
    found = robots.load(draft(tmp_path, urdf(robots.anatomy(EXAMPLE / "example.toml")), "example.urdf"))
    assert found.joint_names == known.joint_names
    assert [j.role for j in found.joints] == [j.role for j in known.joints]
    assert (found.foot_links, found.shank_links) == (known.foot_links, known.shank_links)
    assert measure(found).mass == pytest.approx(measure(known).mass)
    assert found.standing_height == pytest.approx(known.standing_height, abs=1e-6)
    for joint, same in zip(found.joints, known.joints, strict=True):
        assert (joint.max_torque, joint.max_velocity) == pytest.approx((same.max_torque, 15.0))


def test_a_toe_does_not_count_as_a_foot(tmp_path):
    model = MJCF
    for side in "rl":
        plain = f'<body name="{side}_toe" pos="0 -0.15 -0.05">'
        assert plain in model
        hinge = f'<joint name="{side}_toe" axis="1 0 0" range="-0.5 0.5"/>'
        model = model.replace(plain, f'<body name="{side}_toe" pos="0 -0.15 -0.055">{hinge}')
    (tmp_path / "toed.xml").write_text(model)
    found = guess(tmp_path / "toed.xml")
    assert found.feet == ("r_foot", "l_foot") and {"r_toe", "l_toe"} <= set(found.locked)


@pytest.mark.parametrize(
    "model, message",
    [
        ("<mujoco><worldbody/></mujoco>", "holds no robot"),
        ("<mujoco><worldbody><body>", "not a model MuJoCo can read"),
        (MJCF.replace('pos="0 0.1 0"', 'pos="0 0.2 0"').replace('pos="0 0.2 0.3"', 'pos="0 0.1 0.3"'),
         "No two links mirror each other"),
    ],
)  # fmt: skip
def test_what_is_no_biped_is_one_line(model, message, tmp_path, capsys):
    (tmp_path / "stranger.xml").write_text(model)
    assert main(["robots", "new", str(tmp_path / "stranger.xml")]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1
    assert not (tmp_path / "stranger.toml").exists()


def test_nothing_is_overwritten(tmp_path, capsys):
    toml = draft(tmp_path, MJCF)
    before = toml.read_bytes()
    assert main(["robots", "new", str(tmp_path / "stranger.xml")]) == 2
    assert "exists" in capsys.readouterr().err and toml.read_bytes() == before
    assert main(["robots", "new", str(tmp_path / "none.xml")]) == 2


def test_the_page_explains_every_field():
    rows = re.findall(r"^\| (`.*?`) \|", DOCS.read_text(), re.MULTILINE)
    explained = {word.strip("[]") for row in rows for word in re.findall(r"`([^`]+)`", row)}
    fields = {*description.REQUIRED, *description.OPTIONAL, "defaults", *description.JOINT_KEYS}
    assert fields | {"center", "length", "width", "position", "pitch"} == explained
