"""A ramp's soles are judged against its own plane, others against the highest ground under them."""

from __future__ import annotations

from math import radians, tan

import pytest
import torch

from ssr import robots
from ssr.evaluation.ramps import Ramps
from ssr.task.transition import Feet
from ssr.terrain.field import TerrainField
from ssr.terrain.ground import ramp
from ssr.terrain.tile import Box, Tile

SOLE = robots.load("x2").sole
RISE = 2.0 * tan(radians(30.0))


def field() -> TerrainField:
    """Level ground to x = 2, a ramp of 30° to x = 4, level ground behind."""
    boxes = (
        Box.spanning((-2.0, 2.0), (-3.0, 3.0), (-1.0, 0.0)),
        ramp((2.0, 0.0), (4.0, RISE), 3.0),
        Box.spanning((4.0, 8.0), (-3.0, 3.0), (-1.0, RISE)),
    )
    made = TerrainField(1, 3)
    made.place([0], [Tile(kind="street", setting=(0.1,), boxes=boxes, length=8.0, half_width=3.0, start=0.0,
                          first_edge=2.0, last_edge=4.0, end_height=RISE)])  # fmt: skip
    return made


def deficiency(x: float, yaw: float = 0.0) -> float:
    at = torch.tensor([[[x, -0.1, 0.0], [x, 0.1, 0.0]]])
    flat = torch.zeros(1, 2, dtype=torch.bool)
    feet = Feet(contact=flat, force=at, position=at, yaw=torch.full((1, 2), yaw), touchdown=flat)
    return float(Ramps(field(), SOLE).deficiency(feet, torch.full((1, 2), 0.5))[0, 0])


@pytest.mark.parametrize("yaw", [0.0, 0.7, 1.5])
def test_a_sole_in_the_middle_of_a_ramp_is_wholly_supported(yaw: float) -> None:
    assert deficiency(3.0, yaw) == 0.0


def test_level_ground_is_left_to_the_usual_rule() -> None:
    assert deficiency(1.0) == deficiency(6.0) == 0.5


def test_a_sole_that_leaves_the_ramp_at_its_top_hangs_over() -> None:
    """Along the ramp's plane the ground behind its upper end drops away."""
    assert 0.0 < deficiency(3.97) < 1.0
