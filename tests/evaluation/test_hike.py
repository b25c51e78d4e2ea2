"""A long walk: no seam in its ground, what happens is written down, and it goes on where it was stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ssr.cli.main import main
from ssr.evaluation import subject
from ssr.evaluation.hike import page
from ssr.evaluation.hike.log import load
from ssr.evaluation.hike.stream import WORLD
from ssr.evaluation.hike.walk import Hike, Walker, folder_of
from ssr.physics.mujoco_engine import MujocoSimulator
from ssr.pictures.offscreen import working_backend
from ssr.terrain.field import TerrainField
from ssr.terrain.route import Route, moved

SHIPPED = "pretrained/x2"


def walker(tmp_path: Path, source: str = SHIPPED, length: float = 60.0) -> Walker:
    torch.manual_seed(0)
    hike = Hike(source=source, iteration=None, folder=tmp_path, seed=5, length=length, speed=1.0)
    return Walker(subject.load(source), hike)


def test_no_seam_where_the_ground_is_renewed(tmp_path: Path) -> None:
    """After each renewal a control step ends as on the whole route, in the route's own frame; heights and
    rays are the same to the last bit."""
    walk = walker(tmp_path)
    env, stream = walk.env, walk.stream
    route = walk.route
    other = MujocoSimulator(env.robot, 1, pool=len(route.boxes), threads=1)
    other.place(WORLD, [route.whole()])
    other.randomize(WORLD, env.dynamics)
    seams = frames = 0
    while walk.log.done < 42.0:
        before = stream.origin.copy()
        renewed, falls = stream.renew(), len(walk.log.falls)
        if renewed:
            other.restore(env.simulator.snapshot())
            other.qpos[0, :3] += stream.origin
            origin = stream.origin.copy()
            frames += not np.array_equal(before, origin)
        walk.step()
        if not renewed or len(walk.log.falls) > falls:
            continue
        seams += 1
        other.step(env.simulator.targets(), env.substeps)
        other.qpos[0, :3] -= origin
        for name in ("qpos", "qvel"):
            apart = getattr(other, name) - getattr(env.simulator, name)
            assert np.abs(apart).max() < 1e-9
        forces = [simulator.read().foot_force for simulator in (other, env.simulator)]
        np.testing.assert_allclose(*forces, rtol=0.0, atol=1e-6)
        field, shown = seen_from(route, origin)
        base = torch.from_numpy(env.simulator.qpos[:, None, :2])
        points = base + torch.rand(1, 400, 2) * 6.0 - 3.0
        assert torch.equal(field.heights(points), env.field.heights(points))
        poses = env.simulator.link_poses()
        images = [env.camera._take(WORLD, ground, *poses) for ground in (shown, env.shown)]
        assert torch.equal(*images)
    assert seams > 20 and frames >= 1


def seen_from(route: Route, origin: np.ndarray) -> tuple[TerrainField, TerrainField]:
    """All of a route in the frame that begins at `origin` (3,): what bears feet, and what cameras see."""
    parts = {"boxes": route.boxes, "sights": route.sights}
    laid = {name: tuple(moved(box, origin.tolist()) for box in part) for name, part in parts.items()}
    whole = replace(route.whole(), **laid)
    fields = []
    for tile in (whole, whole.seen()):
        fields.append(TerrainField(1, len(tile.boxes)))
        fields[-1].place([0], [tile])
    return fields[0], fields[1]


def test_a_walk_that_was_stopped_goes_on(tmp_path: Path) -> None:
    first = walker(tmp_path)
    for _ in range(150):
        first.step()
    first.save()
    second = walker(tmp_path)
    second.resume()
    assert second.log.done == first.log.done and second.steps == 150
    for walk in (first, second):
        for _ in range(40):
            walk.step()
    np.testing.assert_allclose(
        second.stream.place(second.stream.world.position),
        first.stream.place(first.stream.world.position),
        atol=1e-9,
    )
    assert len(second.poses) == len(first.poses)


def test_who_falls_is_put_up_again_and_carried_in_the_end(tmp_path: Path) -> None:
    walk = walker(tmp_path, "scripted:fall")
    places = []
    while walk.log.count("carried") == 0:
        falls = len(walk.log.falls)
        walk.step()
        if len(walk.log.falls) > falls:
            places.append(walk.stream.place(walk.stream.world.position)[0])
    assert walk.log.count("fall") == 3
    assert walk.log.first_fall < 2.0
    assert walk.log.carried > 3.0
    assert places[0] < 2.0 < places[-1]
    assert "Seed 5" in page.body("x", [walk.log])


def test_the_command_writes_its_page(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["course", "scripted:fall", "--length", "12", "--out", str(tmp_path)]) == 0
    drawn = working_backend() is not None
    assert (folder_of(tmp_path, 0) / "strip.png").is_file() == drawn, "of ground without an end"
    assert "first fall" in (tmp_path / "course.html").read_text()
    log = load(folder_of(tmp_path, 0))
    assert log is not None and log.finished and log.count("fall") >= 1
    assert log.done >= 12.0


@pytest.mark.parametrize("length", ["0", "1e6"])
def test_an_impossible_length_is_one_clear_line(length: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["course", "scripted:fall", "--length", length]) == 2
    shown = capsys.readouterr().err
    assert "length" in shown and shown.count("\n") == 1
