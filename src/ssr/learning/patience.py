"""A disk that is full may have room in a moment: try again, and in the end stop with what was saved last."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ssr.errors import UserError, of_the_system

T = TypeVar("T")
PAUSES = (1.0, 4.0, 15.0)  #: s before each further try


def patiently(write: Callable[[], T], run: Path, say: Callable[[str], None]) -> T:
    for pause in PAUSES:
        try:
            return write()
        except OSError as error:
            say(f"Cannot write ({of_the_system(error)}). Trying again in {pause:g} s.")
            time.sleep(pause)
    try:
        return write()
    except OSError as error:
        raise UserError(
            f"Training stopped: it cannot write ({of_the_system(error)}). What was saved last is whole: make "
            f"room, then `ssr train --resume {run}`."
        ) from error
