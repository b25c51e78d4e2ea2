"""What came of one kind of try."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ssr.errors import UserError


@dataclass
class Tally:
    what: str
    tried: int = 0
    refused: int = 0  #: in one line; of robots: damped
    harmless: int = 0  #: taken, and rightly
    times: list[int] = field(default_factory=list)  #: ms to damping
    bad: list[str] = field(default_factory=list)  #: tracebacks and wrong acceptances

    def attempt(self, what: str, read: Callable[[], Any], harmless: Callable[[Any], bool]) -> None:
        """Whatever is read must be refused in one line, or be harmless."""
        self.tried += 1
        try:
            result = read()
        except UserError as error:
            self.refused += 1
            if "\n" in str(error).strip():
                self.bad.append(f"{what}: refused in more than one line: {error}")
            return
        except OSError as error:  # `ssr` tells it in one line, whatever the command
            self.refused += 1
            if error.errno is None:
                self.bad.append(f"{what}: {error!r}")
            return
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.bad.append(f"{what}: {type(error).__name__}: {error} ({where.filename}:{where.lineno})")
            return
        if harmless(result):
            self.harmless += 1
        else:
            self.bad.append(f"{what}: accepted")
