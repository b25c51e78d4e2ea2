"""The task's defaults are the paper's tables."""

import math

import torch

from ssr.physics.world import PhysicsConfig
from ssr.task.commands import RESAMPLE_SECONDS, ZERO_THRESHOLD, table_4
from ssr.task.config import CommandConfig, RandomizationConfig, TaskConfig
from ssr.task.randomization import PUSH_INTERVAL, draw_dynamics
from ssr.task.rewards import TABLE_7
from ssr.terrain.settings import TERRAIN_TYPES


def test_table_4_commands() -> None:
    speed, heading = table_4(CommandConfig())
    by_type = {
        t: (speed[i].tolist(), [round(math.degrees(h)) for h in heading[i]])
        for i, t in enumerate(TERRAIN_TYPES)
    }
    round_speed = {t: ([round(v, 4) for v in s], h) for t, (s, h) in by_type.items()}
    assert round_speed == {
        "slope": ([-1.0, 1.0], [-80, 80]),
        "stairs": ([0.0, 1.2], [-30, 30]),
        "discrete": ([0.0, 1.2], [-30, 30]),
        "gap": ([0.0, 1.2], [-15, 15]),
        "platform": ([0.0, 1.2], [-15, 15]),
    }
    assert RESAMPLE_SECONDS == (8.0, 10.0)


def test_table_5_commands() -> None:
    c = CommandConfig()
    assert (c.slope_speed, c.lateral_speed, c.yaw_rate) == ((-1.0, 1.0), (-0.4, 0.4), (-1.2, 1.2))


def test_table_7_symbols() -> None:
    assert TABLE_7 == (0.25, 0.25, 0.01, 0.01, 0.03, 0.4)  # σ_v, σ_ω, σ_g, σ_h, σ_d, target of the air time
    assert ZERO_THRESHOLD == 0.15
    assert TaskConfig().control_period == 0.02 and TaskConfig().substeps(PhysicsConfig().timestep) == 4


def test_table_10_dynamics() -> None:
    r = RandomizationConfig()
    assert (r.added_mass, r.base_com, r.link_mass, r.link_com) == (
        (-2.0, 12.5),
        (-0.1, 0.1),
        (0.9, 1.1),
        (-0.01, 0.01),
    )
    assert (r.motor_strength, r.gains, r.friction, r.action_delay) == (
        (0.8, 1.2),
        (0.9, 1.1),
        (0.2, 1.25),
        (0, 2),
    )
    assert (PUSH_INTERVAL, r.push_velocity) == (12.0, (-0.4, 0.4))


def test_draws_fill_their_ranges_and_the_ramp_narrows_them() -> None:
    generator = torch.Generator().manual_seed(0)
    full = draw_dynamics(4000, 5, 3, RandomizationConfig(), 1.0, generator)
    assert -2.0 <= full.base_added_mass.min() < -1.9 and 12.4 < full.base_added_mass.max() <= 12.5
    assert 0.6 <= full.friction.min() < 0.61 and 1.12 < full.friction.max() <= 1.125
    half = draw_dynamics(4000, 5, 3, RandomizationConfig(), 0.5, generator)
    assert half.base_added_mass.max() <= 6.25 and half.motor_strength.min() >= 0.9
    none = draw_dynamics(10, 5, 3, RandomizationConfig(), 0.0, generator)
    assert torch.equal(none.link_mass_scale, torch.ones(10, 5)) and torch.equal(none.friction, torch.ones(10))
