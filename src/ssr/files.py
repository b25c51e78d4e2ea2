"""Files appear under their name only when they are complete, whatever ends the writer before that."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SEAL = "sha256"  #: key of a record's checksum over everything else it says

#: What reading a damaged file raises, whatever its format: a `RuntimeError` is also one that is nested too
#: deeply or packed in an unknown way, a `MemoryError` one that claims to be huge.
DAMAGED = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError,
    MemoryError, struct.error, zlib.error, zipfile.BadZipFile,
)  # fmt: skip


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` when the block ends without an error.

    It ends like `path`, since some writers go by the ending, and differs between processes.
    """
    partial = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    with replacing(path) as partial:
        partial.write_bytes(content)


def write_text(path: Path, content: str) -> None:
    write_bytes(path, content.encode())


def write_json(path: Path, content: Any, indent: int | None = None) -> None:
    write_text(path, json.dumps(content, allow_nan=False, indent=indent))


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of what JSON makes of it."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def with_seal(content: Mapping[str, Any]) -> dict[str, Any]:
    """A record with its checksum, for `write_json`."""
    plain = json.loads(json.dumps(content, allow_nan=False))
    return {**plain, SEAL: checksum(plain)}


def without_seal(text: str, *, required: bool = False) -> dict[str, Any]:
    """A record without its seal; one that never had any is taken as it is, unless it is required. ValueError
    if it was altered."""
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("not a record")
    if (required or SEAL in content) and content.pop(SEAL) != checksum(content):
        raise ValueError("its checksum does not fit")
    return content


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
