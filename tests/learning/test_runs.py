"""Whole runs of the real task: smoke, interruption by kill -9, and what a user may get wrong."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from test_ppo import learner

from ssr.cli.train import run as command
from ssr.errors import UserError
from ssr.learning import checkpoint
from ssr.learning.run_directory import RunDirectory, read_metrics
from ssr.learning.trainer import Trainer

TINY = (
    "--preset",
    "smoke",
    "--env.num-envs",
    "4",
    "--run.checkpoint-minutes",
    "0",
    "--run.kept-checkpoints",
    "9",
)


def test_smoke_run_learns_and_leaves_a_complete_directory(tmp_path):
    path = tmp_path / "run"
    assert command(["--preset", "smoke", "--run", str(path)]) == 0
    metrics = read_metrics(path)
    assert [m["iteration"] for m in metrics] == list(range(1, 21))
    returns = [m["return/locomotion"] for m in metrics if "return/locomotion" in m]
    assert sum(returns[-5:]) / 5 > sum(returns[:5]) / 5, "returns rise"
    for name in (
        "wall_seconds",
        "peak_memory_mb",
        "level/slope",
        "reached_top/slope",
        "tracking",
        "kl",
        "std",
    ):
        assert name in metrics[-1], name
    assert not (path / "contract.json").exists(), "only `ssr export` writes it"
    assert sorted(p.name for p in (path / "snapshots").iterdir()) == [
        "000010.safetensors",
        "000020.safetensors",
    ]
    assert (path / "small.safetensors").stat().st_size < 12e6
    assert list(path.glob("events.out.tfevents.*"))
    with pytest.raises(UserError, match="already holds a run"):
        command(["--preset", "smoke", "--run", str(path)])
    more = tmp_path / "more"
    assert (
        command(["--continue", str(path / "small.safetensors"), "--run", str(more), "--run.iterations", "1"])
        == 0
    )
    before = load_file(path / "snapshots" / "000020.safetensors")
    after = load_file(checkpoint.choose(more) / "rank0.safetensors")
    moved = (before["actor.std"] - after["/algorithm/networks/actor.std"]).abs().max()
    assert moved < 0.05, "goes on from the weights, not from scratch"
    one = metrics[0]["total_steps"]
    assert read_metrics(more)[0]["total_steps"] == metrics[-1]["total_steps"] + one, "all steps are counted"


def test_a_killed_run_goes_on_bit_for_bit(tmp_path):
    """Six iterations at once equal three, kill -9, and the rest: every tensor and random state."""
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    arguments = [*TINY, "--run.iterations", "6"]
    script = "import sys; from ssr.cli.main import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", script, "train", *arguments, "--run", str(killed)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    deadline = time.monotonic() + 300
    while not (killed / "checkpoints" / "000003" / "state.json").exists() and time.monotonic() < deadline:
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    command([*arguments, "--run", str(straight)])
    command(["--resume", str(killed), "--iteration", "3"])
    expected, got = (load_file(checkpoint.choose(p) / "rank0.safetensors") for p in (straight, killed))
    assert expected.keys() == got.keys() and len(expected) > 150
    different = [k for k in expected if not same_bits(expected[k], got[k])]
    assert different == []
    rows = [[m["kl"] for m in read_metrics(p)] for p in (straight, killed)]
    assert rows[0] == rows[1] and len(rows[0]) == 6

    newest = checkpoint.choose(killed) / "rank0.safetensors"
    newest.write_bytes(newest.read_bytes()[:1000])
    with pytest.raises(UserError, match=r"truncated or altered.*--iteration 5"):
        command(["--resume", str(killed), "--run.iterations", "7"])


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and torch.equal(
        a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8)
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--preset", "gpu"], "Unknown preset"),
        (["--resume", "nowhere"], "not a run directory"),
        (["--continue", "nowhere.safetensors"], "does not exist"),
        (["--preset", "smoke", "--robot", "x3", "--run", "RUN"], "Unknown robot"),
        (["--preset", "smoke", "--ranks", "-2", "--run", "RUN"], "ranks -2: expected"),
        (["--preset", "smoke", "--device", "tpu", "--run", "RUN"], "Unknown device"),
        (["--resume", "nowhere", "--run", "RUN", "--seed", "3"], "leave out --run, --seed"),
    ],
)
def test_mistakes_are_one_line(tmp_path, arguments, message):
    given = [str(tmp_path / "run") if word == "RUN" else word for word in arguments]
    with pytest.raises(UserError, match=message) as caught:
        command(given)
    assert "\n" not in str(caught.value)


def test_metrics_cut_off_in_mid_line_are_read_up_to_there(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"iteration": 1.0, "kl": 0.1}\n{"iteration": 2.0, "kl"')
    assert read_metrics(tmp_path) == [{"iteration": 1.0, "kl": 0.1}]


@pytest.mark.parametrize("bad", ["NaN", "Infinity", "null", '"0.1"', "[]", "1e999", "{}"])
def test_a_metric_that_is_no_number_does_not_take_its_row_along(tmp_path, bad):
    line = '{"iteration": 1.0, "wall_seconds": 5.0, "total_steps": 8.0, "kl": 0.1, "tracking": 0.5}\n'
    (tmp_path / "metrics.jsonl").write_text(line.replace("0.1", bad) + line)
    first, second = read_metrics(tmp_path)
    assert first == {name: value for name, value in second.items() if name != "kl"}
    for place in ("1.0", "5.0", "8.0"):
        (tmp_path / "metrics.jsonl").write_text(line.replace(place, bad) + line)
        assert read_metrics(tmp_path) == [second], "nobody knows where it belongs"


def test_explain_prints_the_table(capsys):
    assert command(["--preset", "cpu", "--explain"]) == 0
    printed = capsys.readouterr().out
    assert "| `ppo.epochs` | 5 |" in printed and "| setting | paper | cpu | why |" in printed


def test_settings_come_from_the_command_line(tmp_path, monkeypatch):
    from ssr.learning import runner

    started = {}
    monkeypatch.setattr(runner, "start", lambda path, config, **_: started.update(config=config) or path)
    command(["--preset", "cpu", "--env.num-envs", "128", "--ablation.no-style", "--run", str(tmp_path / "x")])
    assert started["config"].env.num_envs == 128 and started["config"].ablation.no_style
    assert started["config"].camera.period == 5


def test_the_directory_is_not_left_behind_by_a_mistake(tmp_path):
    with pytest.raises(UserError):
        command(["--preset", "smoke", "--robot", "x3", "--run", str(tmp_path / "run")])
    assert not Path(tmp_path / "run").exists()


def test_ctrl_c_finishes_the_iteration_and_saves(tiny, tmp_path, monkeypatch):
    env, algorithm = learner(tiny)
    trainer, update = Trainer(env, algorithm), algorithm.update

    def interrupted(progress):
        if trainer.iteration == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return update(progress)

    monkeypatch.setattr(algorithm, "update", interrupted)
    ending = trainer.train(RunDirectory.create(tmp_path / "run", tiny), tiny)
    assert ending.interrupted and trainer.iteration == 2
    iteration, state = checkpoint.load(checkpoint.choose(tmp_path / "run"))
    assert iteration == 2 and state["counters"]["total_steps"] == 2 * 24 * 8
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
