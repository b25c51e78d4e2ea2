"""Being on time on a machine that does other things too."""

from __future__ import annotations

import gc
import os
import sys
import time
from contextlib import suppress

SWITCH_INTERVAL = 0.0001  #: s after which a busy thread lets another one in
PRIORITY = 40  #: of the real-time scheduler
AHEAD = 5  #: by how much the thread that keeps the beat comes before the others


def claim_priority(priority: int = PRIORITY) -> str:
    """Ask for real-time scheduling; threads started later inherit it. Says why not, if not."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.freeze()  # what exists by now stays: the collector need not look at it again
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except (OSError, AttributeError):
        return "no real-time priority (not permitted): deadlines depend on what else runs here"
    return ""


def come_first(priority: int = PRIORITY) -> None:
    """This thread before all others of the process, if they have real-time scheduling at all."""
    with suppress(OSError, AttributeError):
        if os.sched_getscheduler(0) == os.SCHED_FIFO:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority + AHEAD))


def step_back() -> None:
    """This thread behind all others again: libraries that close spin, and must not keep what they wait for
    from its only core."""
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


class Beat:
    """A steady beat. `wait` sleeps until the next one and gives its number; missed ones are skipped."""

    def __init__(self, period: float) -> None:
        self.period = period
        self.start = time.perf_counter()
        self.number = -1
        self.beats = 0  #: that were kept
        self.skipped = 0
        self.longest = 0  #: most beats skipped in a row

    def wait(self) -> int:
        number = self.number + 1
        late = time.perf_counter() - self.start - number * self.period
        if late < 0.0:
            time.sleep(-late)
        elif late > self.period:
            missed = int(late / self.period)
            number += missed
            self.skipped += missed
            self.longest = max(self.longest, missed)
        self.number = number
        self.beats += 1
        return number

    @property
    def mean_rate(self) -> float:
        """Hz over the whole time."""
        return self.beats / max(time.perf_counter() - self.start, 1e-9)
