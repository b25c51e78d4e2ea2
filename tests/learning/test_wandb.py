"""Metrics go to Weights & Biases if asked for, and say what is missing before anything is made."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ssr.cli.train import run as train
from ssr.errors import UserError
from ssr.learning import presets
from ssr.learning.run_directory import RunDirectory
from ssr.learning.wandb_log import VARIABLE

SMOKE = presets.preset("smoke")


def test_metrics_are_sent_under_the_runs_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list = []
    there = SimpleNamespace(
        log=lambda metrics, step: sent.append((step, metrics)), finish=lambda: sent.append("end")
    )
    named: dict = {}
    monkeypatch.setitem(
        sys.modules, "wandb", SimpleNamespace(init=lambda **words: named.update(words) or there)
    )
    monkeypatch.setenv(VARIABLE, "walks")
    run = RunDirectory.create(tmp_path / "one", SMOKE)
    run.begin_log(SMOKE)
    run.log({"iteration": 3.0, "kl": 0.01})
    run.close()
    assert (named["project"], named["name"], named["resume"]) == ("walks", "one", "allow")
    assert named["config"]["preset"] == "smoke"
    assert sent == [(3, {"iteration": 3.0, "kl": 0.01}), "end"]


def test_without_the_package_no_run_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(UserError, match="pip install wandb"):
        train(["--preset", "smoke", "--wandb", "walks", "--run", str(tmp_path / "one")])
    assert not (tmp_path / "one").exists()
