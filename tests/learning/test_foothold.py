"""r^f: full support earns 1, an edge under the sole costs, slopes are left alone."""

from dataclasses import replace
from math import exp

import numpy as np
import pytest
import torch
from toy import ToyWalker

from ssr.learning.config import FootholdConfig
from ssr.learning.foothold import Imagined, foothold_reward, guidance, stance_deficiency
from ssr.terrain.making import make_tile
from ssr.terrain.settings import TERRAIN_TYPES

STAIRS, SLOPE = TERRAIN_TYPES.index("stairs"), TERRAIN_TYPES.index("slope")
CONFIG = FootholdConfig()


def test_reward_by_hand():
    deficiency = torch.tensor([[0.0, 0.0], [0.25, 0.0], [0.1, 0.15], [0.25, 0.0]])
    kind = torch.tensor([STAIRS, STAIRS, STAIRS, SLOPE])
    expected = torch.tensor([1.0, exp(-1.0), exp(-1.0), 1.0])
    torch.testing.assert_close(foothold_reward(deficiency, kind, CONFIG.sigma), expected)


def stance_of(maps, kind=STAIRS):
    """ρ of feet whose centres are `maps` (2, 2, 50) m above the ground."""
    env = ToyWalker(num_envs=2)
    env.reset()
    transition = env.step(torch.zeros(2, 21))
    env.layouts.privileged.get(transition.privileged, "foot_height_maps")[:] = 5 * maps.flatten(1)
    transition = replace(transition, terrain_type=torch.full((2,), kind))
    return stance_deficiency(env.layouts.privileged, transition)


def test_stance_is_read_from_the_foot_maps():
    """Ground 3 cm and more below the highest under a sole carries nothing."""
    maps = torch.zeros(2, 2, 50)
    maps[0, 0, :20] = 0.031
    maps[0, 1, :20] = 0.029
    maps[1, 1, :45] = 0.5
    expected = torch.tensor([[0.4, 0.0], [0.0, 0.9]])
    torch.testing.assert_close(stance_of(maps), expected)


def test_how_high_the_centre_of_a_sole_is_makes_no_difference():
    """A heel strike on level ground is safe; over an edge the part beyond hangs, however the foot is held."""
    maps = torch.full((2, 2, 50), 0.05)
    maps[1, :, 30:] += 0.13
    maps[:, 1] -= 0.08
    torch.testing.assert_close(stance_of(maps), torch.tensor([[0.0, 0.0], [0.4, 0.4]]))


def test_a_sole_on_a_slope_counts_from_the_slope():
    rows, columns = np.indices((10, 5)).reshape(2, -1)
    ramp = torch.tensor(0.025 * (rows * np.tan(np.radians(20.0)) + columns * 0.1), dtype=torch.float32)
    maps = ramp.expand(2, 2, 50).clone()
    maps[1, :, :15] += 0.2  # a hole under the heel
    on_slope = stance_of(maps, SLOPE)
    assert on_slope[0].tolist() == [0.0, 0.0] and on_slope[1].min() > 0.25
    assert stance_of(maps)[0].min() > 0.5, "as if it were steps"


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
