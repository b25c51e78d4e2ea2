"""Every example and the notebook run as they are written, only for a shorter time."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"

#: Arguments with which each takes seconds, and a word it must print.
SHORT = {
    "step_the_env.py": (["5"], "reward"),
    "train_with_rsl_rl.py": (["1", "4"], "CNNModel"),
    "steer_a_policy.py": ([str(ROOT / "pretrained" / "x2"), "1"], "1 s: x"),
}


def test_every_example_is_run():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SHORT)
    assert [path.name for path in EXAMPLES.glob("*.ipynb")] == ["first_steps.ipynb"]


@pytest.mark.parametrize("name", SHORT)
def test_an_example_runs(name, monkeypatch, capsys):
    torch.set_num_threads(1)
    if "rsl_rl" in name:
        pytest.importorskip("rsl_rl", reason="rsl-rl-lib is not installed")
    words, said = SHORT[name]
    monkeypatch.setattr(sys, "argv", [name, *words])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert said in capsys.readouterr().out


def test_the_notebook_runs(monkeypatch, capsys):
    """Its cells one after another, as a kernel would."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MPLBACKEND", "agg")
    import matplotlib

    matplotlib.use("agg")
    cells = json.loads((EXAMPLES / "first_steps.ipynb").read_text())["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(sources) == 5 and all(not cell.get("outputs") for cell in cells)
    scope: dict[str, object] = {}
    for source in sources:
        exec(compile(source, "first_steps.ipynb", "exec"), scope)
    path = scope["path"]
    assert path[-1, 0] > path[0, 0] + 1.0, "it has walked ahead"
    assert "Unitree G1" in capsys.readouterr().out
