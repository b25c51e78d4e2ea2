"""Who does what: claims on the runs of a study, of processes that share nothing but a directory.

A claim is a file that appears complete under a new number, or not at all; the newest number of a run holds
it. Nobody removes or overwrites another's claim: who takes over from a holder that is gone makes the next
number, which only one can. On one machine a holder is gone when its process is; of another machine's, when
its file has not been touched for `PATIENCE`, by the clock of the file system.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from uuid import uuid4

from ssr.files import write_json
from ssr.machine import here, process_begun

PATIENCE = 120.0  #: s without a sign of life


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a claim's file says."""

    run: str
    number: int
    host: str
    boot: str  #: of the machine, since when its processes have their numbers
    pid: int
    begun: str  #: of the process, in the system's ticks
    slot: int
    phase: str = ""  #: what it does
    released: bool = False  #: its holder has stopped and holds it no longer

    def lives(self, folder: Path) -> bool:
        """Whether its holder is at work."""
        if self.released:
            return False
        if (self.host, self.boot) == here():
            return process_begun(self.pid) == self.begun
        try:
            return _clock(folder) - _path(folder, self.run, self.number).stat().st_mtime < PATIENCE
        except OSError:
            return False


class Held:
    """A claim of this process."""

    def __init__(self, folder: Path, claim: Claim) -> None:
        self.folder, self.claim = folder, claim

    def say(self, phase: str) -> None:
        self._write(replace(self.claim, phase=phase))

    def beat(self) -> bool:
        """Give a sign of life; whether this still is the newest claim."""
        with suppress(OSError):  # a file system that is away comes back, or the claim grows old
            os.utime(_path(self.folder, self.claim.run, self.claim.number))
        newest = newest_claim(self.folder, self.claim.run)
        return newest is None or newest.number <= self.claim.number

    def release(self) -> None:
        self._write(replace(self.claim, released=True))

    def _write(self, claim: Claim) -> None:
        self.claim = claim
        with suppress(OSError):
            write_json(_path(self.folder, claim.run, claim.number), asdict(claim))


def take(folder: Path, run: str, slot: int) -> Held | None:
    """Claim a run that nobody holds; None if somebody does, or was faster."""
    newest = newest_claim(folder, run)
    if newest is not None and newest.lives(folder):
        return None
    host, boot = here()
    claim = Claim(
        run=run,
        number=1 if newest is None else newest.number + 1,
        host=host,
        boot=boot,
        pid=os.getpid(),
        begun=process_begun(os.getpid()),
        slot=slot,
    )
    partial = folder / f".{uuid4().hex}.{run}"
    partial.write_text(json.dumps(asdict(claim)))
    try:
        os.link(partial, _path(folder, run, claim.number))
    except FileExistsError:
        return None
    finally:
        partial.unlink(missing_ok=True)
    return Held(folder, claim)


def newest_claim(folder: Path, run: str) -> Claim | None:
    numbers = [int(path.suffixes[-2][1:]) for path in folder.glob(f"{run}.[0-9][0-9][0-9][0-9].json")]
    if not numbers:
        return None
    try:
        return Claim(**json.loads(_path(folder, run, max(numbers)).read_text()))
    except (OSError, ValueError, TypeError):  # damaged by something else than us
        return Claim(run=run, number=max(numbers), host="", boot="", pid=0, begun="", slot=0)


def _clock(folder: Path) -> float:
    """The file system's time: machines' own clocks may differ."""
    mark = folder / f".{uuid4().hex}.clock"
    mark.write_text("")
    try:
        return mark.stat().st_mtime
    finally:
        mark.unlink(missing_ok=True)


def _path(folder: Path, run: str, number: int) -> Path:
    return folder / f"{run}.{number:04d}.json"
