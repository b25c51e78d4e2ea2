"""What the log says about footholds is what the feet did."""

from dataclasses import replace

import torch
from toy import ToyWalker

from ssr.learning.statistics import Statistics
from ssr.terrain.settings import TERRAIN_TYPES


def test_safe_footholds_are_counted_by_terrain():
    """Support counts at the contact, one step before a touchdown is confirmed."""
    env = ToyWalker(num_envs=3)
    env.reset()
    stairs, gap = TERRAIN_TYPES.index("stairs"), TERRAIN_TYPES.index("gap")
    transition = replace(env.step(torch.zeros(3, 21)), terrain_type=torch.tensor([stairs, stairs, gap]))
    statistics = Statistics(3, ("locomotion",), env.layouts.privileged, 0.02)
    nowhere = torch.zeros(3, 2, dtype=torch.bool)
    deficiency = torch.tensor([[0.1, 0.9], [0.3, 0.2], [0.0, 0.5]])
    statistics.observe(transition, deficiency, nowhere)
    landed = torch.tensor([[True, False], [True, True], [True, False]])
    statistics.observe(transition, torch.ones(3, 2), landed)
    means = statistics.tally.means()
    assert means["safe_foothold_rate"] == 3 / 4
    assert means["safe_foothold_rate/stairs"] == 2 / 3
    assert means["safe_foothold_rate/gap"] == 1.0
    assert "safe_foothold_rate/platform" not in means, "nobody landed there"
