"""Who is promoted, who is demoted, and what follows the hardest level: cases worked out by hand."""

from __future__ import annotations

import torch

from ssr.terrain.curriculum import crossed, next_levels

CASES = [
    # level, crossed, progress, commanded, first, expected
    (0, True, 6.0, 6.0, False, 1),  # crossed: up
    (7, True, 5.0, 20.0, False, 8),  # crossed, though slowly: up
    (7, False, 4.0, 9.0, False, 6),  # 4.0 < 4.5: down
    (7, False, 4.5, 9.0, False, 7),  # exactly half: stays
    (7, False, 6.0, 9.0, False, 7),  # fell late: stays
    (7, False, 0.1, 0.99, False, 7),  # asked for less than a metre: stays
    (7, False, 0.1, 1.0, False, 6),  # asked for a metre: down
    (7, False, -2.0, 5.0, False, 6),  # walked the wrong way: down
    (0, False, 0.0, 9.0, False, 0),  # nothing below level 0
    (7, True, 6.0, 6.0, True, 7),  # first reset: never up
    (7, False, 0.0, 9.0, True, 7),  # first reset: never down
    (19, False, 1.0, 9.0, False, 18),
    (19, True, 6.0, 6.0, True, 19),
    (18, True, 6.0, 6.0, False, 19),
]


def test_levels_by_hand() -> None:
    level, cleared, progress, commanded, first, expected = map(torch.tensor, zip(*CASES, strict=True))
    assert next_levels(level, cleared, progress, commanded, first).tolist() == expected.tolist()


def test_who_failed_loses_a_level_however_far_he_came() -> None:
    level, failed = torch.tensor([7, 7, 7, 19]), torch.tensor([True, False, True, True])
    crossed_it, distance = torch.tensor([True, True, False, True]), torch.full((4,), 6.0)
    no = torch.zeros(4, dtype=torch.bool)
    after = next_levels(level, crossed_it, distance, distance, no, failed=failed)
    assert after.tolist() == [6, 8, 6, 18]


def test_past_the_top_any_level_follows() -> None:
    n = 4000
    top = torch.full((n,), 19)
    yes, no = torch.ones(n, dtype=torch.bool), torch.zeros(n, dtype=torch.bool)
    distance = torch.full((n,), 6.0)

    def draw(seed: int) -> torch.Tensor:
        return next_levels(top, yes, distance, distance, no, torch.Generator().manual_seed(seed))

    counts = torch.bincount(draw(0), minlength=20)
    assert len(counts) == 20
    assert counts.min() > 120
    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))


def test_crossing_takes_half_a_metre_beyond_the_last_edge() -> None:
    places, first, last = (5.7, 5.75, 6.0, 1.0, 1.25, 0.9), 1.5, 5.25
    assert [crossed(x, first, last) for x in places] == [False, True, True, False, False, False]
    assert [crossed(x, first, last, True) for x in places[3:]] == [True, False, True]


def test_levels_are_asked_for_some_worlds_only() -> None:
    level, crossed_it = torch.tensor([3, 4, 5]), torch.tensor([True, True, False])
    distance, no = torch.full((3,), 6.0), torch.zeros(3, dtype=torch.bool)
    asked = next_levels(level, crossed_it, distance, distance, no, worlds=torch.tensor([1, 2]))
    assert asked.tolist() == [5, 5] and level.tolist() == [3, 4, 5]
