"""What the log says about footholds is what the feet did."""

from dataclasses import replace

import torch
from toy import ToyWalker

from ssr.learning.statistics import Statistics
from ssr.terrain.settings import TERRAIN_TYPES


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
