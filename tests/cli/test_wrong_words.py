"""Whatever is wrong with the words of any command: one line, exit code 2, and nothing starts."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import partial
from importlib import import_module
from math import isfinite
from typing import Any

import pytest
import tyro

from ssr.cli import arguments
from ssr.cli.bench import BENCHMARKS
from ssr.cli.main import COMMANDS, main
from ssr.ranges import refuse_others

PARTS = {"motion": ("retarget", "build", "show", "report"), "bench": tuple(BENCHMARKS), "robots": ("", "new")}
LINES = [f"{name} {part}".strip() for name in COMMANDS for part in PARTS.get(name, ("",))]
VALUES: tuple[list[str], ...] = ([], ["fly"], ["nan"], ["inf"])
EVERY = 7  #: one in so many of training's 150 options is tried with each value, with the next value others


class Made(BaseException):
    """Words were taken; the command must not start."""


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the words of the commands that are given become."""
    seen: list[Any] = []

    def parse(kind: Any, argv: list[str], **more: Any) -> Any:
        seen.append(kind)
        made = real(kind, argv, **more)
        if isinstance(made, partial):  # what a benchmark does first when it is called
            refuse_others(made.func, made.keywords, "--")
        raise Made(made)

    real = arguments.parsed
    monkeypatch.setattr(arguments, "parsed", parse)
    return seen


def answer(words: list[str], capfd: pytest.CaptureFixture[str]) -> str | Made:
    try:
        assert main(words) == 2, words
    except Made as made:
        return made
    said = capfd.readouterr()
    line = f"{words}: {said.err}"
    assert said.out == "" and said.err.count("\n") == 1 and len(said.err) < 600, line
    assert said.err.startswith(f"ssr {words[0]}: ") and said.err.endswith(".\n"), line
    return said.err


def declared(line: str, kinds: list[Any], capfd: pytest.CaptureFixture[str]) -> tuple[Any, list[str]]:
    """What a command's words become, and words without which nothing is taken."""
    part = line.split()[1:]
    if line.startswith("bench"):  # Warp says, when it is loaded, that there is no card
        import_module(f"ssr.benchmarks.{part[0]}")
        capfd.readouterr()
    answer([*line.split(), "--no-such-option"], capfd)
    kind = arguments._chosen(kinds[-1], part)
    hints = typing.get_type_hints(kind, include_extras=True)
    needed = [
        f"WORD{number}"
        for number, each in enumerate(fields(kind) if is_dataclass(kind) else ())
        if tyro.conf.Positional in getattr(hints[each.name], "__metadata__", ()) and each.default is MISSING
    ]
    return kind, [*line.split(), *needed]


@pytest.mark.parametrize("line", LINES)
def test_an_option_that_is_none_is_told_with_those_most_alike(
    line: str, kinds: list[Any], capfd: pytest.CaptureFixture[str]
) -> None:
    kind, words = declared(line, kinds, capfd)
    for option in ("--no-such-option", "--no-such-option=3", "-q", "--tyro-print-completion"):
        said = answer([*words[: len(line.split())], option, "3"], capfd)
        assert isinstance(said, str)
        assert f"Unknown option: '{option.partition('=')[0]}'. " in said and re.search(
            r"(Known|of \d+): -", said
        )
    for option in list(arguments.options(kind))[:1]:
        said = answer([*words, f"{option}x", "3"], capfd)
        assert isinstance(said, str) and f"{option}," in f"{said.rstrip()[:-1]},"


@pytest.mark.parametrize("line", LINES)
def test_no_option_takes_a_value_that_it_cannot_have(
    line: str, kinds: list[Any], capfd: pytest.CaptureFixture[str]
) -> None:
    kind, words = declared(line, kinds, capfd)
    pairs = [(option, values) for values in VALUES for option in arguments.options(kind)]
    for option, values in pairs[:: EVERY if line == "train" else 1]:
        where, name = arguments.options(kind)[option]
        hint = str(typing.get_type_hints(where)[name])
        said = answer([*words, option, *values], capfd)
        if re.search("int|float", hint) and not ("..." in hint and not values):  # several may be none
            assert isinstance(said, str) and name in said.replace("-", "_")
        elif isinstance(said, Made):
            assert all(map(isfinite, numbers(said.args[0])))


def numbers(made: Any) -> Iterator[float]:
    """Those of settings, wherever they are."""
    if is_dataclass(made):
        made = vars(made)
    if isinstance(made, partial):
        made = made.keywords
    for value in made.values():
        if is_dataclass(value):
            yield from numbers(value)
        else:
            yield from (v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, float))


@pytest.mark.parametrize("line", LINES)
def test_a_word_too_many_or_too_few_is_told(
    line: str, kinds: list[Any], capfd: pytest.CaptureFixture[str]
) -> None:
    _, words = declared(line, kinds, capfd)
    several = line == "compare"  # runs, as many as you like; how few, it says itself
    if len(words) > len(line.split()) and not several:
        said = answer(words[:-1], capfd)
        assert isinstance(said, str) and "is missing: " in said
    many = answer([*words, *(f"more{k}" for k in range(9))], capfd)
    assert isinstance(many, Made) if several else re.search(r"more\d", str(many))


@pytest.mark.parametrize("columns", ["40", "80", "500"])
def test_the_same_is_said_however_wide_the_terminal(
    columns: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    words = ["deploy", "RUN", "--controller.safety.max-missed", "nan"]
    expected = "ssr deploy: controller.safety.max_missed nan: expected a whole number from 0 to 50.\n"
    assert answer(words, capfd) == expected
    words[-1] = "\x1b[2J" + "x" * 5000
    said = answer(words, capfd)
    assert isinstance(said, str) and "max_missed '\\x1b[2Jxxx" in said and len(said) < 200
    said = answer(["motion", "glide"], capfd)
    assert said == "ssr motion: Unknown command: 'glide'. Known: retarget, build, show, report.\n"


def test_an_option_that_is_gone_is_told_with_its_successor(capfd: pytest.CaptureFixture[str]) -> None:
    said = answer(["train", "--ppo.learning-rate", "1"], capfd)
    assert isinstance(said, str) and "'--ppo.learning-rate'" in said and "--ppo.learning-rates" in said


def test_help_is_still_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["deploy", "--help"])
    assert not end.value.code and "--controller.safety.max-missed INT" in capsys.readouterr().out
