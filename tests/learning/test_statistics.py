"""What the log says about footholds is what the feet did."""

from dataclasses import replace

import pytest
import torch
from toy import ToyWalker

from ssr.learning.edge_sight import SEASONED
from ssr.learning.statistics import Statistics, level_means
from ssr.terrain.settings import SLOPE, STAIRS, TERRAIN_TYPES


def test_safe_footholds_are_counted_by_terrain():
    """Support counts at the contact, one step before it is sure to be a landing, however it is pressed."""
    env = ToyWalker(num_envs=3)
    env.reset()
    stairs, gap = TERRAIN_TYPES.index("stairs"), TERRAIN_TYPES.index("gap")
    walking = replace(env.step(torch.zeros(3, 21)), terrain_type=torch.tensor([stairs, stairs, gap]))
    statistics = Statistics(3, ("locomotion",), env.layouts.privileged, 0.02)
    landed = torch.tensor([[True, False], [True, True], [True, False]])

    def observe(contact: torch.Tensor, deficiency: torch.Tensor) -> None:
        feet = replace(walking.feet, contact=contact, force=torch.tensor([9.0, 0.0, 1.0]).expand(3, 2, 3))
        statistics.observe(replace(walking, feet=feet), deficiency)

    for _ in range(5):
        observe(torch.zeros_like(landed), torch.ones(3, 2))
    observe(landed, torch.tensor([[0.1, 0.9], [0.3, 0.2], [0.0, 0.5]]))
    observe(landed, torch.ones(3, 2))
    means = statistics.tally.means()
    assert means["safe_foothold_rate"] == 3 / 4
    assert means["safe_foothold_rate/stairs"] == 2 / 3
    assert means["safe_foothold_rate/gap"] == 1.0
    assert "safe_foothold_rate/platform" not in means, "nobody landed there"


def test_parts_of_a_command_are_told_apart_and_speed_is_along_it():
    """One world does half of 0.8 m/s ahead, one turns the wrong way, one is asked for nothing."""
    env = ToyWalker(num_envs=3)
    env.reset()
    layout = env.layouts.privileged
    state = torch.zeros(3, layout.size)

    def put(name: str, rows: list[list[float]]) -> None:
        place = layout.slice(name)
        scale = torch.as_tensor(next(s for s in layout if s.name == name).scale, dtype=torch.float32)
        state[:, place] = torch.tensor(rows) * scale

    put("command", [[0.8, 0.0, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]])
    put("base_velocity", [[0.4, 0.3, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    put("angular_velocity", [[0.0, 0.0, 0.0], [0.0, 0.0, -0.25], [0.0, 0.0, 2.0]])
    stairs = torch.full((3,), TERRAIN_TYPES.index("stairs"))
    statistics = Statistics(3, ("locomotion",), layout, 0.02)
    transition = replace(env.step(torch.zeros(3, 21)), privileged=state, terrain_type=stairs)
    statistics.lengths.fill_(SEASONED - 2.0)
    statistics.observe(transition, torch.zeros(3, 2))
    assert "obeyed/ahead" not in statistics.tally.means(), "it has just been put down"
    statistics.observe(transition, torch.zeros(3, 2))
    means = statistics.tally.means()
    assert means["obeyed/ahead"] == pytest.approx(0.5)
    assert means["obeyed/turn"] == pytest.approx(-0.5)
    assert "obeyed/back" not in means and "obeyed/aside" not in means
    assert means["speed/stairs"] == pytest.approx(0.4)


def test_levels_of_stairs_are_told_by_the_way_they_go() -> None:
    kinds = torch.tensor([STAIRS, STAIRS, STAIRS, SLOPE])
    levels, ends = torch.tensor([2, 4, 9, 7]), torch.tensor([0.5, 1.0, -1.0, -2.0])
    told = level_means(levels, kinds, ends, torch.tensor([False, False, True, True]))
    assert told["stairs_level/up"] == 3.0 and told["stairs_level/down"] == 9.0
    assert told["level/stairs"] == 5.0 and told["level/slope"] == 7.0
    assert told["reached_top/stairs"] == pytest.approx(1 / 3)
