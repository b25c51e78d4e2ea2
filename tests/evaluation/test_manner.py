"""A judge that never paid anyone: sure where motions differ, guessing where they do not."""

from functools import cache

import pytest
import torch

from ssr.evaluation import fresh_judge
from ssr.evaluation.fresh_judge import Side, tell_apart
from ssr.evaluation.manner import HALF, Walk, describe, reference_walks, windows_of
from ssr.motion.dataset import MotionDataset
from ssr.robots import load
from ssr.symmetry.vectors import layouts

ROBOT = load("x2")
AMP = layouts(ROBOT).amp


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@cache
def reference() -> list[Walk]:
    return reference_walks(ROBOT, MotionDataset.load(ROBOT), "forward", 0.95)


def test_two_halves_of_the_reference_cannot_be_told_apart() -> None:
    one, other = (windows_of(reference(), AMP, half) for half in (0, 1))
    verdict = tell_apart(one, other)
    assert verdict.low < 0.5 < verdict.high
    assert abs(verdict.value - 0.5) < 0.08


def test_a_stiff_imitation_is_told_from_the_reference(monkeypatch) -> None:
    """The same walks with a third of every joint's movement."""
    monkeypatch.setattr(fresh_judge, "MOST", 200)
    joints = [AMP.slice(name) for name in ("joint_position", "joint_velocity")]
    stiff = []
    for walk in reference():
        frames = walk.frames.clone()
        for part in joints:
            frames[:, part] = frames[:, part].mean(0) + (frames[:, part] - frames[:, part].mean(0)) / 3
        stiff.append(Walk(frames=frames, group=walk.group))
    assert tell_apart(windows_of(stiff, AMP), windows_of(reference(), AMP)).value > 0.9


def test_windows_known_by_heart_are_worth_nothing() -> None:
    """Every group has a mark of its own, which says nothing about groups that were never seen."""
    draw = torch.Generator().manual_seed(0)
    marks = torch.randn(24, 1, 6, generator=draw)
    windows = (marks + 0.01 * torch.randn(24, 40, 6, generator=draw)).flatten(0, 1)
    group = torch.arange(24).repeat_interleave(40)
    first = group % 2 == 0
    verdict = tell_apart(
        Side(windows=windows[first], group=group[first]), Side(windows=windows[~first], group=group[~first])
    )
    assert abs(verdict.value - 0.5) < 0.25


def test_the_halves_of_a_clip_share_no_frame_and_base_velocity_is_left_out() -> None:
    numbers = torch.arange(4 * HALF, dtype=torch.float32)[:, None].repeat(1, AMP.size)
    frames = numbers.clone()
    frames[:, AMP.slice("base_velocity")] = -1.0
    one, other = (windows_of([Walk(frames=frames, group=0)], AMP, half) for half in (0, 1))
    assert not set(one.windows.flatten().tolist()) & set(other.windows.flatten().tolist())
    assert float(one.windows.min()) >= 0.0, "a base velocity was left in"


def test_steps_and_swing_of_a_known_walk_are_what_they_are() -> None:
    """Feet that pass each other four times in two seconds at 0.5 m/s: 2 steps/s of 0.25 m."""
    t = torch.arange(100) / 50.0
    frames = torch.zeros(100, AMP.size)
    swing = torch.cos(2 * torch.pi * t + 0.3)
    AMP.get(frames, "foot_position")[:, 0], AMP.get(frames, "foot_position")[:, 3] = 0.2 * swing, -0.2 * swing
    AMP.get(frames, "hand_position")[:, 0], AMP.get(frames, "hand_position")[:, 3] = -0.1 * swing, 0.1 * swing
    AMP.get(frames, "base_velocity")[:, 0] = 0.5
    found = describe([Walk(frames=frames, group=0)], ROBOT)
    assert found["cadence"] == pytest.approx(2.0)
    assert found["step_length"] == pytest.approx(0.25)
    assert found["arm_swing"] == pytest.approx(0.2, abs=0.01)
    assert found["joints"]["left_knee_joint"] == [0.0, 0.0]
