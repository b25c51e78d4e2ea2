"""Earlier minibatches: what is kept, for how long, and that it is learned beside what is new."""

from __future__ import annotations

from dataclasses import fields

import torch

from ssr.learning.recollection import Recollection, Sequences, side_by_side

STEPS, HISTORY, SIZE = 3, 2, 5


def batch(worlds: int, images: int, value: float) -> Sequences:
    def full(*shape: int) -> torch.Tensor:
        return torch.full(shape, value)

    return Sequences(
        history=full(STEPS, worlds, HISTORY, SIZE),
        images=value + torch.arange(images).float().view(-1, 1, 1).expand(-1, 4, 4),
        frame_index=torch.arange(STEPS * worlds).view(STEPS, worlds) % images,
        hidden=full(worlds, 6),
        resets=torch.zeros(STEPS, worlds, dtype=torch.bool),
        privileged=full(STEPS, worlds, 7),
        next_proprioception=full(STEPS, worlds, SIZE),
        valid=torch.ones(STEPS, worlds, dtype=torch.bool),
        unbroken=torch.ones(STEPS, worlds, dtype=torch.bool),
    )


def test_every_world_keeps_what_it_saw() -> None:
    one, other = batch(2, 3, 10.0), batch(3, 4, 20.0)
    both = side_by_side(one, other)
    assert both.history.shape == (STEPS, 5, HISTORY, SIZE) and both.hidden.shape == (5, 6)
    assert torch.equal(both.images[both.frame_index[:, :2]], one.images[one.frame_index])
    assert torch.equal(both.images[both.frame_index[:, 2:]], other.images[other.frame_index])
    assert both.privileged[0, :, 0].tolist() == [10.0, 10.0, 20.0, 20.0, 20.0]


def test_the_oldest_makes_room_for_the_newest() -> None:
    earlier = Recollection(3)
    for value in range(5):
        earlier.put(batch(2, 3, float(value)))
    torch.manual_seed(0)
    assert len(earlier) == 3
    assert {float(earlier.draw().hidden[0, 0]) for _ in range(60)} == {2.0, 3.0, 4.0}


def test_what_is_kept_is_its_own_and_precise_to_a_thousandth() -> None:
    earlier, new = Recollection(1), batch(2, 3, 1.2345)
    earlier.put(new)
    new.history.zero_()
    new.frame_index.zero_()
    drawn = earlier.draw()
    assert drawn.history.dtype == torch.float32
    assert torch.allclose(drawn.history, torch.tensor(1.2345), rtol=1e-3)
    assert drawn.frame_index.max() == 2


def test_it_goes_on_as_it_was() -> None:
    one, other = Recollection(3), Recollection(3)
    for value in range(4):
        one.put(batch(2, 3, float(value)))
    other.load_state_dict(one.state_dict())
    for earlier in (one, other):
        earlier.put(batch(2, 3, 9.0))
    for _ in range(10):
        torch.manual_seed(_)
        drawn = one.draw()
        torch.manual_seed(_)
        same = other.draw()
        assert all(torch.equal(getattr(drawn, f.name), getattr(same, f.name)) for f in fields(Sequences))
