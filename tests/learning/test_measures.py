"""What the log says about streams, terrain and imagined landings, on numbers that are known."""

from dataclasses import replace

import pytest
import torch
from toy import ToyWalker

from ssr.learning.by_terrain import TerrainSums
from ssr.learning.independence import independent_shares
from ssr.learning.landing_error import landing_errors, sum_errors
from ssr.learning.rollout import Rollout
from ssr.learning.statistics import Statistics
from ssr.terrain.settings import TERRAIN_TYPES

STREAMS = ("locomotion", "foothold", "style")
STAIRS, GAP = TERRAIN_TYPES.index("stairs"), TERRAIN_TYPES.index("gap")


def test_a_stream_that_repeats_the_others_has_no_voice_of_its_own() -> None:
    torch.manual_seed(0)
    one, two, own = torch.randn(3, 20_000)
    terrain = torch.zeros(20_000, dtype=torch.long)
    shares = independent_shares(torch.stack((one, two, one + two)), torch.ones(20_000), terrain, STREAMS)
    assert max(shares.values()) < 1e-4
    shares = independent_shares(torch.stack((one, two, own)), torch.ones(20_000), terrain, STREAMS)
    assert min(shares.values()) > 0.99


def test_the_independent_share_is_what_a_regression_leaves_over() -> None:
    """Foothold = 0.8 locomotion + 0.6 noise: the correlation is 0.8, so 36 % are its own."""
    torch.manual_seed(1)
    one, noise, own = torch.randn(3, 40_000)
    gain = torch.stack((one, 0.8 * one + 0.6 * noise, own))
    terrain = torch.where(torch.arange(40_000) < 20_000, STAIRS, GAP)
    shares = independent_shares(gain, torch.ones(40_000), terrain, STREAMS)
    for name in ("independent/foothold", "independent/locomotion/stairs", "independent/foothold/gap"):
        assert shares[name] == pytest.approx(0.36, abs=0.02)
    assert "independent/foothold/platform" not in shares, "nobody was there"


def test_masked_samples_and_streams_that_never_vary_say_nothing() -> None:
    torch.manual_seed(2)
    gain = torch.stack((torch.randn(1000), torch.zeros(1000), torch.randn(1000)))
    weight = torch.ones(1000)
    gain[2, 500:], weight[500:] = gain[0, 500:], 0.0  # alike only where nothing counts
    shares = independent_shares(gain, weight, torch.zeros(1000, dtype=torch.long), STREAMS)
    assert "independent/foothold" not in shares
    assert shares["independent/style"] > 0.95


def test_landing_errors_come_apart_by_terrain_and_time() -> None:
    squared = torch.tensor([0.01, 0.03, 0.09, 0.16, 0.25])
    terrain = torch.tensor([STAIRS, STAIRS, STAIRS, GAP, GAP])
    steps = torch.tensor([1, 2, 3, 10, 11])
    found = landing_errors(sum_errors(squared, terrain, steps))
    assert found == pytest.approx({
        "foothold_rmse/stairs/1-2": 0.02**0.5,
        "foothold_rmse/stairs/3-5": 0.3,
        "foothold_rmse/gap/6-10": 0.4,
        "foothold_rmse/gap/11+": 0.5,
    })  # fmt: skip


def test_sums_by_terrain_leave_out_what_does_not_count() -> None:
    sums, found = TerrainSums(), {}
    total = torch.tensor([1.0, 2.0, torch.nan])
    for _ in range(2):
        sums.add("cadence", total, torch.tensor([0.5, 0.5, 0.0]), torch.tensor([STAIRS, STAIRS, GAP]))
    sums.hand_over(lambda name, total, count: found.update({name: (float(total), float(count))}))
    assert found["cadence/stairs"] == (6.0, 2.0)
    assert found["cadence/gap"] == (0.0, 0.0)
    assert not sums.sums


def test_cadence_style_and_rewards_beyond_the_table_are_told_by_terrain(monkeypatch) -> None:
    env = ToyWalker(num_envs=2)
    env.reset()
    statistics = Statistics(2, STREAMS, env.layouts.privileged, 0.02)
    terms = {"linear_velocity_tracking": torch.tensor([1.0, 1.0]), "progress": torch.tensor([3.0, 0.0])}
    terms["orientation"] = torch.tensor([-1.0, -1.0])
    base = replace(env.step(torch.zeros(2, 21)), terrain_type=torch.tensor([STAIRS, GAP]), terms=terms)
    landed = torch.tensor([[True, True], [False, True]])
    on_stairs = torch.tensor([[True], [False]])
    touchdowns = iter([landed, *[landed & on_stairs] * 3])
    monkeypatch.setattr(statistics.touchdowns, "observe", lambda transition: next(touchdowns))
    for _ in range(4):  # eight landings on stairs, one in the gap's world, in 0.08 s each
        statistics.observe(base, torch.zeros(2, 2))
    sizes = {"proprioception": 1, "actor": 1, "privileged": 1, "action": 1}
    rollout = Rollout(steps=4, num_envs=2, history=1, sizes=sizes, streams=STREAMS)
    rollout.valid.fill_(True)
    rollout.terrain_type[:] = torch.tensor([STAIRS, GAP])
    rollout.rewards["style"][:] = 0.02 * torch.tensor([0.25, 0.75])
    statistics.finish(rollout)
    means = statistics.tally.means()
    assert means["cadence/stairs"] == pytest.approx(8 / 0.08)
    assert means["cadence/gap"] == pytest.approx(1 / 0.08)
    assert means["beyond_table_6/stairs"] == pytest.approx(3 / 5)
    assert means["beyond_table_6/gap"] == 0.0
    assert means["beyond_table_6"] == pytest.approx(3 / 7)
    assert means["style_reward/stairs"] == pytest.approx(0.25)
    assert means["style_reward/gap"] == pytest.approx(0.75)
