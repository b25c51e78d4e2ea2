"""BVH files: forward kinematics, units and axes, and everything that can be wrong with a file."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from motion_people import PERSON_FPS, record, write_bvh

from ssr.cli.main import main
from ssr.errors import UserError
from ssr.motion import bvh, importing
from ssr.motion.flat_plans import steady
from ssr.motion.footsteps import walk
from ssr.motion.retarget import retarget
from ssr.motion.solver import Solver

ARM = """HIERARCHY
ROOT shoulder
{
  OFFSET 1 2 3
  CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
  JOINT elbow
  {
    OFFSET 1 0 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    End Site
    {
      OFFSET 1 0 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.01
0 0 0 0 0 0 0 0 0
5 6 7 90 0 0 0 90 0
"""


def test_joints_turn_their_children_in_the_order_of_their_channels(tmp_path: Path) -> None:
    path = tmp_path / "arm.bvh"
    path.write_text(ARM)
    positions = bvh.read(path).positions()
    assert np.allclose(positions[0], [[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    # The shoulder turns x to y; the elbow then turns its x (world y) about its y (world -x) to -z.
    assert np.allclose(positions[1], [[5, 6, 7], [5, 7, 7], [5, 7, 6]])


@pytest.fixture(scope="module")
def walking(person: Solver, tmp_path_factory: pytest.TempPathFactory) -> Path:
    plan = walk("w", "forward", person.limbs, velocity=steady(0.8, 0, 0, 2.0), duration=2.0, pause=0.2)
    return write_bvh(tmp_path_factory.mktemp("bvh") / "walking.bvh", record(person, plan))


def test_units_axes_and_frame_rate_of_cmu_files_are_known(walking: Path, person: Solver) -> None:
    recording = importing.load(walking)
    assert recording.fps == pytest.approx(PERSON_FPS)
    assert recording.leg == pytest.approx(person.limbs.leg, abs=0.01)
    start, end = recording.point("pelvis")[[0, -1]]
    assert end[0] - start[0] > 0.4, "walks along +x"
    assert start[2] == pytest.approx(person.limbs.hip_height, abs=0.1), "z is up"
    assert (recording.pair("hip")[:, 1, 1] > recording.pair("hip")[:, 0, 1]).all(), "left is at +y"


def test_any_skeleton_can_be_mapped_by_name(walking: Path, tmp_path: Path) -> None:
    renamed = tmp_path / "other.bvh"
    renamed.write_text(walking.read_text().replace("LeftUpLeg", "l_femur"))
    with pytest.raises(UserError, match=r"left_hip.*--joints"):
        importing.load(renamed)
    joints = tmp_path / "map.json"
    mapped = {**bvh.CMU_JOINTS, "left_hip": "l_femur"}
    joints.write_text(str(mapped).replace("'", '"'))
    settings = importing.ImportSettings(joints=joints, unit=bvh.CMU_UNIT, skip=1)
    assert np.allclose(importing.load(renamed, settings).points, importing.load(walking).points)


def test_a_wrong_unit_is_noticed_by_the_length_of_the_leg(walking: Path, tmp_path: Path) -> None:
    joints = tmp_path / "map.json"
    joints.write_text(str(bvh.CMU_JOINTS).replace("'", '"'))
    with pytest.raises(UserError, match=r"leg is 1\d\.\d m long.*--unit"):
        importing.load(walking, importing.ImportSettings(joints=joints))


BREAKS = {
    "truncated": (lambda text: text[: len(text) // 2], "expected .* values|values; expected"),
    "header only": (lambda text: text[: text.index("MOTION")], "no MOTION"),
    "cut in a joint": (lambda text: text[: text.index("OFFSET") + 9] + "\nMOTION\n", "broken HIERARCHY"),
    "wrong channel count": (lambda text: text.replace("CHANNELS 3", "CHANNELS 4", 1), "unknown channel"),
    "one channel less": (
        lambda text: text.replace(
            "CHANNELS 3 Xposition Yposition Zposition", "CHANNELS 2 Xposition Yposition", 1
        ),
        "values; expected",
    ),
    "unknown channel": (lambda text: text.replace("Xposition", "Wposition", 1), "unknown channel"),
    "not a number": (
        lambda text: text.replace("Frame Time: 0.010000\n", "Frame Time: 0.01\nnan "),
        "values|nan",
    ),
    "nan": (lambda text: text[: text.rindex("\n", 0, -2)] + "\n" + "nan " * 48 + "\n", "is nan"),
    "word in motion": (lambda text: text.rstrip()[:-3] + "abc", "not a number"),
    "zero frame time": (
        lambda text: text.replace("Frame Time: 0.010000", "Frame Time: 0"),
        "Frame Time is 0",
    ),
    "negative frames": (lambda text: text.replace("Frames: ", "Frames: -"), "frames"),
    "endless frames": (lambda text: text.replace("Frames: ", "Frames: 9" + "9" * 15), "values; expected"),
    "huge header": (
        lambda text: text.replace("ROOT Hips", "ROOT Hips\n" + "{ JOINT a " * 200_000),
        "broken HIERARCHY",
    ),
    "deep header": (
        lambda text: "HIERARCHY ROOT r { OFFSET 0 0 0 " + "JOINT j { OFFSET 0 0 0 " * 50_000 + "MOTION",
        "more than 500 joints",
    ),
    "empty": (lambda text: "", "no MOTION"),
    "binary": (lambda text: "\x00\xff" * 500, "no MOTION"),
    "no joints": (lambda text: "HIERARCHY\nMOTION\nFrames: 1\nFrame Time: 0.01\n", "no ROOT"),
    "twice the same joint": (lambda text: text.replace("JOINT RightLeg", "JOINT LeftLeg"), "twice"),
    "jump": (
        lambda text: text.rstrip().rsplit("\n", 1)[0] + "\n" + "9999 " * 3 + "0 " * 45 + "\n",
        "m/s|leg",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_file_is_one_clear_line(name: str, walking: Path, tmp_path: Path) -> None:
    breaks, expected = BREAKS[name]
    path = tmp_path / "broken.bvh"
    path.write_text(breaks(walking.read_text()))
    with pytest.raises(UserError, match=expected) as caught:
        importing.load(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_the_command_line_prints_the_line_and_exits_with_2(
    walking: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.bvh"
    path.write_text(walking.read_text()[:5000])
    assert main(["motion", "retarget", str(path), "--robot", "x2"]) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("ssr motion:") and "\n" not in error
    assert main(["motion", "retarget", str(tmp_path / "none.bvh"), "--robot", "x2"]) == 2
    assert "No such file" in capsys.readouterr().err


def mutated(text: str, rng: random.Random) -> str:
    """Between one and five small accidents."""
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(text))
        match rng.randrange(7):
            case 0:
                text = text[:at]
            case 1:
                text = text[:at] + chr(rng.randrange(1, 0x2FF)) + text[at:]
            case 2:
                text = text[:at] + text[at + rng.randint(1, 30) :]
            case 3:
                text = (
                    text[:at] + rng.choice(["nan", "inf", "-", "1e308", "{", "}", "MOTION", " "]) + text[at:]
                )
            case 4:
                words = text[: text.find("MOTION")].split()
                if words:
                    text = text.replace(rng.choice(words), rng.choice(words), 1)
            case 5:
                text = text[:at] + text[at : at + 200] + text[at:]
            case 6:
                text = (
                    text[:at]
                    + text[at:].translate(
                        str.maketrans("0123456789", "9876543210"),
                    )[:60]
                    + text[at + 60 :]
                )
        if not text:
            break
    return text


def test_five_hundred_damaged_files_never_end_in_a_traceback(
    walking: Path, tmp_path: Path, x2_solver: Solver
) -> None:
    whole = walking.read_text()
    rows = whole.splitlines(keepends=True)
    start = next(k for k, row in enumerate(rows) if row.startswith("Frame Time"))
    small = "".join(rows[: start + 81]).replace(rows[start - 1], "Frames: 80\n")
    rng = random.Random(20)
    path = tmp_path / "fuzz.bvh"
    refused, done = 0, 0
    for _ in range(500):
        path.write_text(mutated(small, rng), encoding="utf-8", errors="replace")
        try:
            recording = importing.load(path)
            if done < 12:
                retarget(x2_solver, recording)
                done += 1
        except UserError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 300 and done > 5


def test_frames_that_still_hold_a_t_pose_are_left_out(walking: Path, tmp_path: Path) -> None:
    rows = walking.read_text().splitlines()
    first = next(k for k, row in enumerate(rows) if row.startswith("Frame Time")) + 1
    for k in (first + 1, first + 2):  # behind the frame that is skipped anyway, a hand is elsewhere
        values = rows[k].split()
        values[-3:] = ["9", "9", "9"]
        rows[k] = " ".join(values)
    path = tmp_path / "t_pose.bvh"
    path.write_text("\n".join(rows) + "\n")
    assert len(importing.load(path).points) == len(importing.load(walking).points) - 2
