"""A robot written into one file is the same robot, wherever that file goes."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

from ssr import robots
from ssr.errors import UserError
from ssr.robots import carried

EXAMPLE = Path(str(resources.files("ssr.robots") / "example" / "example.toml"))


@pytest.mark.parametrize("name", [*robots.names(), str(EXAMPLE)])
def test_it_is_built_the_same_to_the_last_bit(name, tmp_path):
    original, file = robots.load(name), tmp_path / "robot.json"
    carried.write(file, robots.anatomy(name))
    copy = robots.load(file)
    assert copy.build().to_xml() == original.build().to_xml()
    assert (copy.joints, copy.shapes, copy.sole, copy.camera) == (
        original.joints,
        original.shapes,
        original.sole,
        original.camera,
    )
    assert (copy.name, copy.standing_height, copy.min_foot_distance, copy.locked_joints) == (
        original.name,
        original.standing_height,
        original.min_foot_distance,
        original.locked_joints,
    )
    assert copy.folder == tmp_path


def damaged(file: Path, text: str) -> None:
    values = json.loads(file.read_text())
    file.write_text(
        {
            "empty": "",
            "cut": file.read_text()[:1000],
            "other": json.dumps({"name": "x2"}),
            "list": "[]",
            "poorer": json.dumps({k: v for k, v in values.items() if k != "sole"}),
            "endless": file.read_text().replace('"mass": ', '"mass": Infinity, "was": ', 1),
        }[text]
    )


@pytest.mark.parametrize("how", ["empty", "cut", "other", "list", "poorer", "endless"])
def test_a_damaged_file_is_one_line(how, tmp_path):
    file = tmp_path / "robot.json"
    carried.write(file, robots.anatomy("x2"))
    damaged(file, how)
    with pytest.raises(UserError, match=r"robot\.json is not a robot") as caught:
        robots.load(file)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(UserError, match="No robot file at"):
        robots.load(tmp_path / "robot.json")
