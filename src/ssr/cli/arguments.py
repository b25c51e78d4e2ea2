"""Words of a command line become settings; whatever is wrong with them is told in one line."""

from __future__ import annotations

import io
import re
import typing
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields, is_dataclass
from itertools import groupby, takewhile
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, overload

import tyro

from ssr.errors import UserError, unknown
from ssr.ranges import refusal

T = TypeVar("T")
HELP = ("--help", "-h")
OPTION = re.compile(r"--[A-Za-z][^=]*|-[A-Za-z]")
FRAME = "│╭╮╰╯─ "  #: what the parser may draw around its words
MISSING = re.compile(r"Missing from [^:]*: (?P<name>\S+) (?P<meaning>(?:(?!\(required\)).)*) \(required\)")
SHOWN = 400  #: characters of its words, at most


@overload
def parsed(kind: Callable[..., T], argv: list[str], *, prog: str, **more: Any) -> T: ...
@overload
def parsed(kind: Any, argv: list[str], *, prog: str, **more: Any) -> Any: ...
def parsed(kind: Any, argv: list[str], *, prog: str, **more: Any) -> Any:
    """An instance of a class, of one of several, or the result of a function, made from words.

    prog: how the command is called; more: as `tyro.cli` takes it. Raises UserError.
    """
    known = options(_chosen(kind, argv))
    for word in typed(argv):
        if word not in known and word not in HELP:
            raise unknown("option", word, [*known, *HELP[:1]])
    said = io.StringIO()
    try:
        with redirect_stdout(said), redirect_stderr(said):
            return tyro.cli(kind, prog=prog, args=argv, **more)
    except SystemExit as end:
        if not end.code:  # help: once more, as wide and as coloured as the terminal is
            return tyro.cli(kind, prog=prog, args=argv, **more)
    raise _told(said.getvalue(), argv, known, prog)


def typed(argv: list[str]) -> dict[str, list[str]]:
    """Options among the words, spelled as they are declared, and what follows each."""
    found: dict[str, list[str]] = {}
    values: list[str] = []
    for word in takewhile(lambda word: word != "--", argv):
        name, equals, value = word.partition("=")
        if OPTION.fullmatch(name):
            values = found[name.replace("_", "-")] = [value] if equals else []
        else:
            values.append(word)
    return found


def options(kind: Any, before: str = "") -> dict[str, tuple[Any, str]]:
    """Every option of a class or a function that may be typed, what declares it, and by which name."""
    found: dict[str, tuple[Any, str]] = {}
    hints = typing.get_type_hints(kind, include_extras=True)
    for name in [f.name for f in fields(kind)] if is_dataclass(kind) else hints.keys() - {"return"}:
        inner, notes = _bare(hints[name])
        if tyro.conf.Positional in notes:
            continue
        called = _named(notes, name).replace("_", "-")
        if is_dataclass(inner):
            found |= options(inner, f"{before}{called}." if called else before)
            continue
        aliases = [alias for note in notes for alias in getattr(note, "aliases", None) or ()]
        denied = [f"--{before}no-{called}"] if inner is bool else []
        found |= dict.fromkeys([f"--{before}{called}", *denied, *aliases], (kind, name))
    return found


def _chosen(kind: Any, argv: list[str]) -> Any:
    """Of several commands the one that the first word names."""
    if typing.get_origin(kind) not in (Union, UnionType):
        return kind
    parts = {_named(notes): part for part, notes in map(_bare, typing.get_args(kind))}
    if argv and argv[0] not in (*parts, *HELP):
        raise unknown("command", argv[0], parts)
    return parts.get(argv[0], object) if argv else object


def _named(notes: tuple[Any, ...], otherwise: str = "") -> str:
    """How a note says that a field or a command is called."""
    return next((note.name for note in notes if getattr(note, "name", None) is not None), otherwise)


def _bare(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without its notes, and the notes."""
    if typing.get_origin(hint) is not Annotated:
        return hint, ()
    kind, *notes = typing.get_args(hint)
    return kind, tuple(notes)


def _is_flag(declared: Any, name: str) -> bool:
    return typing.get_type_hints(declared)[name] is bool


def _told(said: str, argv: list[str], known: dict[str, tuple[Any, str]], prog: str) -> UserError:
    """The parser says a title, what is wrong and some help, with rules between them.

    Its lines break within long words, so an option is looked for where they are joined.
    """
    lines = [line.strip(FRAME) for line in said.strip().splitlines()]
    parts = [list(part) for ruled, part in groupby(lines[1:], lambda line: not line.strip("-")) if not ruled]
    wrong, given = parts[0] if parts else lines, typed(argv)
    blamed = max((option for option in given if option in "".join(wrong)), key=len, default="")
    if blamed in known and not _is_flag(*known[blamed]):
        return refusal(*known[blamed], given[blamed])
    if missing := MISSING.fullmatch(" ".join(wrong)):
        wrong = [f"{missing['name']} is missing: {missing['meaning']}"]
    return UserError(f"{' '.join(wrong)[:SHOWN].rstrip('.')}. `{prog} --help` explains.")
