"""What a card must hold is worked out from few worlds; `ssr bench gpu` runs without a card, too."""

import json
from dataclasses import replace

import pytest
import torch

from ssr.benchmarks import gpu, memory_plan
from ssr.cli import bench, doctor
from ssr.errors import UserError
from ssr.learning import presets


def test_bytes_are_counted_once_wherever_they_are() -> None:
    table = torch.zeros(10, 5)
    linear = torch.nn.Linear(3, 2, bias=False)
    linear.weight.grad = torch.zeros(2, 3)
    assert memory_plan.bytes_of(table, table[:3], {"a": [table.view(-1)]}) == 200
    assert memory_plan.bytes_of(linear) == 2 * 4 * 6


def test_a_plan_of_more_worlds_is_what_they_hold(monkeypatch) -> None:
    monkeypatch.setattr(memory_plan, "LEARNED", (24, 28))  # with 16 nobody steps, so nothing is imagined
    monkeypatch.setattr(memory_plan, "MOVED", (24, 28))
    smoke = presets.preset("smoke")
    config = replace(smoke, env=replace(smoke.env, num_envs=32))
    plan = memory_plan.plan(config)
    planned = plan.parts
    held = memory_plan._learner(config, 32)
    for name in ("networks, gradients, Adam", "rollout and images"):
        assert planned[name] * memory_plan.GIGABYTE == pytest.approx(held[name], rel=0.02), name
    physics = memory_plan._worlds(config, 32)["physics"]
    assert planned["physics"] * memory_plan.GIGABYTE == pytest.approx(physics, rel=0.02)
    assert all(size > 0.0 for size in planned.values())
    assert planned[memory_plan.UPDATE] == max(plan.updates.values()) and min(plan.updates.values()) > 0.0


def test_a_plan_that_does_not_fit_is_told(monkeypatch, capsys) -> None:
    held = lambda size: memory_plan.MemoryPlan(parts={"rollout": size}, updates={"ppo": 1.0})
    monkeypatch.setattr(memory_plan, "plan", lambda config, mirrored_input: held(12.0 + mirrored_input))
    assert doctor.run(["--preset", "paper", "--device", "cuda"]) == 0
    assert "fits into the 22 GB" in capsys.readouterr().out
    monkeypatch.setattr(memory_plan, "plan", lambda config, mirrored_input: held(22.0 + mirrored_input))
    assert doctor.run(["--preset", "paper"]) == 1
    assert "does NOT fit" in capsys.readouterr().out
    with pytest.raises(UserError, match="memory plan is made for CUDA"):
        doctor.run(["--preset", "paper", "--device", "cpu"])


def test_the_gpu_benchmark_runs_without_a_card_and_says_so(monkeypatch, capsys) -> None:
    monkeypatch.setattr(gpu, "COMPARED", 4)
    monkeypatch.setattr(gpu, "BLOCK", 2)
    bench.run(["gpu", "--num-envs", "4", "--rounds", "1", "--json"])
    out, err = capsys.readouterr()
    assert "No CUDA device" in err
    figures = json.loads(out.splitlines()[-1])
    assert figures["device"] == "cpu" and figures["graph_apart"] == 0.0
    assert figures["parity_1_largest"] < 1e-5 and figures["parity_50_median"] < 1e-4
    assert all(figures[f"{name}_sps"] > 0 for name in ("physics", "task", "camera", "train"))
    with pytest.raises(UserError, match="cuda:7"):
        bench.run(["gpu", "--device", "cuda:7"])
