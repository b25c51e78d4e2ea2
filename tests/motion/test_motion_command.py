"""`ssr motion`: report without recordings, retarget one, build from a folder, show."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from motion_people import record, write_bvh

from ssr import robots
from ssr.cli.main import main
from ssr.motion import build, store, synthesis
from ssr.motion.flat_plans import steady
from ssr.motion.footsteps import walk
from ssr.motion.solver import Solver

KEYS = {
    "clip", "seconds", "slip_m_s", "penetration_m", "keypoint_error_m", "limit_violations", "kept", "reason",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(person: Solver, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A walk, a turn and a file that is cut off."""
    root = tmp_path_factory.mktemp("recordings")
    for name, rate in (("straight", 0.0), ("curve", 0.7)):
        plan = walk(name, "turn", person.limbs, velocity=steady(0.8, 0, rate, 2.0), duration=2.0, pause=0.2)
        write_bvh(root / f"{name}.bvh", record(person, plan))
    (root / "broken.bvh").write_text((root / "straight.bvh").read_text()[:9000])
    (root / "clips.json").write_text(json.dumps([{"clip": "curve", "kind": "turn"}]))
    return root


@pytest.mark.parametrize("robot", ["x2", "dr02", "g1"])
def test_report_lists_every_clip_with_its_measures(robot: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["motion", "report", "--robot", robot, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert all(set(row) == KEYS for row in rows)
    kept = [row for row in rows if row["kept"]]
    assert len(kept) > 100
    assert np.median([row["slip_m_s"] for row in kept]) < 0.02


def test_report_shows_table_11(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["motion", "report"]) == 0
    text = capsys.readouterr().out
    for word in (
        "slope",
        "stairs",
        "discrete",
        "gap",
        "platform",
        "planned",
        "16_15",
        "commanded",
        "steps/s",
    ):
        assert word in text


def test_retarget_writes_a_motion_file(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.npz"
    argv = [
        "motion",
        "retarget",
        str(folder / "curve.bvh"),
        "--robot",
        "x2",
        "--column",
        "turn",
        "--out",
        str(out),
    ]
    assert main(argv) == 0
    (clip,), _ = store.load(out)
    assert clip.column == "turn" and not clip.synthetic and clip.quality.kept
    assert main(["motion", "report", "--robot", "dr02", "--file", str(out)]) == 2
    assert "not for dr02" in capsys.readouterr().err


def test_build_takes_a_folder_and_names_what_it_leaves_out(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "all.npz"
    assert main(["motion", "build", str(folder), "--robot", "x2", "--out", str(out), "--no-planned"]) == 0
    clips, left_out = store.load(out)
    assert {c.name: c.column for c in clips} == {"curve": "turn", "straight": "forward"}
    (row,) = left_out
    assert row.clip == "broken" and "values; expected" in row.reason
    assert "broken" in capsys.readouterr().out
    assert main(["motion", "build", str(tmp_path / "nowhere")]) == 2
    assert "No such folder" in capsys.readouterr().err


def test_without_recordings_planned_motion_lies_beside_ones_own_robot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any robot with arms will do, also one nobody has seen; of all plans the first two."""
    every = synthesis.plans
    monkeypatch.setattr(synthesis, "plans", lambda limbs: list(every(limbs))[:2])
    monkeypatch.chdir(tmp_path)
    assert main(["robots", "example"]) == 0
    assert main(["motion", "build", "--robot", "example.toml"]) == 0
    clips, _ = store.load(tmp_path / "motion_example.npz")
    assert len(clips) == 2 and all(clip.synthetic and clip.quality.kept for clip in clips)
    capsys.readouterr()
    assert main(["motion", "report", "--robot", "example.toml", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2
    assert main(["motion", "build", "--no-planned"]) == 2
    assert "Nothing to build from" in capsys.readouterr().err


def test_processes_side_by_side_make_the_same_motion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = robots.load("x2")
    solver = Solver(robot)
    chosen = [(f"planned_{plan.name}", plan) for plan in list(synthesis.plans(solver.limbs))[:3]]
    alone, together = (build.Parts(folder=tmp_path / name) for name in ("alone", "together"))
    assert list(build.make_parts(solver, robot, alone, chosen)) == [name for name, _ in chosen]
    monkeypatch.setattr(build, "WORTH", 1)
    monkeypatch.setattr(build, "cores", lambda: 2)
    assert set(build.make_parts(solver, robot, together, chosen)) == {name for name, _ in chosen}
    for name, _ in chosen:
        (one,), (other,) = alone.get(name)[0], together.get(name)[0]
        assert one.name == other.name and np.array_equal(one.joint_position, other.joint_position)


def test_show_lists_clips_and_refuses_unknown_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["motion", "show"]) == 0
    assert "walk_0.8" in capsys.readouterr().out
    assert main(["motion", "show", "walk_9"]) == 2
    assert "Unknown clip: 'walk_9'" in capsys.readouterr().err


def test_report_draws_what_a_dataset_does(tmp_path: Path) -> None:
    from PIL import Image

    from ssr.pictures.offscreen import working_backend

    if working_backend() is None:
        pytest.skip("no offscreen OpenGL here")
    picture = tmp_path / "overview.png"
    assert main(["motion", "report", "--json", "--overview", str(picture)]) == 0
    pixels = np.asarray(Image.open(picture).convert("L"))
    assert pixels.shape[0] > 900 and pixels.std() > 10


def test_show_draws_a_film_strip(tmp_path: Path) -> None:
    from PIL import Image

    from ssr.pictures.offscreen import working_backend

    if working_backend() is None:
        pytest.skip("no offscreen OpenGL here")
    picture = tmp_path / "strip.png"
    assert main(["motion", "show", "stand", "--picture", str(picture)]) == 0
    pixels = np.asarray(Image.open(picture).convert("L"))
    assert pixels.shape[0] > 500 and pixels.std() > 10
