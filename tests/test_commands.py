"""What README and docs tell people to type exists; some of it is run, all of it by `make commands`."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from ssr.cli.main import COMMANDS, main

SCRIPT = Path(__file__).parents[1] / "scripts" / "commands"


def _script() -> ModuleType:
    loader = SourceFileLoader("commands", str(SCRIPT))
    spec = importlib.util.spec_from_loader("commands", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["commands"] = module
    loader.exec_module(module)
    return module


COMMANDS_PAGE = _script()
HELP: dict[str, str] = {}


def help_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What `--help` says of a command; of training, with the settings that a preset opens."""
    asked = " ".join([*words[:1], *(["--preset", "cpu"] if words[0] == "train" else [])])
    if words[0] in ("motion", "robots", "bench") and len(words) > 1:
        asked = " ".join(words[:2])
    if asked not in HELP:
        with pytest.raises(SystemExit):
            main([*asked.split(), "--help"])
        HELP[asked] = capsys.readouterr().out
    return HELP[asked]


def test_every_option_that_is_written_exists(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = []
    every = COMMANDS_PAGE.shown() + COMMANDS_PAGE.mentioned()
    assert len(every) > 100
    for command in every:
        text = command.text.partition(" ──")[0].replace("…", "")
        try:
            _, *words = shlex.split(text)
        except ValueError:
            _, *words = text.split()
        name = words[0].rstrip(",")
        if name == "COMMAND":
            continue
        if name not in COMMANDS:
            wrong.append((command, name))
            continue
        for option in re.findall(r"(?<!\S)--[a-z][\w.-]*", text):
            known = option in ("--help",) or option.replace("--no-", "--") in help_of(words, capsys)
            if not known and option not in help_of(words, capsys):
                wrong.append((command, option))
    assert not wrong


def test_whatever_is_not_run_has_a_reason_that_exists() -> None:
    root = SCRIPT.parents[1]
    for why in COMMANDS_PAGE.SKIPPED.values():
        for path in re.findall(r"tests/[\w/.]+", why):
            assert (root / path).exists(), why
    skipped = [command for command in COMMANDS_PAGE.every() if command.skipped]
    assert len(skipped) < len(COMMANDS_PAGE.every()) / 2


def test_no_word_is_left_that_stands_for_another() -> None:
    """In what is run: a page's RUN, NAME or FILE must have become something."""
    for command in COMMANDS_PAGE.every():
        assert command.skipped or not re.search(r"\b[A-Z]{2,}\b|\bN\b", command.short), command


@pytest.mark.parametrize("text", ["ssr doctor", "ssr motion report --json", "ssr motion show 16_15"])
def test_a_quick_one_runs(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert text in [command.text for command in COMMANDS_PAGE.shown()]
    monkeypatch.chdir(tmp_path)
    assert main(text.split()[1:]) == 0, capsys.readouterr().err
