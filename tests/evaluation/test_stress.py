"""Stress does to a robot, its ground and its eyes what it says, dose by dose."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

from ssr import robots
from ssr.cli.main import main
from ssr.errors import UserError
from ssr.evaluation import report
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.stress.chapter import half_dose
from ssr.evaluation.stress.curves import Curves, StressRecord, examine
from ssr.evaluation.stress.kind import ONSET
from ssr.evaluation.stress.registry import KINDS, stress_named
from ssr.evaluation.worlds import TrialWorlds, strips_for
from ssr.physics.shaking import shake
from ssr.task.config import TaskConfig
from ssr.vision.camera import CameraConfig

X2 = robots.load("x2")
STILL = torch.zeros(2, len(X2.joints))


def worlds_under(stress: str, dose: float, camera: CameraConfig | None = None) -> TrialWorlds:
    strips = strips_for(Course.of("stairs_down", 0.13, 0.32), [1, 2])
    conditions = Conditions(nominal=True, stress=stress, dose=dose)
    made = TrialWorlds(X2, TaskConfig(), camera, strips, [1, 2], conditions)
    made.begin()
    return made


def at(worlds: TrialWorlds, seconds: float) -> TrialWorlds:
    """As if so much of the trial were over."""
    worlds.steps = worlds.env.config.control_steps(seconds)
    return worlds


@pytest.mark.parametrize(("stress", "axis"), [("shove", 0), ("shove_aside", 1)])
def test_a_shove_comes_when_it_should_and_the_way_it_should(stress: str, axis: int) -> None:
    gained = {}
    for when in (ONSET - 0.02, ONSET, ONSET + 0.02, 2 * ONSET):
        worlds = at(worlds_under(stress, 1.0), when)
        simulator = worlds.env.simulator
        before = simulator.qvel[:, :2].copy()
        worlds.trouble.act(worlds.env, worlds.steps)
        yaw = worlds.env.simulator.readout.reading.yaw
        change = simulator.qvel[:, :2] - before
        ahead = change[:, 0] * np.cos(yaw) + change[:, 1] * np.sin(yaw)
        left = change[:, 1] * np.cos(yaw) - change[:, 0] * np.sin(yaw)
        gained[when] = np.stack([ahead, left], axis=-1)
    for when in (ONSET, 2 * ONSET):
        np.testing.assert_allclose(gained[when][:, axis], 1.0, atol=1e-6)
        np.testing.assert_allclose(gained[when][:, 1 - axis], 0.0, atol=1e-6)
    assert np.abs(gained[ONSET - 0.02]).max() == np.abs(gained[ONSET + 0.02]).max() == 0.0


def test_who_falls_freely_sees_the_ground_shake_away_under_it() -> None:
    """In the ground's frame all of a falling robot gains −a t, and −α t about the vertical."""
    for linear, turning in (((3.0, -2.0), 0.0), ((0.0, 0.0), 5.0)):
        still, shaken = (worlds_under("", 0.0).env.simulator for _ in range(2))
        for simulator in (still, shaken):
            simulator.qpos[:, 2] += 20.0
        shake(shaken, np.array(linear), turning)
        for simulator in (still, shaken):
            simulator.step(simulator.targets(), 4)
        gained = shaken.qvel - still.qvel
        np.testing.assert_allclose(gained[:, :2], [[-0.02 * a for a in linear]] * 2, atol=1e-3)
        np.testing.assert_allclose(gained[:, 5], -0.02 * turning, atol=0.01)


def test_shaking_goes_to_and_fro_and_stops_with_the_trial() -> None:
    worlds = worlds_under("shake", 2.0)
    force, mass = worlds.env.simulator.batch.bind("xfrc_applied"), X2.build().compile().body_mass.sum()
    felt = []
    for step in range(150, 650):
        worlds.trouble.act(worlds.env, step)
        felt.append(force[0, :, :2].sum(axis=0) / mass)
    assert np.abs(np.mean(felt, axis=0)).max() < 0.05
    np.testing.assert_allclose(np.abs(felt).max(axis=0), 2.0, rtol=0.01)
    before = worlds_under("shake", 2.0)
    before.trouble.act(before.env, 10)
    assert not before.env.simulator.batch.bind("xfrc_applied").any(), "it begins at 3 s"


@pytest.mark.parametrize("stress", ["load", "weak_knee", "slippery"])
def test_other_dynamics_in_mid_walk_leave_the_state_as_it_is(stress: str) -> None:
    worlds = at(worlds_under(stress, 0.5), ONSET)
    env = worlds.env
    if stress == "slippery":
        env.simulator.readout.reading.base_position[:, 0] = env.field.first_edge.numpy() + 0.1
    states = env.simulator.snapshot()
    fields = ("body_mass", "actuator_gainprm", "geom_friction")
    before = {name: env.simulator.batch.expand(name).copy() for name in fields}
    worlds.trouble.act(env, worlds.steps)
    assert torch.equal(env.simulator.snapshot(), states)
    changed = [name for name in fields if not np.allclose(env.simulator.batch.expand(name), before[name])]
    expected = {"load": "body_mass", "weak_knee": "actuator_gainprm", "slippery": "geom_friction"}[stress]
    assert changed == [expected]
    if stress == "load":
        gain = env.simulator.batch.expand("body_mass") - before["body_mass"]
        np.testing.assert_allclose(gain.sum(axis=1), 0.5, atol=1e-6)


def seen_after(stress: str, dose: float, seconds: float = ONSET) -> tuple[torch.Tensor, torch.Tensor]:
    """The image as it is and as it is seen."""
    worlds = at(worlds_under(stress, dose, CameraConfig(randomization=0.0)), seconds)
    worlds.step(STILL)
    seen = worlds.observe().depth
    return worlds.env.camera.image.clone(), seen


def test_holes_take_their_share_and_grass_stands_before_what_is_there() -> None:
    true, seen = seen_after("holes", 0.4)
    lost = (seen != true).float().mean()
    assert 0.05 < lost <= 0.45
    assert (seen[seen != true] == CameraConfig.near).all()
    true, seen = seen_after("grass", 60)
    assert (seen != true).float().mean() > 0.1
    assert (seen <= true).all()


def test_a_missing_camera_comes_back() -> None:
    _, seen = seen_after("missing", 1.0)
    assert (seen == CameraConfig.far).all()
    true, seen = seen_after("missing", 1.0, seconds=ONSET + 1.5)
    assert torch.equal(true, seen)


@pytest.mark.parametrize(
    ("stress", "dose", "age"), [("latency", 0.1, 5), ("frozen", 2.0, 8), ("frozen", 0.0, 0)]
)
def test_late_and_frozen_images_are_old_ones(stress: str, dose: float, age: int) -> None:
    worlds = worlds_under(stress, dose, CameraConfig(randomization=0.0))
    if stress == "frozen":
        at(worlds, ONSET - 0.04)
    images = []
    for _ in range(9):
        worlds.step(STILL)
        seen = worlds.observe().depth
        images.append(worlds.env.camera.image.clone())
    assert torch.equal(seen, images[-1 - age])
    assert age == 0 or not torch.equal(seen, images[-1])


def test_no_dose_is_no_stress() -> None:
    for kind in KINDS:
        assert kind.doses[0] == 0.0 and list(kind.doses) == sorted(kind.doses)
        assert kind.doses[-1] <= kind.highest


@pytest.mark.parametrize(
    "make",
    [lambda: Conditions(stress="shove", dose=99.0), lambda: Conditions(stress="shuve", dose=1.0),
     lambda: Conditions(dose=1.0), lambda: Conditions(stress="holes", dose=float("nan")),
     lambda: Curves(source="scripted:stand", kinds=("storm",))],
)  # fmt: skip
def test_bad_doses_are_one_clear_line(make: Callable[[], object]) -> None:
    with pytest.raises(UserError) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_curves_are_kept_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    command = ["stress", "scripted:fall", "--stress", "shove", "--trials", "2", "--workers", "1"]
    assert main([*command, "--out", str(tmp_path)]) == 0
    written = json.loads((tmp_path / "stress.json").read_text())
    assert [row["dose"] for row in written["rows"]] == list(stress_named("shove").doses)
    assert "Success against dose" in (tmp_path / "stress.html").read_text()
    chunks = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")}
    assert len(chunks) == 5
    request = Curves(source="scripted:fall", kinds=("shove",), trials=2, folder=tmp_path)
    record = examine(request, Console(quiet=True))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")} == chunks, "nothing done twice"
    assert half_dose(record, "shove") is None, "who falls anyway has no dose that fells it"
    assert "Stress" in report.write_stress(record, tmp_path).read_text()


def test_the_dose_that_halves_success() -> None:
    rows = [{"stress": "shove", "dose": d, "success": s} for d, s in ((0.0, 0.9), (1.0, 0.6), (2.0, 0.3))]
    record = StressRecord(
        name="", policy="", robot="", iteration=None, conditions=Conditions(), trials=1, rows=rows
    )
    assert half_dose(record, "shove") == pytest.approx(1.5)
