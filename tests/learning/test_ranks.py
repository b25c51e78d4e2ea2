"""Two ranks train one policy: same parameters, own worlds, and the same run again from the same seed."""

import json
from dataclasses import replace

import pytest
import rank_work
import torch

from ssr.errors import UserError
from ssr.learning.distribution import device_of, launch, rank_count
from ssr.learning.ppo import normalize, same_spread
from ssr.learning.ranks import Ranks


def test_two_ranks_make_one_reproducible_run(tiny, tmp_path):
    config = replace(tiny, ranks=2, device="cpu", env=replace(tiny.env, num_envs=5))
    launch(config, rank_work.train_twice, config, tmp_path)
    first, second = (json.loads((tmp_path / f"rank{k}.json").read_text()) for k in range(2))
    for report in (first, second):
        assert report["mean"] == pytest.approx(4.5) and report["std"] == pytest.approx(2.8723, abs=1e-3)
        assert report["runs"][0] == report["runs"][1], "same seed and rank count, same run"
        assert report["end"] == ["enough for rank 0", 2], "the first rank decides for both"
    whole = normalize(torch.arange(10.0).square().unsqueeze(0), torch.ones(10), 1.0)[0]
    level = same_spread(torch.arange(10.0).square(), torch.ones(10), torch.arange(10) % 2)
    for rank, report in enumerate((first, second)):
        assert report["cut"] == pytest.approx(whole[rank::2].tolist(), abs=1e-6)
        # Of two terrain types each rank has one.
        assert report["spread"] == pytest.approx(level[rank::2].tolist(), abs=1e-4)
    a, b = first["runs"][0], second["runs"][0]
    assert (a["worlds"], b["worlds"]) == (3, 2)
    for shared in ("parameters", "normalizer", "metrics", "levels"):
        assert a[shared] == b[shared], shared
    assert a["own_worlds"] != b["own_worlds"]
    assert a["metrics"]["total_steps"] == 2 * 24 * 5 and sum(map(len, a["levels"].values())) == 5


def test_a_failing_rank_ends_the_run_with_its_reason(tiny):
    with pytest.raises(UserError, match="second rank has had enough"):
        launch(replace(tiny, ranks=2, device="cpu"), rank_work.fail_on_second)


def test_shares_add_up():
    for total in (5, 8, 256):
        for size in (1, 2, 3):
            parts = [Ranks(rank=k, size=size).part(total) for k in range(size)]
            assert sum(parts) == total and max(parts) - min(parts) <= 1


def test_number_of_ranks(tiny):
    assert rank_count(replace(tiny, ranks=3)) == 3
    assert rank_count(replace(tiny, ranks=0, device="cpu")) >= 1
    with pytest.raises(UserError, match="ranks -1: expected"):
        replace(tiny, ranks=-1)


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("cuda", r"^No CUDA device found\. Use --device cpu, or see `ssr doctor`\.$"),
        ("cuda:0", r"^No CUDA device found"),
        ("gpu", r"^Unknown device: 'gpu'\. Known: auto, cpu, cuda, cuda:0"),
    ],
)
def test_a_device_that_is_not_there_is_one_clear_line(tiny, monkeypatch, device, said):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match=said) as caught:
        device_of(replace(tiny, device=device))
    assert "\n" not in str(caught.value)


def test_a_rank_has_a_gpu_of_its_own_and_says_which(tiny, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    assert [device_of(replace(tiny, device=d)) for d in ("auto", "cuda", "cuda:0")] == [
        "cuda:1",
        "cuda:1",
        "cuda:0",
    ]
    assert [rank_count(replace(tiny, device=d, ranks=0)) for d in ("cuda", "cuda:0")] == [2, 1]
    with pytest.raises(UserError, match=r"^--ranks 3: each needs a GPU of its own, and there are 2\.$"):
        rank_count(replace(tiny, device="cuda", ranks=3))
    with pytest.raises(UserError, match=r"^No device cuda:2: this machine has 2 of them\.$"):
        device_of(replace(tiny, device="cuda:2"))
