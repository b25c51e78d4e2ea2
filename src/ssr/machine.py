"""What the machine has. Calls that only some systems know stay in here."""

from __future__ import annotations

import os
import sys


def cores() -> int:
    """Cores this process may use; where a system does not say, those of the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_gigabytes() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def peak_memory_megabytes() -> float:
    """The most this process has held so far."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)  # macOS counts bytes, Linux kilobytes


def open_files() -> list[int]:
    """Numbers of the files that this process has open; none where a system does not say."""
    try:
        return [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        return []
