"""Settings say with each field which values it may have, and refuse others where they enter.

    @settings("ppo")
    class PPOConfig:
        steps: Annotated[int, Within(1, 10_000)] = 24
        learning_rates: Annotated[tuple[float, float], Within(1e-8, 1.0, rising=True)] = (1e-5, 1e-3)

A number without a range is an error when the class is first used; a value of another type than declared is
refused like one out of range. Numbers are finite unless a bound is infinite, and never NaN.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, wraps
from inspect import signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, dataclass_transform

from ssr.errors import UserError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

CALLED = {int: "a whole number", float: "a number", bool: "true or false", str: "text", Path: "a path"}


@dataclass(frozen=True)
class Within:
    """Least and greatest value of a number, or of every number in a tuple."""

    low: float
    high: float
    rising: bool = False  #: of a tuple: nowhere does it fall

    def __str__(self) -> str:
        return f"{self.low:.10g} to {self.high:.10g}" + (", least first" if self.rising else "")


Share = Annotated[float, Within(0.0, 1.0)]
Seed = Annotated[int, Within(0, 2**32 - 1)]


class OutOfRange(UserError):
    """A setting has a value that it cannot have."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
def settings(where: str) -> Callable[[type[T]], type[T]]:
    """A frozen, keyword-only dataclass that checks its fields before its own `__post_init__`.

    where: what its fields are called by, e.g. `task.commands` for `task.commands.yaw_rate`, or `--`.
    """

    def make(kind: type[T]) -> type[T]:
        further = getattr(kind, "__post_init__", None)

        def check(self: T) -> None:
            refuse_others(type(self), vars(self), where)
            if further is not None:
                further(self)

        kind.__post_init__ = check  # type: ignore[attr-defined]
        kind.__settings__ = where  # type: ignore[attr-defined]
        return dataclass(frozen=True, kw_only=True)(kind)

    return make


def checked(function: F) -> F:
    """A function whose parameters are declared and checked like settings; `ssr bench` calls such."""
    names = signature(function).parameters

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        refuse_others(function, dict(zip(names, args, strict=False)) | kwargs, "--")
        return function(*args, **kwargs)

    return typing.cast(F, call)


def refuse_others(declared: Any, values: Mapping[str, object], where: str) -> None:
    """Raise at the first value that its declaration does not allow. declared: a class or a function."""
    for name, (kind, within) in _declarations(declared).items():
        if name in values and not _allowed(kind, within, values[name]):
            said = f"{_called(name, where)} {_shown(values[name])}"
            raise OutOfRange(f"{said}: expected {_wanted(kind, within)}.")


def refusal(declared: Any, name: str, words: list[str]) -> OutOfRange:
    """What to say of words that cannot even be read as what is declared, or of there being none."""
    called = _called(name, getattr(declared, "__settings__", "--"))
    given = " ".join(word if word.isprintable() and word else repr(word) for word in words)
    wanted = _wanted(*_declarations(declared)[name]).removesuffix(" or nothing")
    return OutOfRange(f"{called} {_cut(given) or 'without a value'}: expected {wanted}.")


def _called(name: str, where: str) -> str:
    return where + (name.rstrip("_").replace("_", "-") if where == "--" else f"{'.' if where else ''}{name}")


def without_range(declared: Any) -> list[str]:
    """Fields that hold numbers and do not say which."""
    return [n for n, (kind, within) in _hints(declared).items() if within is None and _numeric(kind)]


@cache
def _declarations(declared: Any) -> dict[str, tuple[Any, Within | None]]:
    if forgotten := without_range(declared):
        raise TypeError(f"{declared.__qualname__} has numbers without a range: {', '.join(forgotten)}")
    return _hints(declared)


def _hints(declared: Any) -> dict[str, tuple[Any, Within | None]]:
    """Type and range of every field or parameter."""
    hints = typing.get_type_hints(declared, include_extras=True)
    names = [f.name for f in fields(declared)] if is_dataclass(declared) else set(hints) - {"return"}
    return {name: _unwrapped(hints[name]) for name in names}


def _unwrapped(hint: Any, within: Within | None = None) -> tuple[Any, Within | None]:
    """Type without its notes, and the range among them, or among those of what a tuple or an option holds."""
    if typing.get_origin(hint) is Annotated:
        kind, *notes = typing.get_args(hint)
        return _unwrapped(kind, next((note for note in notes if isinstance(note, Within)), within))
    return hint, within or next((found for _, found in map(_unwrapped, _parts(hint)) if found), None)


def _parts(kind: Any) -> list[Any]:
    if typing.get_origin(kind) in (Literal, None):
        return []
    return [part for part in typing.get_args(kind) if part not in (NoneType, ...)]


def _numeric(kind: Any) -> bool:
    kind, _ = _unwrapped(kind)
    return kind in (int, float, complex) or any(map(_numeric, _parts(kind)))


def _allowed(hint: Any, within: Within | None, value: Any) -> bool:
    """within: of what surrounds the type, where the type itself has none."""
    kind, own = _unwrapped(hint)
    origin, parts, within = typing.get_origin(kind), typing.get_args(kind), own or within
    if origin in (Union, UnionType):
        return any(_allowed(part, within, value) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is tuple:
        return isinstance(value, tuple) and _all_allowed(parts, within, value)
    if origin is dict:
        return isinstance(value, dict) and all(_allowed(parts[1], within, each) for each in value.values())
    if kind in (int, float):
        number = isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
        return number and within is not None and within.low <= value <= within.high
    return not isinstance(kind, type) or isinstance(value, kind)


def _all_allowed(kinds: tuple[Any, ...], within: Within | None, values: tuple[Any, ...]) -> bool:
    if kinds[-1] is ...:
        kinds = kinds[:1] * len(values)
    pairs = zip(kinds, values, strict=False)
    fit = len(kinds) == len(values) and all(_allowed(kind, within, value) for kind, value in pairs)
    return fit and (within is None or not within.rising or list(values) == sorted(values))


def _wanted(kind: Any, within: Within | None) -> str:
    kind, _ = _unwrapped(kind)
    origin, bounds = typing.get_origin(kind), f" from {within}" if within else ""
    if origin in (Union, UnionType):
        words = [_wanted(part, within) for part in _parts(kind)]
        return " or ".join([*words, *(["nothing"] if NoneType in typing.get_args(kind) else [])])
    if origin is Literal:
        return " or ".join(map(str, typing.get_args(kind)))
    if origin is tuple:
        entry, *others = typing.get_args(kind)
        word = CALLED.get(_unwrapped(entry)[0], "entry").removeprefix("a ")
        return (f"{word}s" if others[-1:] == [...] else f"{1 + len(others)} {word}s") + bounds
    return CALLED.get(kind, getattr(kind, "__name__", str(kind))) + bounds


def _shown(value: object) -> str:
    return _cut(f"{value:g}" if isinstance(value, float) else repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
