"""Frames averaged over control steps: a policy's and the reference's are blended alike."""

import torch

from ssr.motion.frames import STRIDE, RecentMean, blend, smoothed


def test_a_walk_seen_step_by_step_is_blended_as_a_clip_is():
    clip = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    mean = RecentMean(2, 3, stride=6)
    seen = [mean(frame.expand(2, 3), torch.full((2,), t == 0)) for t, frame in enumerate(clip)]
    whole = smoothed(clip, blend(6))
    for t in range(5, 40):
        torch.testing.assert_close(seen[t][1], whole[t])
    torch.testing.assert_close(whole[2], clip[:3].mean(0))


def test_an_episode_begins_its_own_mean():
    mean = RecentMean(2, 1, stride=4)
    for value in (1.0, 2.0, 3.0):
        mean(torch.full((2, 1), value), torch.tensor([False, False]))
    blended = mean(torch.full((2, 1), 9.0), torch.tensor([True, False]))
    assert blended.flatten().tolist() == [9.0, 3.75]


def test_neighbouring_frames_are_left_as_they_are():
    frame = torch.randn(4, 5)
    assert blend(STRIDE) == 1
    assert torch.equal(RecentMean(4, 5, STRIDE)(frame, torch.zeros(4, dtype=torch.bool)), frame)
    assert torch.equal(smoothed(frame, 1), frame)
