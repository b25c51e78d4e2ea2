"""A run of one's own robot: with a motion of its own or none, and carried away from where it was made."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

import pytest
import torch

from ssr import robots
from ssr.cli.main import main
from ssr.cli.train import run as command
from ssr.errors import UserError
from ssr.evaluation import subject
from ssr.export.policy import export
from ssr.learning import saved
from ssr.learning.run_directory import RunDirectory
from ssr.motion import store
from ssr.motion.dataset import MotionDataset
from ssr.rehearsal.training import Training
from ssr.robots import carried
from urdf_writing import urdf

EXAMPLE = Path(str(resources.files("ssr.robots") / "example"))
TINY = ("--preset", "smoke", "--env.num-envs", "4", "--run.iterations", "1")


def renamed_motion(toml: Path, target: Path) -> None:
    """X2's motion as if it were this robot's: the joints have the same roles in the same order."""
    robot = robots.load(toml)
    clips, _ = store.load(store.shipped(robots.load("x2")))
    walks = [clip for clip in clips if clip.column == "forward"][:2]
    names = dict.fromkeys(robot.joint_names)
    store.save(target, [type(c)(**vars(c) | {"joint_names": tuple(names)}) for c in walks])


@pytest.fixture
def toml(tmp_path) -> Path:
    folder = tmp_path / "mine"
    shutil.copytree(EXAMPLE, folder)
    return folder / "example.toml"


@pytest.fixture
def drafted(tmp_path) -> Path:
    """What `ssr robots new` makes of the same robot's URDF."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "example.urdf").write_text(urdf(robots.anatomy(EXAMPLE / "example.toml")))
    assert main(["robots", "new", str(folder / "example.urdf")]) == 0
    return folder / "example.toml"


def test_a_run_carries_its_robot_and_its_motion(drafted, tmp_path, monkeypatch):
    """A URDF, trained beside a motion file, moved, its source gone: acts, is exported, resumed, continued."""
    toml = drafted
    motion = store.of(robots.load(toml))
    assert motion == toml.parent / "motion_example.npz"
    renamed_motion(toml, motion)
    run, moved, elsewhere = tmp_path / "run", tmp_path / "far" / "moved", tmp_path / "elsewhere"
    assert command([*TINY, "--robot", str(toml), "--run", str(run)]) == 0
    _, config = RunDirectory.open(run)
    expected = robots.load(toml)
    moved.parent.mkdir()
    run.rename(moved)
    shutil.rmtree(toml.parent)
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    tried = subject.load(str(moved))
    assert tried.robot.build().to_xml() == expected.build().to_xml()
    assert MotionDataset.load(tried.robot).clips
    assert subject.load(str(moved / "small.safetensors")).robot.joints == expected.joints
    assert [j.name for j in export(moved).joints] == list(expected.joint_names)
    assert robots.load(Training.of(moved).robot).joints == expected.joints
    assert command(["--resume", str(moved), "--run.iterations", "2"]) == 0
    assert saved.load(moved).iteration == 2
    small = str(moved / "small.safetensors")
    assert command(["--continue", small, "--run", "more", "--run.iterations", "1"]) == 0
    shutil.rmtree(moved)
    again = subject.load("more")
    assert again.robot.joints == expected.joints and store.of(again.robot).is_file()
    assert torch.is_tensor(next(iter(again.policy.weights().values())))
    assert config.robot == str(toml)


def test_a_motion_file_can_be_given_for_any_robot(tmp_path):
    given, run = tmp_path / "few.npz", tmp_path / "run"
    clips, _ = store.load(store.shipped(robots.load("x2")))
    store.save(given, [clip for clip in clips if clip.column == "forward"][:2])
    assert command([*TINY, "--motion", str(given), "--run", str(run)]) == 0
    robot = saved.load(run).robot
    assert robot.name == "x2" and len(MotionDataset.load(robot).clips) == 2
    assert robot.joints == robots.load("x2").joints


def test_a_run_of_a_shipped_robot_carries_nothing_and_takes_none_that_lies_about(tmp_path):
    run = tmp_path / "run"
    assert command([*TINY, "--run", str(run)]) == 0
    assert not (run / "robot.json").exists() and not list(run.glob("*.npz"))
    carried.write(tmp_path / "robot.json", robots.anatomy("dr02"))
    for weights in (run, run / "small.safetensors"):
        assert saved.load(weights).robot.name == "x2"


def test_without_motion_no_style_is_enough(toml, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(UserError, match=r"motion_example\.npz does not exist.*--ablation.no-style") as caught:
        command([*TINY, "--robot", str(toml), "--run", str(run)])
    assert not run.exists() and "\n" not in str(caught.value)
    assert command([*TINY, "--robot", str(toml), "--ablation.no-style", "--run", str(run)]) == 0
    assert saved.load(run).robot.name == "example"


@pytest.mark.parametrize("given, message", [("none.npz", "does not exist"), ("x2", "is not for example")])
def test_a_motion_that_cannot_be_used_is_one_line_before_anything_is_made(
    toml, tmp_path, capsys, given, message
):
    file = store.shipped(robots.load("x2")) if given == "x2" else tmp_path / given
    run = tmp_path / "run"
    words = ["train", *TINY, "--robot", str(toml), "--motion", str(file), "--run", str(run)]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1 and not run.exists()


def test_a_recipe_of_ones_own_robot(toml, tmp_path, monkeypatch):
    """Its run is gone on with from another folder, the TOML file gone."""
    recipe, run = tmp_path / "mine.toml", tmp_path / "run"
    difference = '\n[[stage.differences]]\nsetting = "{}"\nvalue = {}\nreason = "a test"\n'
    recipe.write_text(
        'preset = "smoke"\nseed = 1\n\n[[stage]]\nname = "only"\nabout = "a start"\nsteps = 96\n'
        + difference.format("robot", f'"{toml}"')
        + difference.format("env.num_envs", "4")
        + difference.format("ablation.no_style", "true")
    )
    assert command(["--recipe", str(recipe), "--run", str(run)]) == 0
    shutil.rmtree(toml.parent)
    monkeypatch.chdir(tmp_path)
    assert command(["--resume", str(run)]) == 0
    assert saved.load(run / "stages" / "only.safetensors").robot.name == "example"
