"""What the machine has. Calls that only some systems know stay in here."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path


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


def process_begun(pid: int) -> str:
    """When a process began; the same number may be another one's later. Empty where there is none."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if state == "Z" else rest[18]
    except (OSError, ValueError, IndexError):
        return _alive(pid)


def _alive(pid: int) -> str:
    """For systems without /proc: whether a process of this number is there."""
    if Path("/proc").is_dir() and Path("/proc/self/stat").exists():
        return ""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return ""
    except PermissionError:
        pass
    return "alive"


def here() -> tuple[str, str]:
    """This machine's name, and its boot."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = ""
    return socket.gethostname(), boot
