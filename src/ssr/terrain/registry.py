"""All terrain kinds by name."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ssr.errors import unknown
from ssr.terrain.kind import TerrainKind
from ssr.terrain.settings import TERRAIN_TYPES

_KINDS: dict[str, TerrainKind] = {}


def register(kind: TerrainKind) -> None:
    """Make a kind known to every command; its name and its order must be new."""
    if kind.terrain_type not in TERRAIN_TYPES:
        raise unknown(f"terrain type of {kind.name}", kind.terrain_type, TERRAIN_TYPES)
    for other in _KINDS.values():
        if kind.name == other.name or kind.order == other.order:
            raise ValueError(f"{kind.name} has the name or the order {kind.order} of {other.name}")
        if kind.terrain_type == other.terrain_type and kind.commands != other.commands:
            raise ValueError(f"{kind.name} and {other.name} are of one type, but differ in their commands")
    _KINDS[kind.name] = kind


@cache
def _discover() -> None:
    import_module("ssr.terrain.kinds")


def all_kinds() -> tuple[TerrainKind, ...]:
    """In the order of tables."""
    _discover()
    return tuple(sorted(_KINDS.values(), key=lambda kind: kind.order))


def kind_names() -> tuple[str, ...]:
    """In the order of tables."""
    return tuple(kind.name for kind in all_kinds())


def kind_named(name: str) -> TerrainKind:
    """The kind of this name; one that is unknown is an error that lists those that are known."""
    _discover()
    if name not in _KINDS:
        raise unknown("terrain kind", name, kind_names())
    return _KINDS[name]


def trained_kinds() -> tuple[str, ...]:
    """The kinds that training may use; the others are for evaluation."""
    return tuple(kind.name for kind in all_kinds() if kind.trained)


def kinds_help() -> str:
    """`flat, slope, … or platform.`"""
    *first, last = kind_names()
    return f"{', '.join(first)} or {last}."


def settings_help() -> str:
    """How the setting of each kind is written; kinds that are written alike stand together."""
    alike: dict[str, list[str]] = {}
    for kind in all_kinds():
        if kind.parameters:
            alike.setdefault(kind.written, []).append(kind.name)
    return "; ".join(f"{', '.join(names)}: {written}" for written, names in alike.items()) + ". Metres."
