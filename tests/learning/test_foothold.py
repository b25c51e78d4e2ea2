"""r^f: full support earns 1, an edge under the sole costs, slopes are left alone."""

from dataclasses import replace
from math import exp

import numpy as np
import pytest
import torch
from toy import ToyWalker

from ssr.learning.config import FootholdConfig
from ssr.learning.foothold import Imagined, foothold_reward, guidance, stance_deficiency
from ssr.terrain.kinds import make_tile
from ssr.terrain.settings import TERRAIN_TYPES

STAIRS, SLOPE = TERRAIN_TYPES.index("stairs"), TERRAIN_TYPES.index("slope")
CONFIG = FootholdConfig()


def test_reward_by_hand():
    deficiency = torch.tensor([[0.0, 0.0], [0.25, 0.0], [0.1, 0.15], [0.25, 0.0]])
    kind = torch.tensor([STAIRS, STAIRS, STAIRS, SLOPE])
    expected = torch.tensor([1.0, exp(-1.0), exp(-1.0), 1.0])
    torch.testing.assert_close(foothold_reward(deficiency, kind, CONFIG.sigma), expected)


def stance_of(maps, drop):
    """ρ of feet whose centres are `maps` (2, 2, 50) m above the ground, tilted by `drop` (2, 2)."""
    env = ToyWalker(num_envs=2)
    env.reset()
    transition = env.step(torch.zeros(2, 21))
    env.layouts.privileged.get(transition.privileged, "foot_height_maps")[:] = 5 * maps.flatten(1)
    transition = replace(transition, feet=replace(transition.feet, drop=drop))
    return stance_deficiency(env.layouts.privileged, transition, CONFIG.tolerance)


def test_stance_is_read_from_the_foot_maps():
    """Ground 3 cm and more below a flat sole carries nothing."""
    maps = torch.zeros(2, 2, 50)
    maps[0, 0, :20] = 0.031
    maps[0, 1, :] = 0.029
    maps[1, 1, :] = 0.5
    expected = torch.tensor([[0.4, 0.0], [0.0, 1.0]])
    torch.testing.assert_close(stance_of(maps, torch.zeros(2, 2)), expected)


def test_a_tilted_sole_stands_on_its_lowest_corner():
    """On level ground heel or toes carry it; over an edge the part beyond hangs as it does when flat."""
    maps = torch.full((2, 2, 50), 0.05)
    maps[1, :, 30:] += 0.13
    drop = torch.tensor([[0.05, 0.0], [0.05, 0.05]])
    expected = torch.tensor([[0.0, 1.0], [0.4, 0.4]])
    torch.testing.assert_close(stance_of(maps, drop), expected)


@pytest.fixture
def stairs():
    """A world on stairs whose right foot stands and whose left foot swings."""
    env = ToyWalker(num_envs=1)
    tile = make_tile("stairs_up", level=19, rng=np.random.default_rng(0))
    env.field.place(torch.tensor([0]), [tile])
    env.reset()
    transition = env.step(torch.zeros(1, 21))
    feet = replace(transition.feet, contact=torch.tensor([[True, False]]), yaw=torch.zeros(1, 2))
    return env, tile, replace(transition, feet=feet)


def swing_value(stairs, x, usable=True, std=0.011):
    env, _, transition = stairs
    imagined = Imagined(
        mean=torch.tensor([[[0.0, 0.0], [x, 0.0]]]),
        std=torch.full((1, 2), std),
        usable=torch.tensor([usable]),
    )
    stance = torch.tensor([[0.3, 0.9]])
    return guidance(transition, stance, imagined, env.field, env.robot.sole, CONFIG)[0].tolist()


def test_swing_foot_is_judged_where_it_is_imagined(stairs):
    _, tile, _ = stairs
    tread = 0.25
    middle = tile.first_edge + 2.5 * tread
    on_tread, on_edge = swing_value(stairs, middle), swing_value(stairs, middle + tread / 2)
    assert on_tread[0] == on_edge[0] == pytest.approx(0.3), "the stance foot counts where it stands"
    assert on_tread[1] < 0.2 < 0.35 < on_edge[1]


def test_until_imagination_is_usable_only_stance_counts(stairs):
    env, tile, transition = stairs
    x = tile.first_edge
    assert swing_value(stairs, x, usable=False)[1] == 0.0 < swing_value(stairs, x)[1]
    stance = torch.tensor([[0.3, 0.9]])
    alone = guidance(transition, stance, None, env.field, env.robot.sole, CONFIG)
    torch.testing.assert_close(alone, torch.tensor([[0.3, 0.0]]))
