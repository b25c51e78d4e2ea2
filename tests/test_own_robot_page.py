"""The commands of docs/own-robot.md, one after another, on the example under a stranger's name."""

from __future__ import annotations

import shlex
import shutil
from importlib import resources
from pathlib import Path

import pytest

from ssr.cli.main import main
from ssr.motion import synthesis

PAGE = Path(__file__).parents[1] / "docs" / "own-robot.md"
EXAMPLE = Path(str(resources.files("ssr.robots") / "example" / "example.xml"))

#: What is put in the place of words that would take hours, or that the page leaves open.
SHORTER = {
    "--preset cpu": "--preset smoke --env.num-envs 4 --run.iterations 1 --run runs/g1-smoke",
    "ssr eval runs/g1-cpu-…": "ssr eval runs/g1-smoke --terrain flat --trials 1 --no-directions --no-manner",
}


def commands() -> list[str]:
    block = PAGE.read_text().split("```")[1]
    return [line.partition("#")[0].strip() for line in block.splitlines() if line.startswith("ssr ")]


def test_they_lead_from_a_model_to_a_policy_that_was_tried(tmp_path, monkeypatch, capsys):
    every = synthesis.plans
    monkeypatch.setattr(synthesis, "plans", lambda limbs: list(every(limbs))[:2])
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLE, "g1.xml")
    lines = commands()
    assert [line.split()[1] for line in lines] == ["robots", "robots", "camera", "motion", "train", "eval"]
    for line in lines:
        for long, short in SHORTER.items():
            line = line.replace(long, short)
        assert main(shlex.split(line)[1:]) == 0, (line, capsys.readouterr().err)
    for made in (
        "g1.toml",
        "out.png",
        "motion_g1.npz",
        "runs/g1-smoke/robot.json",
        "runs/g1-smoke/eval/results.json",
    ):
        assert Path(made).is_file(), made


@pytest.mark.parametrize("words", ["ssr robots example", "--ablation.no-style", "--motion FILE"])
def test_words_of_the_page_are_words_of_the_commands(words, capsys):
    assert words in PAGE.read_text()
    topic = "robots" if "robots" in words else "train"
    with pytest.raises(SystemExit):
        main([topic, "--help"])
    said = capsys.readouterr().out
    assert words.removesuffix(" FILE") in said
