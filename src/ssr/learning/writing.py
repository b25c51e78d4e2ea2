"""Files appear under their name only when they are complete."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor


def write_json(path: Path, content: Any, indent: int | None = None) -> None:
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("w") as file:
        json.dump(content, file, allow_nan=False, indent=indent)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    partial = path.with_name(f".{path.name}.partial")
    save_file(tensors, str(partial), metadata=metadata)
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(partial, path)


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
