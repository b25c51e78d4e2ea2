"""A judge that never paid anyone: sure where motions differ, guessing where they do not."""

from functools import cache
from pathlib import Path

import pytest
import torch

from ssr.evaluation import fresh_judge
from ssr.evaluation.fresh_judge import Side, tell_apart
from ssr.evaluation.manner import (
    HALF,
    LEAST_PEOPLE,
    PLANNED,
    Speeds,
    Walk,
    against_itself,
    as_judged,
    basis,
    describe,
    matching,
    one_against_others,
    person,
    reference_walks,
    windows_of,
)
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
    return reference_walks(ROBOT, MotionDataset.load(ROBOT), "forward")


def test_two_halves_of_the_reference_cannot_be_told_apart() -> None:
    near = matching(reference(), AMP, 0.95)
    assert near.reach == 0.15
    verdict = against_itself(reference(), AMP, near, 0)
    assert verdict is not None
    value, low, high = verdict
    assert low < 0.5 < high
    assert abs(value - 0.5) < 0.08


@pytest.mark.parametrize(("lean", "low", "high"), [(0.0, 0.3, 0.7), (1.0, 0.75, 1.0)])
def test_a_person_is_told_from_the_others_by_what_sets_them_apart(
    lean: float, low: float, high: float, monkeypatch
) -> None:
    """Seven people who stagger alike; one, with four clips, may lean."""
    monkeypatch.setattr(fresh_judge, "MOST", 100)
    draw, walks = torch.Generator().manual_seed(0), []
    for clip, group in enumerate([0, 0, 0, 0, 1, 2, 3, 4, 5, 6]):
        frames = 0.1 * torch.randn(150, AMP.size, generator=draw)
        AMP.get(frames, "base_velocity")[:, 0] = 1.0
        AMP.get(frames, "gravity")[:, 0] += lean * (group == 0)
        walks.append(Walk(frames=frames, group=group, clip=clip))
    verdict = one_against_others(walks, AMP, 1.0, 0)
    assert verdict is not None and low <= verdict[0] <= high
    assert one_against_others([walk for walk in walks if walk.group == 0], AMP, 1.0, 0) is None


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
    near = matching(reference(), AMP, 0.95)
    assert tell_apart(windows_of(stiff, AMP, near), windows_of(reference(), AMP, near)).value > 0.9


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
    one, other = (windows_of([Walk(frames=frames, group=0)], AMP, half=half) for half in (0, 1))
    assert not set(one.windows.flatten().tolist()) & set(other.windows.flatten().tolist())
    assert float(one.windows.min()) >= 0.0, "a base velocity was left in"


def test_people_are_groups_and_planned_walks_are_one_of_them() -> None:
    clips = [clip for clip in MotionDataset.load(ROBOT).clips if clip.column == "forward"]
    planned = [k for k, clip in enumerate(clips) if clip.synthetic]
    assert {walk.group for walk in reference() if walk.clip in planned} == {PLANNED}
    people = {person(clip) for clip in clips if not clip.synthetic}
    assert {"07", "08", "35"} <= people
    assert len({walk.group for walk in reference()}) == len(people) + 1
    assert len({walk.clip for walk in reference()}) == len(clips)


def test_windows_are_matched_by_their_own_speed_as_closely_as_enough_people_allow() -> None:
    """A walk that speeds up from 0 to 2 m/s holds windows near 1 m/s only in its middle."""
    frames = torch.zeros(400, AMP.size)
    AMP.get(frames, "base_velocity")[:, 0] = torch.linspace(0.0, 2.0, 400)
    AMP.get(frames, "gravity")[:, 0] = torch.linspace(0.0, 2.0, 400)
    near = Speeds(speed=1.0, reach=0.15)
    kept = windows_of([Walk(frames=frames, group=0)], AMP, near, only="gravity").windows[..., 0].mean(1)
    assert 0.82 < float(kept.min()) < 0.9 and 1.1 < float(kept.max()) < 1.18
    slow = matching(reference(), AMP, 0.3)
    assert slow.reach > 0.15, "hardly anyone walks that slowly"
    assert len(windows_of(reference(), AMP, slow).group.unique()) >= LEAST_PEOPLE


def test_a_judge_sees_joint_velocities_only_as_positions_change() -> None:
    frames = torch.randn(60, AMP.size, generator=torch.Generator().manual_seed(0))
    marked = frames.clone()
    AMP.get(marked, "joint_velocity")[:] += 5.0
    assert torch.equal(as_judged(frames, AMP), as_judged(marked, AMP))
    clip = next(c for c in MotionDataset.load(ROBOT).clips if c.column == "forward")
    own = MotionDataset.of(ROBOT, [clip], mirror=False).frames
    assert torch.allclose(as_judged(own, AMP), own[1:-1], atol=1e-3), "a clip's are such already"


def test_a_verdict_depends_on_the_motion(tmp_path: Path) -> None:
    one, other = tmp_path / "one.npz", tmp_path / "other.npz"
    one.write_bytes(b"walks")
    other.write_bytes(b"runs")
    assert basis(one) == basis(one) != basis(other)


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
