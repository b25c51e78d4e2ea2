"""Joint-position arrays and AMASS files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from motion_people import record

from ssr import rotation
from ssr.errors import UserError
from ssr.motion import amass, importing, joint_arrays
from ssr.motion.flat_plans import steady
from ssr.motion.footsteps import walk
from ssr.motion.recording import KEY_POINTS
from ssr.motion.solver import Solver


def climb_file(folder: Path, person: Solver) -> Path:
    plan = walk("w", "forward", person.limbs, velocity=steady(0.6, 0, 0, 2.0), duration=2.0, pause=0.2)
    recording = record(person, plan)
    positions = np.zeros((len(recording.points), 53, 3), dtype=np.float32)
    for k, name in enumerate(KEY_POINTS):
        positions[:, joint_arrays.INDEX[name]] = recording.points[:, k]
    path = folder / "climb.npz"
    np.savez(path, joint_positions=positions)
    return path


def test_boxes_and_frame_rate_lie_beside_the_array(tmp_path: Path, person: Solver) -> None:
    path = climb_file(tmp_path, person)
    corners = [[x, y, z] for x in (1.0, 2.0) for y in (-1.0, 1.0) for z in (0.0, 0.4)]
    (tmp_path / "climb.boxes.json").write_text(json.dumps({"fps": 100, "boxes": [{"corners": corners}]}))
    recording = importing.load(path)
    assert recording.fps == 100.0
    (block,) = recording.blocks
    assert block.top == pytest.approx(0.4)
    assert sorted(map(tuple, block.outline)) == [(1.0, -1.0), (1.0, 1.0), (2.0, -1.0), (2.0, 1.0)]
    assert recording.leg == pytest.approx(person.limbs.leg, abs=0.01)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"joint_positions": np.zeros((10, 5, 3))}, r"expected float \(T, 53, 3\)"),
        ({"joint_positions": np.full((200, 53, 3), np.nan)}, "not finite"),
        ({"something": np.zeros(3)}, "has the arrays something"),
        ({"joint_positions": np.array([{}], dtype=object)}, "not an .npz of plain arrays"),
        ({"poses": np.zeros((10, 10)), "trans": np.zeros((10, 3))}, "poses is"),
        ({"poses": np.zeros((9, 156)), "trans": np.zeros((9, 2))}, "trans is"),
        ({"poses": np.zeros((9, 156)), "trans": np.zeros((9, 3))}, "mocap_framerate"),
    ],
)
def test_a_wrong_array_is_one_clear_line(content: dict, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.npz"
    np.savez(path, **content)
    with pytest.raises(UserError, match=expected):
        importing.load(path)


def test_amass_without_the_body_model_says_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "amass.npz"
    np.savez(
        path, poses=np.zeros((120, 156)), trans=np.zeros((120, 3)), mocap_framerate=60.0, betas=np.zeros(16)
    )
    with pytest.raises(UserError, match=r"licensed SMPL-H body model.*--body-model"):
        importing.load(path)


def body_model(path: Path) -> np.ndarray:
    """A body of 22 vertices, each one a joint; the first shape parameter makes it taller."""
    parents = [-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19]
    rest = np.zeros((22, 3))
    place = {
        "pelvis": (0, 0.9, 0), "neck": (0, 1.45, 0),
        "left_hip": (0.09, 0.85, 0), "left_knee": (0.09, 0.46, 0), "left_ankle": (0.09, 0.07, 0),
        "left_toe": (0.09, 0.02, 0.13), "left_shoulder": (0.18, 1.4, 0), "left_elbow": (0.45, 1.4, 0),
        "left_hand": (0.7, 1.4, 0),
    }  # fmt: skip
    for name, point in place.items():
        rest[amass.INDEX[name]] = point
        if name.startswith("left"):
            rest[amass.INDEX[name.replace("left", "right")]] = np.array(point) * [-1, 1, 1]
    shape = np.zeros((22, 3, 2))
    shape[:, 1, 0] = 0.1 * rest[:, 1]
    tree = np.array([[4294967295, *parents[1:]], range(22)], dtype=np.int64)
    np.savez(path, v_template=rest, shapedirs=shape, J_regressor=np.eye(22), kintree_table=tree)
    return rest


def test_amass_with_a_body_model_becomes_positions(tmp_path: Path) -> None:
    rest = body_model(tmp_path / "model.npz")
    poses = np.zeros((120, 156))
    poses[:, 0:3] = rotation.to_vector(
        rotation.about(rotation.X, np.pi / 2)
    )  # y up in the model, z up in the world
    bend = np.linspace(0.0, 1.0, 120)
    poses[:, 3 * amass.INDEX["left_knee"]] = bend
    trans = np.stack((np.linspace(0, 1, 120), np.zeros(120), np.zeros(120)), axis=1)
    path = tmp_path / "amass.npz"
    np.savez(path, poses=poses, trans=trans, mocap_framerate=60.0, betas=np.array([1.0, 0.0]))
    recording = importing.load(path, importing.ImportSettings(body_model=tmp_path / "model.npz"))
    assert recording.fps == 60.0
    assert recording.leg == pytest.approx(1.1 * 0.78, abs=1e-6), "the shape parameter makes the leg longer"
    knee, ankle = recording.point("left_knee"), recording.point("left_ankle")
    assert np.allclose(np.linalg.norm(knee - ankle, axis=1), 1.1 * 0.39)
    drop = (knee - ankle)[:, 2] / (1.1 * 0.39)
    assert np.allclose(drop, np.cos(bend), atol=1e-6), "the shank swings up by the knee's angle"
    assert np.allclose(recording.point("right_ankle")[:, 0] - trans[:, 0], -1.1 * 0 + rest[8, 0], atol=1e-6)
