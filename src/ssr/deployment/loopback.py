"""Keeps DDS on the loopback interface to this machine.

cyclonedds binds the sockets it listens with to every address, whatever interface it is told to use. Bound to
the loopback device, they take nothing that came in from elsewhere.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress

from ssr.deployment.config import LOOPBACK
from ssr.machine import open_files

ANYWHERE = ("0.0.0.0", "::")
FIREWALL = (
    "iptables -A INPUT ! -i lo -p udp --dport 7400:7649 -j DROP (domain 0; 250 higher for each further one)"
)


def open_sockets() -> set[tuple[int, int]]:
    """File number and inode of every socket of this process."""
    found = set()
    for number in open_files():
        with suppress(OSError):
            about = os.fstat(number)
            if stat.S_ISSOCK(about.st_mode):
                found.add((number, about.st_ino))
    return found


def confine(before: set[tuple[int, int]]) -> str:
    """Bind the sockets opened since `before` that listen everywhere to loopback. Says why not, if not."""
    try:
        for listener in _listening_everywhere(before):
            with listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, LOOPBACK.encode() + b"\0")
    except (OSError, AttributeError) as error:
        return f"DDS can be reached from other hosts ({error}); close it with a firewall: {FIREWALL}"
    return ""


def _listening_everywhere(before: set[tuple[int, int]]) -> Iterator[socket.socket]:
    for number, _ in sorted(open_sockets() - before):
        copy = socket.socket(fileno=os.dup(number))
        if copy.type == socket.SOCK_DGRAM and copy.family in (socket.AF_INET, socket.AF_INET6):
            address = copy.getsockname()
            if address[0] in ANYWHERE and address[1]:
                yield copy
                continue
        copy.close()
