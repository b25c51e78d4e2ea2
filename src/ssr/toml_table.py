"""TOML tables: taken apart entry by entry, so that nothing in a file is passed over; and written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from ssr.errors import UserError


class TomlTable:
    """A table that is taken apart entry by entry; what is left over was not understood."""

    def __init__(self, content: Any, where: str) -> None:
        if not isinstance(content, dict):
            raise UserError(f"{where}: expected a table, got {content!r}.")
        self.content, self.where = dict(content), where

    def take(self, name: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        if name not in self.content:
            if default is None:
                raise UserError(f"{self.where}: `{name}` is missing.")
            return default
        value = self.content.pop(name)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and not {bool, object} & set(kinds)):
            expected = " or ".join(each.__name__ for each in kinds)
            raise UserError(f"{self.where}: `{name}` is {value!r}, expected {expected}.")
        return value

    def count(self, name: str, default: int | None = None) -> int:
        value = self.take(name, int, default)
        if value < 1:
            raise UserError(f"{self.where}: `{name}` is {value!r}, expected a whole number of at least 1.")
        return int(value)

    def require_empty(self) -> None:
        for name in self.content:
            raise UserError(f"{self.where}: `{name}` is not known there.")


def written(content: Mapping[str, Any], inside: str = "") -> str:
    """A table as TOML: plain entries first, then lists of tables, whose names begin with `inside`."""
    tables = {name: value for name, value in content.items() if _of_tables(value)}
    lines = [f"{name} = {_value(value)}" for name, value in content.items() if name not in tables]
    for name, rows in tables.items():
        for row in rows:
            lines += ["", f"[[{inside}{name}]]", written(row, f"{inside}{name}.")]
    return "\n".join(lines)


def _of_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float):
        return repr(value) if isfinite(value) else str(value)
    if not isinstance(value, (str, int)):
        raise UserError(f"{value!r} is no value of a setting.")
    return json.dumps(value, ensure_ascii=False)
