"""One trainer per run directory.

The lock is the system's, so it ends with its holder however that one ends; the file only tells who it is.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ssr.errors import UserError

LOCK = ".lock"
PARTIAL = re.compile(r"\.(\d+)\..+")  #: what `ssr.files` writes before a file is complete


@contextmanager
def locked(run: Path) -> Iterator[None]:
    """Hold `run`, which exists, or say who does. What a killed trainer left half written is cleared away."""
    path = run / LOCK
    try:
        file = path.open("a+")
    except OSError as error:
        raise UserError(f"Cannot write to {run}: {error.strerror}.") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(
                f"{run} is being trained by {_holder(path)}. Wait for it, or stop it first."
            ) from None
        file.truncate(0)
        json.dump({"pid": os.getpid(), "host": socket.gethostname()}, file)
        file.flush()
        clear_away(run)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _holder(path: Path) -> str:
    try:
        said = json.loads(path.read_text())
        return f"process {int(said['pid'])} on {said['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def clear_away(run: Path) -> None:
    """Remove files and checkpoints that were never finished; one that was moved aside comes back."""
    for folder in (run, run / "snapshots", run / "stages"):
        for path in folder.glob(".*"):
            writer = PARTIAL.fullmatch(path.name)
            if writer and path.is_file() and not _lives(int(writer[1])):
                path.unlink(missing_ok=True)
    for path in (run / "checkpoints").glob(".*.replaced"):
        final = path.with_name(path.name.removesuffix(".replaced")[1:])
        if not final.exists():
            os.replace(path, final)
    for path in (run / "checkpoints").glob(".*"):
        shutil.rmtree(path, ignore_errors=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True
