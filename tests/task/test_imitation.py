"""Reference motion that is followed: it begins in the nearest pose and goes on as recorded."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ssr.learning.references import ReferenceStarts
from ssr.motion.dataset import MotionDataset
from ssr.physics.readout import Reading
from ssr.robots import load
from ssr.task.config import TaskConfig, TerrainConfig
from ssr.task.env import TraversalEnv
from ssr.task.imitation import STRETCH, THINNED, Imitation

SLOPE = 0  #: index of the terrain type


@pytest.fixture(scope="module")
def references() -> ReferenceStarts:
    return ReferenceStarts(MotionDataset.load(load("x2")))


def reading(references: ReferenceStarts, frames: list[int]) -> Reading:
    """A robot in exactly these frames of the motion."""
    track = references.track
    empty = dict.fromkeys(Reading._fields, np.zeros(0, np.float32))
    return Reading(
        **empty | {"joint_position": track.position[frames], "joint_velocity": track.velocity[frames]}
    )


def choices(references: ReferenceStarts) -> np.ndarray:
    """Frames that may be found, at least two seconds before their clip ends."""
    track = references.track
    frames = track.choices[SLOPE, : track.choice_count[SLOPE] : THINNED]
    return frames[track.end[frames] - frames > 100]


def test_whoever_is_in_a_frame_is_found_there_and_goes_on_as_recorded(references: ReferenceStarts) -> None:
    track = references.track
    frames = [int(f) for f in choices(references)[[50, 3000, 9000]]]
    followed = Imitation(3, 21, track, 0.02)
    command, kinds = track.course[frames], torch.full((3,), SLOPE)
    followed.advance(reading(references, frames), command, kinds)
    assert followed.frame.tolist() == frames
    steps = round(STRETCH / 0.02)
    for k in range(1, steps + 1):
        elsewhere = reading(references, [0, 0, 0])  # a stretch is followed to its end wherever the robot is
        followed.advance(elsewhere, command, kinds)
        assert followed.frame.tolist() == [f + k for f in frames]
        assert np.array_equal(followed.now.numpy(), track.position[[f + k for f in frames]])
        assert np.array_equal(followed.soon.numpy(), track.position[[f + k + 3 for f in frames]])
    again = [int(f) for f in choices(references)[[70, 3100, 9100]]]
    followed.advance(reading(references, again), track.course[again], kinds)
    assert followed.frame.tolist() == again


def test_no_stretch_runs_over_the_end_of_its_clip(references: ReferenceStarts) -> None:
    track = references.track
    followed = Imitation(1, 21, track, 0.02)
    last = int(track.end[0])
    followed.begin(torch.tensor([0]), torch.tensor([last - 1]))
    standing = reading(references, [int(choices(references)[50])])
    command, kinds = np.zeros((1, 3), np.float32), torch.full((1,), SLOPE)
    followed.advance(standing, command, kinds)
    assert followed.frame.item() == last
    assert np.array_equal(followed.soon[0].numpy(), track.position[last])
    followed.advance(standing, command, kinds)
    assert followed.frame.item() != last + 1


def test_the_speed_asked_for_is_what_is_shown(references: ReferenceStarts) -> None:
    track = references.track
    frame = int(choices(references)[50])
    for speed in (-0.5, 0.4, 1.0):
        followed = Imitation(1, 21, track, 0.02)
        command = np.array([[speed, 0, 0]], np.float32)
        followed.advance(reading(references, [frame]), command, torch.full((1,), SLOPE))
        assert track.course[followed.frame.item(), 0] == pytest.approx(speed, abs=0.3)


def test_the_task_shows_the_way_only_while_the_bootstrap_pays_for_it(references: ReferenceStarts) -> None:
    base = TaskConfig(terrain=TerrainConfig(kinds=("flat",)), reference_starts=0.5)
    config = replace(base, bootstrap=replace(base.bootstrap, imitation=1.0))
    env = TraversalEnv(load("x2"), 8, config, seed=2, threads=1, references=references)
    seen = env.reset()
    assert seen.guide.shape == (8, 21)
    taken = env.imitation.frame >= 0
    assert taken.all(), "those that begin in the default pose look for the nearest one"
    assert "imitation" in env.step(seen.guide).terms
    env.set_bootstrap(0.0)
    assert env.observation().guide.shape == (8, 0)
    assert "imitation" not in env.step(seen.guide).terms
