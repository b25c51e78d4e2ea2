"""Trials on terrain nobody trained on."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ssr import robots
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import choose
from ssr.evaluation.open_world import before_it, eye
from ssr.evaluation.waypoints import Way, command
from ssr.evaluation.worlds import TrialWorlds, strips_for
from ssr.task.config import TaskConfig
from ssr.terrain.making import make_tile
from ssr.vision.camera import CameraConfig

X2 = robots.load("x2")


def worlds_on(kind: str) -> TrialWorlds:
    (course,) = [c for c in choose(("open_world",), kind, None) if not c.terrain.falls(c.setting)]
    return TrialWorlds(X2, TaskConfig(), CameraConfig(), strips_for(course, [1, 2]), [1, 2], Conditions())


@pytest.mark.parametrize("kind", ["spiral_stairs", "trolley", "tall_grass"])
def test_a_trial_runs(kind: str) -> None:
    worlds = worlds_on(kind)
    worlds.begin()
    for _ in range(3):
        transition = worlds.step(torch.zeros(2, len(X2.joints)))
        observation = worlds.observe()
    assert bool(transition.valid.all())
    assert bool(torch.isfinite(observation.history).all())
    assert worlds.covered.abs().max() < 2.0


def test_grass_is_seen_and_not_felt() -> None:
    worlds = worlds_on("tall_grass")
    worlds.begin()
    env = worlds.env
    env.simulator.qpos[:, 0] = 5.0  # in the midst of it
    env.step(torch.zeros(2, len(X2.joints)))
    through_grass = env.restart(torch.zeros(2, dtype=torch.bool)).depth.clone()
    env.shown = env.field
    bare = env.restart(torch.zeros(2, dtype=torch.bool)).depth
    hidden = (through_grass < bare - 0.02).float().mean((1, 2))
    assert (hidden > 0.05).all()
    assert (through_grass > bare + 1e-4).sum() == 0
    assert env.field.heights(torch.rand(2, 500, 2) * 5).abs().max() == 0.0


def test_an_operator_leads_along_a_way_that_turns() -> None:
    """A point that does as it is told stays on the way, and stops at its end."""
    turn = np.linspace(-np.pi / 2, np.pi / 2, 30)
    way = Way([(0.0, 0.0), *zip(3 + 2 * np.cos(turn), 2 + 2 * np.sin(turn), strict=True), (0.0, 4.0)])
    place, yaw, done, away = np.array([0.0, 0.1]), 0.3, 0.0, []
    for _ in range(1200):
        done = way.nearest(place, done)
        forward, left, rate = command(way, done, place, yaw, 0.8)
        assert left == 0.0
        place = place + 0.02 * forward * np.array([np.cos(yaw), np.sin(yaw)])
        yaw += 0.02 * rate
        away.append(float(np.linalg.norm(place - way.at(done))))
    assert max(away) < 0.4
    assert done > way.length - 0.2 and forward == 0.0


def test_the_report_has_a_picture_of_each_terrain_as_the_eye_sees_it() -> None:
    """Bars, pits and stones are in the image: it is no plane."""
    shown = eye(before_it(make_tile("grid_floor", setting=(0.08, 0.04))), "x2")
    assert shown.shape == (230, 230, 3)
    assert len(np.unique(shown.reshape(-1, 3), axis=0)) > 40
