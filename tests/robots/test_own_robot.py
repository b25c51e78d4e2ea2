"""A user's own robot: a small MJCF and a small URDF of one biped, and what can be wrong with them."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from ssr import robots
from ssr.errors import UserError
from ssr.robots.posture import measure, stand

SIDES = {"r": -1, "l": 1}
JOINTS = ("hip_roll", "hip_pitch", "knee", "ankle")

TOML = """
model = "MODEL"
base = "pelvis"
torso = "chest"
feet = ["r_foot", "l_foot"]
shanks = ["r_shank", "l_shank"]
hands = ["r_arm", "l_arm"]
hand_offset = [0.0, -0.01, -0.25]

[defaults]
kp = 80.0
kd = 2.0
max_torque = 60.0
max_velocity = 10.0

[[joint]]
right = "r_hip_roll"
left = "l_hip_roll"
default = -0.02

[[joint]]
right = "r_hip_pitch"
left = "l_hip_pitch"
default = -0.2
kp = 120.0

[[joint]]
right = "r_knee"
left = "l_knee"
default = 0.4

[[joint]]
right = "r_ankle"
left = "l_ankle"
default = -0.2

[[joint]]
center = "waist"
action_scale = 0.2
"""


def mjcf_leg(side: str) -> str:
    """The left knee turns about -y and its frame is turned about: mirror signs must come from geometry."""
    y = 0.1 * SIDES[side]
    roll = "-0.3 1" if side == "l" else "-1 0.3"
    knee = 'axis="0 1 0" range="0 2"' if side == "r" else 'axis="0 -1 0" range="-2.1 0"'
    return f"""
    <body name="{side}_thigh" pos="0 {y} 0">
      <joint name="{side}_hip_roll" axis="1 0 0" range="{roll}"/>
      <joint name="{side}_hip_pitch" axis="0 1 0" range="-1.5 1.5"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.05" mass="3"/>
      <body name="{side}_shank" pos="0 0 -0.35">
        <joint name="{side}_knee" {knee} armature="0.02"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04" mass="2"/>
        <body name="{side}_foot" pos="0 0 -0.35" euler="0 0 1.5707963267948966">
          <joint name="{side}_ankle" axis="1 0 0" range="-1 1"/>
          <geom type="box" pos="0 -0.04 -0.04" size="0.05 0.11 0.02" mass="1"/>
          <body name="{side}_toe" pos="0 -0.15 -0.05">
            <geom type="sphere" size="0.01" mass="0.1"/>
          </body>
        </body>
      </body>
    </body>"""


def mjcf_arm(side: str) -> str:
    y = 0.2 * SIDES[side]
    return f"""
    <body name="{side}_arm" pos="0 {y} 0.3">
      <joint name="{side}_shoulder" axis="0 1 0" range="-2 2"/>
      <geom type="mesh" mesh="wedge" mass="1"/>
    </body>"""


MJCF = f"""
<mujoco>
  <compiler angle="radian"/>
  <asset><mesh name="wedge" vertex="0 0 0  0.06 0 0  0 0.1 0  0.06 0.1 0  0.03 0.05 -0.3"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="pelvis" pos="0 0 1">
      <freejoint/>
      <geom type="box" size="0.08 0.1 0.05" mass="6"/>
      {mjcf_leg("r")}{mjcf_leg("l")}
      <body name="chest" pos="0 0 0.1">
        <joint name="waist" axis="0 0 1" range="-1 2"/>
        <geom type="box" pos="0 0 0.2" size="0.1 0.15 0.2" mass="10"/>
        {mjcf_arm("r")}{mjcf_arm("l")}
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def urdf_link(name: str, mass: float, shape: str = "") -> str:
    inertia = "".join(f' i{a}{b}="{0.02 if a == b else 0}"' for a, b in ("xx", "xy", "xz", "yy", "yz", "zz"))
    collision = f"<collision>{shape}</collision>" if shape else ""
    visual = '<visual><geometry><mesh filename="package://nowhere/none.stl"/></geometry></visual>'
    inertial = f'<inertial><mass value="{mass}"/><inertia{inertia}/></inertial>'
    return f'<link name="{name}">{inertial}{visual}{collision}</link>'


def urdf_joint(name: str, parent: str, child: str, xyz: str, axis: str, limits: str = "-1.5 1.5") -> str:
    lower, upper = limits.split()
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{axis}"/>'
        f'<limit lower="{lower}" upper="{upper}" effort="45" velocity="7.5"/></joint>'
    )


def urdf_side(side: str) -> str:
    y = SIDES[side]
    foot = '<origin xyz="0.04 0 -0.04"/><geometry><box size="0.22 0.1 0.04"/></geometry>'
    return "".join(
        (
            urdf_link(f"{side}_hip", 1.0),
            urdf_link(f"{side}_thigh", 2.0),
            urdf_link(f"{side}_shank", 2.0),
            urdf_link(f"{side}_foot", 1.0, foot),
            urdf_link(f"{side}_arm", 1.0),
            urdf_joint(f"{side}_hip_roll", "pelvis", f"{side}_hip", f"0 {0.1 * y} 0", "1 0 0"),
            urdf_joint(f"{side}_hip_pitch", f"{side}_hip", f"{side}_thigh", "0 0 0", "0 1 0"),
            urdf_joint(f"{side}_knee", f"{side}_thigh", f"{side}_shank", "0 0 -0.35", "0 1 0", "0 2"),
            urdf_joint(f"{side}_ankle", f"{side}_shank", f"{side}_foot", "0 0 -0.35", "0 1 0"),
            urdf_joint(f"{side}_shoulder", "chest", f"{side}_arm", f"0 {0.2 * y} 0.3", "0 1 0"),
        )
    )


URDF = (
    '<?xml version="1.0"?><robot name="biped">'
    + urdf_link("pelvis", 6.0)
    + urdf_link("chest", 10.0)
    + urdf_joint("waist", "pelvis", "chest", "0 0 0.1", "0 0 1")
    + urdf_side("r")
    + urdf_side("l")
    + "</robot>"
)


def write(folder: Path, *, toml: str = TOML, model: str = MJCF, name: str = "biped.xml") -> Path:
    (folder / name).write_text(model)
    file = folder / "biped.toml"
    file.write_text(toml.replace("MODEL", name))
    return file


@pytest.fixture(params=["biped.xml", "biped.urdf"])
def biped(request, tmp_path) -> robots.RobotSpec:
    model = MJCF if request.param == "biped.xml" else URDF
    return robots.load(write(tmp_path, model=model, name=request.param))


def test_listed_joints_move_and_the_rest_is_locked(biped):
    order = [f"{side}_{joint}" for side in "rl" for joint in JOINTS]
    assert list(biped.joint_names) == [*order, "waist"]
    assert set(biped.locked_joints) == {"r_shoulder", "l_shoulder"}
    model = biped.build().compile()
    assert model.njnt == 1 + 9
    assert biped.hand_links == (biped.torso_link, biped.torso_link)  # the arms are part of the chest now
    assert biped.name == "biped"


def test_it_weighs_what_the_file_says(tmp_path):
    assert measure(robots.load(write(tmp_path))).mass == pytest.approx(6 + 10 + 2 * (3 + 2 + 1 + 0.1 + 1))
    urdf = robots.load(write(tmp_path, model=URDF, name="biped.urdf"))
    assert measure(urdf).mass == pytest.approx(6 + 10 + 2 * 7)


def test_it_stands_flat_at_its_standing_height(biped):
    model, data = stand(biped.build(), biped.joints)
    data.qpos[2] = biped.standing_height
    mujoco.mj_kinematics(model, data)
    bent = 0.35 * np.cos(0.2) * 2
    assert biped.standing_height == pytest.approx((bent + 0.06) * np.cos(0.02), abs=0.005)
    for side in ("right", "left"):
        foot, half = data.geom(f"{side}_foot"), model.geom(f"{side}_foot").size
        bottom = foot.xpos + foot.xmat.reshape(3, 3) @ (half * (0, 0, -1))
        np.testing.assert_allclose(bottom, data.site(f"{side}_sole").xpos, atol=1e-9)
        assert data.site(f"{side}_sole").xpos[2] == pytest.approx(0.0, abs=1e-9)


def test_its_mirror_rule_follows_the_axes(tmp_path):
    """The left knee's axis is reversed in the MJCF, so the knee changes sign; narrower limits win."""
    biped = robots.load(write(tmp_path))
    signs = {j.name: j.mirror_sign for j in biped.joints}
    assert [signs[f"r_{j}"] for j in JOINTS] == [-1, 1, -1, 1]
    assert signs["waist"] == -1
    knee = {side: biped.joints[biped.joint_index(f"{side}_knee")] for side in "rl"}
    assert (knee["r"].lower, knee["r"].upper, knee["r"].default) == (0.0, 2.0, 0.4)
    assert (knee["l"].lower, knee["l"].upper, knee["l"].default) == (-2.0, 0.0, -0.4)
    waist = biped.joints[biped.joint_index("waist")]
    assert (waist.lower, waist.upper) == (-1.0, 1.0)
    assert biped.joints[biped.joint_index("l_hip_roll")].default == 0.02


def test_mirrored_angles_put_the_feet_at_mirrored_places(biped):
    model = biped.build().compile()
    rng = np.random.default_rng(0)
    angles = rng.uniform(biped.values("lower"), biped.values("upper"))
    rule = biped.joint_mirror
    places = []
    for q in (angles, np.array(rule.sign) * angles[list(rule.source)]):
        data = mujoco.MjData(model)
        data.qpos[:7] = (0, 0, 0, 1, 0, 0, 0)
        for joint, angle in zip(biped.joints, q, strict=True):
            data.joint(joint.name).qpos[0] = angle
        mujoco.mj_kinematics(model, data)
        places.append({s: data.site(s).xpos.copy() for s in ("right_sole", "left_sole", "right_hand")})
        places[-1]["left_hand"] = data.site("left_hand").xpos.copy()
    for end in ("sole", "hand"):
        for side, other in (("right", "left"), ("left", "right")):
            expected = places[0][f"{side}_{end}"] * (1, -1, 1)
            np.testing.assert_allclose(places[1][f"{other}_{end}"], expected, atol=1e-9)


def test_numbers_come_from_the_toml_then_from_the_model(tmp_path):
    toml = TOML.replace("max_torque = 60.0\nmax_velocity = 10.0\n", "")
    biped = robots.load(write(tmp_path, toml=toml, model=URDF, name="biped.urdf"))
    hip, knee = (biped.joints[biped.joint_index(f"r_{j}")] for j in ("hip_pitch", "knee"))
    assert (hip.kp, knee.kp, hip.kd) == (120.0, 80.0, 2.0)
    assert (hip.max_torque, hip.max_velocity) == (45.0, 7.5)
    assert (knee.action_scale, biped.joints[-1].action_scale) == (0.25, 0.2)
    mjcf = robots.load(write(tmp_path))
    assert mjcf.build().compile().joint("r_knee").armature[0] == 0.02
    stiff = robots.load(write(tmp_path, toml=TOML.replace("default = 0.4", "default = 0.4\narmature = 0.1")))
    assert stiff.build().compile().joint("l_knee").armature[0] == 0.1


def test_the_sole_comes_from_the_shapes_or_from_the_toml(tmp_path):
    derived = robots.load(write(tmp_path)).sole  # a turned box and a toe welded to it
    assert derived.center == pytest.approx(((0.16 - 0.07) / 2, 0.0, -0.06), abs=1e-6)
    assert derived.length == pytest.approx(0.16 + 0.07, abs=1e-6)
    assert derived.width == pytest.approx(0.10, abs=1e-6)
    assert derived.patch == (derived.length, derived.width)
    toml = TOML + "\n[sole]\ncenter = [0.03, 0.0, -0.06]\nlength = 0.2\nwidth = 0.08\n"
    given = robots.load(write(tmp_path, toml=toml))
    assert (given.sole.length, given.sole.width) == (0.2, 0.08)
    assert given.build().compile().geom("left_foot").size[0] == pytest.approx(0.1)


def test_a_mesh_becomes_its_bounding_box(tmp_path):
    shapes = [s for s in robots.load(write(tmp_path)).shapes if s.kind == "box" and s.link == "chest"]
    sizes = sorted(tuple(sorted(np.round(2 * np.array(s.size), 3))) for s in shapes)
    assert sizes == [(0.06, 0.1, 0.3), (0.06, 0.1, 0.3), (0.2, 0.3, 0.4)]


def test_camera_and_heights(tmp_path):
    toml = "base_height_target = 0.9\n" + TOML + "\n[camera]\nposition = [0.2, 0.0, 0.1]\npitch = 40.0\n"
    biped = robots.load(write(tmp_path, toml=toml))
    assert (biped.camera.position, biped.camera.pitch) == ((0.2, 0.0, 0.1), 40.0)
    assert biped.standing_height + biped.base_height_offset == pytest.approx(0.9)
    assert biped.min_foot_distance == pytest.approx(0.8 * measure(biped).foot_distance)


MISTAKES = {
    "malformed TOML": (("torso = ", "torso "), r"not valid TOML"),
    "unknown key": (("torso = ", "trunk = "), r"unknown key 'trunk'"),
    "missing base": (('base = "pelvis"\n', ""), r"'base' must be given"),
    "unknown base": (('base = "pelvis"', 'base = "hips"'), r"link of biped.xml: 'hips'.*pelvis"),
    "unknown joint": (('left = "l_knee"', 'left = "l_nee"'), r"'l_nee'.*Known: .*l_knee"),
    "no mirror partner": (('left = "l_knee"\n', ""), r"'r_knee' has no mirror partner; add left"),
    "wrong mirror partner": (('left = "l_knee"', 'left = "l_hip_roll"'), r"no mirror partners"),
    "its own partner": (('left = "l_knee"', 'left = "r_knee"'), r"its own mirror partner"),
    "a joint twice": (('center = "waist"', 'center = "r_knee"'), r"'r_knee' is listed twice"),
    "missing foot link": (('"r_foot", "l_foot"', '"r_foot", "l_fot"'), r"feet of .*'l_fot'.*l_foot"),
    "one foot": (('"r_foot", "l_foot"', '"r_foot"'), r"'feet' must be two link names"),
    "feet swapped": (
        ('feet = ["r_foot", "l_foot"]\nshanks = ["r_shank", "l_shank"]',
         'feet = ["l_foot", "r_foot"]\nshanks = ["l_shank", "r_shank"]'),
        r"stands on the left",
    ),
    "shank of the other leg": (('"r_shank", "l_shank"', '"l_shank", "r_shank"'), r"does not hang on"),
    "tilted sole": (("default = 0.4", "default = 0.9"), r"tilted by 29° in the default pose"),
    "default out of range": (("default = 0.4", "default = -0.4"), r"outside its limits"),
    "no gain": (("kp = 80.0\n", ""), r"'r_hip_roll' has no kp"),
    "no torque": (("max_torque = 60.0\n", ""), r"no max_torque for 'r_hip_roll'"),
    "a word for a number": (("kd = 2.0", 'kd = "soft"'), r"'kd' must be a number, got 'soft'"),
    "a gain below zero": (("kp = 80.0", "kp = -80.0"), r"'r_hip_roll': kp -80 must be finite"),
    "no number at all": (("kd = 2.0", "kd = nan"), r"'r_hip_roll': kd nan must be finite"),
    "a gain that is none": (("kp = 80.0", "kp = nan"), r"'r_hip_roll': kp nan must be finite"),
    "a gain without end": (("kp = 80.0", "kp = inf"), r"'r_hip_roll': kp inf must be finite"),
    "a gain far below zero": (("kp = 80.0", "kp = -1e9"), r"'r_hip_roll': kp -1e\+09 must be finite"),
    "an action without end": (("kp = 80.0", "kp = 80.0\naction_scale = -inf"), r"action_scale -inf"),
    "a name that is a path": (('model = "MODEL"', 'name = "a/b"\nmodel = "MODEL"'), r"name 'a/b': files are"),
    "missing model": (('"MODEL"', '"other.xml"'), r"other.xml does not exist"),
    "no joints": ((TOML[TOML.index("[[joint]]") :], ""), r"at least one \[\[joint\]\]"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_that_names_it(mistake, tmp_path):
    (old, new), message = MISTAKES[mistake]
    assert old in TOML
    file = write(tmp_path, toml=TOML.replace(old, new))
    with pytest.raises(UserError, match=message) as caught:
        robots.load(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "model",
    [
        "hello",
        "<mujoco><worldbody><body>",
        MJCF.replace('type="box"', 'type="bx"'),
        URDF.replace("<axis", "<ax"),
    ],
)
@pytest.mark.parametrize("name", ["biped.xml", "biped.urdf"])
def test_a_malformed_model_is_one_line(model, name, tmp_path):
    if "<ax " in model:
        model = model.replace('<parent link="pelvis"/>', "")
    with pytest.raises(UserError, match=r"biped\.(xml|urdf)") as caught:
        robots.load(write(tmp_path, model=model, name=name))
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"No robot file at .*none\.toml"):
        robots.load(tmp_path / "none.toml")


def test_an_unreadable_speed_limit_is_one_line(tmp_path):
    model = URDF.replace('velocity="7.5"', 'velocity="fast"', 1)
    with pytest.raises(UserError, match=r"biped\.urdf: its joint limits cannot be read: .*fast"):
        robots.load(write(tmp_path, model=model, name="biped.urdf"))
