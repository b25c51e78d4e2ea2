"""Two ranks train one policy: same parameters, own worlds, and the same run again from the same seed."""

import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import rank_work
import torch

from ssr.errors import UserError
from ssr.learning import checkpoint, runner
from ssr.learning.distribution import device_of, launch, rank_count
from ssr.learning.ppo import normalize, same_spread
from ssr.learning.ranks import Ranks
from ssr.learning.run_directory import SMALL, RunDirectory, read_metrics


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


def test_a_rank_that_is_killed_under_torchrun_ends_the_others_with_one_line(tmp_path):
    """Two processes as torchrun starts them; `kill -9` of one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    sign, started, here = tmp_path / "sign", [], str(Path(__file__).parent)
    group = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    for rank in ("0", "1"):
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", "import rank_work; rank_work.for_ever()", str(sign)],
                env=os.environ | group | {"RANK": rank, "PYTHONPATH": here},
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    doomed, left = started
    try:
        while not sign.is_file():
            assert left.poll() is None and doomed.poll() is None
            time.sleep(0.2)
        doomed.kill()
        said = left.communicate(timeout=10)[1]
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert left.returncode == 1
    assert said.startswith("Another rank has ended") and said.count("\n") == 1, said


def test_a_run_goes_on_in_another_engine_from_its_weights_and_says_so(tiny, tmp_path, monkeypatch, capsys):
    """Worlds of one engine mean nothing to another; levels, weights and counting go on."""
    config = replace(tiny, ranks=1, device="cpu", run=replace(tiny.run, iterations=1))
    monkeypatch.setattr("ssr.learning.worlds.make", lambda config, *rest: _toy(config))
    path = RunDirectory.create(tmp_path / "run", config).path
    runner.train(Ranks(), path, config, runner.Origin())
    longer = replace(config, run=replace(config.run, iterations=2))
    monkeypatch.setattr("ssr.learning.worlds.make", lambda config, *rest: _toy(config, engine="warp"))
    runner.train(Ranks(), path, longer, runner.Origin(checkpoint=checkpoint.choose(path)))
    assert "Saved in the mujoco engine, going on in the warp engine: from" in capsys.readouterr().out
    assert [row["iteration"] for row in read_metrics(path)] == [1.0, 2.0]
    (path / SMALL).unlink()
    with pytest.raises(
        UserError, match=r"holds no small.safetensors to go on from\. Go on with --engine warp\.$"
    ):
        monkeypatch.setattr("ssr.learning.worlds.make", lambda config, *rest: _toy(config))
        runner.train(Ranks(), path, longer, runner.Origin(checkpoint=checkpoint.choose(path)))


def _toy(config, engine="mujoco"):
    trainer, algorithm = rank_work.trainer_of(Ranks(), config)
    trainer.env.engine = engine
    return trainer.env, algorithm
