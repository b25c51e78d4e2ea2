"""A simulated robot that moves as a reference clip does shows the discriminators what the clip shows them."""

from __future__ import annotations

import pytest
import torch

from ssr import robots
from ssr.motion.dataset import MotionDataset
from ssr.physics.simulator import ResetPose
from ssr.task.env import TraversalEnv

EVERY = 5  #: frames of a clip between those that are replayed


@pytest.mark.parametrize("name", ["x2", "dr02", "g1"])
@pytest.mark.parametrize("column", ["turn", "stairs"])
def test_a_replayed_clip_has_the_frames_of_the_reference(name: str, column: str) -> None:
    robot = robots.load(name)
    clip = next(c for c in MotionDataset.load(robot).clips if c.column == column and not c.synthetic)
    whole = MotionDataset.of(robot, [clip], mirror=False)
    reference = whole.frames[::EVERY]
    states = {name: values[::EVERY] for name, values in vars(whole.states).items()}
    height, _ = states.pop("base_height"), states.pop("course")
    env = TraversalEnv(robot, len(reference))
    env.reset()
    position = torch.stack((*torch.zeros(2, len(height)), height), -1)
    env.start(torch.arange(len(reference)), ResetPose(base_position=position, **states))
    replayed, amp = env.senses.amp_frame(), env.layouts.amp
    for segment in amp:
        # Clips are stored rounded: hands and feet as they were found, joints as they then are.
        tolerance = 2e-4 if segment.name in ("hand_position", "foot_position") else 1e-5
        mine, theirs = amp.get(replayed, segment.name), amp.get(reference, segment.name)
        torch.testing.assert_close(mine, theirs, atol=tolerance, rtol=1e-5)
        assert mine.std(0).max() > 0.01, f"{segment.name} moves"
