"""A run's configuration as JSON and back."""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from ssr.errors import UserError, unknown
from ssr.files import SEAL, checksum, with_seal, write_json
from ssr.learning.config import TrainConfig
from ssr.learning.packing import pack, unpack


def as_dict(config: Any) -> Any:
    """Nested dataclasses as nested dictionaries."""
    if is_dataclass(config):
        return {f.name: as_dict(getattr(config, f.name)) for f in fields(config)}
    return config


def from_dict(kind: type, values: Mapping[str, Any], path: str = "") -> Any:
    """The dataclass `kind` with the given values, defaults for the rest. Unknown names are refused."""
    hints = typing.get_type_hints(kind)
    known = {f.name for f in fields(kind)}
    for name in values:
        if name not in known:
            raise unknown(f"setting {path}{name} of {kind.__name__}", name, sorted(known))
    made = {}
    for name, value in values.items():
        nested = is_dataclass(hints[name]) and isinstance(value, Mapping)
        made[name] = from_dict(hints[name], value, f"{path}{name}.") if nested else value
    return kind(**made)


def as_text(config: TrainConfig) -> str:
    """JSON, for the metadata of a file."""
    return json.dumps(pack(as_dict(config))[0])


def from_text(text: str) -> TrainConfig:
    """ValueError where the text is no packed JSON object, UserError where its settings cannot be."""
    try:
        values = unpack(json.loads(text), {})
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"not what was packed: {error}") from error
    if not isinstance(values, Mapping):
        raise ValueError("not an object")
    config = from_dict(TrainConfig, values)
    assert isinstance(config, TrainConfig)
    return config


def save(path: Path, config: TrainConfig) -> None:
    skeleton, _ = pack(as_dict(config))
    write_json(path, with_seal(skeleton), indent=1)


def _object(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(content, dict):
        raise ValueError("not an object")
    return content


def is_sealed(path: Path) -> bool:
    return SEAL in _object(path.read_text())


def load(path: Path) -> TrainConfig:
    """Refused if it was edited since it was written; one without a seal is taken as it is."""
    try:
        content = _object(path.read_text())
        seal = content.pop(SEAL, None)
        if seal is not None and seal != checksum(content):
            raise UserError(
                f"{path} was edited: its checksum does not fit. A run keeps the settings it began with; for "
                "others start a new one with `ssr train --continue`."
            )
        return from_text(json.dumps(content))
    except OSError as error:
        raise UserError(f"{path} cannot be read. Give a run directory made by `ssr train`.") from error
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON. Restore it from the run's backup.") from error
