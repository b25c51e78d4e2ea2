"""Numbers that were once let in from the command line: each is refused in one line, and nothing starts."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from ssr.cli import doctor
from ssr.cli.main import main
from ssr.deployment.config import SafetyConfig

LIMITS = [f.name for f in fields(SafetyConfig)]
ANSWERS = {
    "deploy RUN --controller.damping nan": "controller.damping nan: expected a number from 0.1 to 10.",
    "deploy RUN --controller.stand.stiffness -1": "controller.stand.stiffness -1: expected a number from 0.1",
    "deploy RUN --controller.stand.stiffness nan": "controller.stand.stiffness nan: expected a number from",
    "deploy RUN --controller.stand.stiffness 1e6": "controller.stand.stiffness 1e+06: expected a number",
    "deploy RUN --controller.stand.seconds nan": "controller.stand.seconds nan: expected a number from 0.05",
    "deploy RUN --controller.stand.seconds -1": "controller.stand.seconds -1: expected a number from 0.05",
    **{
        f"deploy RUN --controller.safety.{name.replace('_', '-')} {value}": (
            f"controller.safety.{name} {value}: expected a {'whole ' * (name == 'max_missed')}number from"
        )
        for name in LIMITS
        for value in ("nan", "inf")
    },
    "train --task.control-period nan": "task.control_period nan: expected a number from 0.001 to 0.5.",
    "train --task.history 0": "task.history 0: expected a whole number from 1 to 100.",
    "train --run.snapshot-iterations 0": "run.snapshot_iterations 0: expected a whole number from 1",
    "train --optimizer.learning-rate nan": "optimizer.learning_rate nan: expected a number from 0 to 1.",
    "train --optimizer.learning-rate -1": "optimizer.learning_rate -1: expected a number from 0 to 1.",
    "train --network.gru-hidden 0": "network.gru_hidden 0: expected a whole number from 1 to 65536.",
    "train --env.num-envs 99999999999": "env.num_envs 99999999999: expected a whole number from 1 to",
    "train --run.kept-checkpoints -1": "run.kept_checkpoints -1: expected a whole number from 1 to 1000.",
    "train --run.iterations -1": "run.iterations -1: expected a whole number from 1 to 100000000.",
    "train --task.commands.slope-speed 1 -1": "expected 2 numbers from -5 to 5, least first.",
    "train --task.termination.episode-seconds 0": "task.termination.episode_seconds 0: expected a number",
}


@pytest.mark.parametrize("words", ANSWERS)
def test_it_is_refused_in_one_line_and_nothing_starts(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    said = capfd.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert said.err.startswith(f"ssr {words.split()[0]}: ") and ANSWERS[words] in said.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ValueError("Could not allocate memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 25769803776 bytes."),
        RuntimeError("Traceback (most recent call last):\n  a rank's\nCUDA out of memory."),
    ],
)
def test_what_does_not_fit_into_memory_is_one_line(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(argv: list[str]) -> int:
        raise error

    monkeypatch.setattr(doctor, "run", work)
    assert main(["doctor"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "not enough memory" in said
    error.args = ("something else is wrong",)
    if not isinstance(error, MemoryError):
        with pytest.raises(type(error), match="something else"):
            main(["doctor"])
