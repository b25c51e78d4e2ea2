"""Who can reach the controller, and whom it listens to."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from ssr.deployment import loopback
from ssr.deployment.config import DdsConfig
from ssr.deployment.loopback import confine, open_sockets
from ssr.deployment.messages import String
from ssr.deployment.topics import EVERY, Network, Reader, Writer

DOMAIN = 10 + os.getpid() % 30


def device_of(listener: socket.socket) -> bytes:
    return listener.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16).rstrip(b"\0")


def test_the_default_network_listens_on_no_other_device() -> None:
    before = open_sockets()
    network = Network(DdsConfig(domain=DOMAIN))
    network.reader("test", String)
    listening = list(loopback._listening_everywhere(before))
    assert listening, "cyclonedds listens on every address"
    assert {device_of(each) for each in listening} == {b"lo"} and network.exposed == ""
    for each in listening:
        each.close()


def test_what_cannot_be_closed_is_told_with_the_rule_that_closes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = open_sockets()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as open_wide:
        open_wide.bind(("0.0.0.0", 0))
        monkeypatch.setattr(loopback, "LOOPBACK", "no_such_device")
        assert "iptables" in confine(before)
        monkeypatch.undo()
        assert confine(before) == "" and device_of(open_wide) == b"lo"


class Stage:
    """A listener that pins, and speakers of their own participants."""

    def __init__(self, domain: int) -> None:
        self.config = DdsConfig(domain=domain)
        self.reader: Reader[String] = Network(self.config).reader("who", String, pins=True)

    def speaker(self) -> Writer[String]:
        known = self.reader.publishers
        writer = Network(self.config).writer("who", String, depth=8)
        until(lambda: self.reader.publishers == known + 1 and writer.subscribers == 1)
        return writer

    def hear(self, count: int) -> tuple[list[str], list[str]]:
        """What is heard and what is refused, until so many messages have come."""
        heard: list[str] = []
        refused: list[str] = []

        def all_there() -> bool:
            heard.extend(m.data for m in self.reader.take())
            refused.extend(m.data for m in self.reader.strangers)
            self.reader.strangers = []
            return len(heard) + len(refused) >= count

        until(all_there)
        return heard, refused


def until(done: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_first_to_speak_is_heard_until_it_leaves() -> None:
    stage = Stage(DOMAIN + 30)
    operator, intruder = stage.speaker(), stage.speaker()
    operator.write(String("stand"))
    assert stage.hear(1) == (["stand"], [])
    intruder.write(String("walk"))
    operator.write(String("walk slowly"))
    heard, refused = stage.hear(2)
    assert (heard, refused) == (["walk slowly"], ["walk"]) and stage.reader.refused == 1
    del operator
    until(lambda: stage.reader.publishers == 1)
    intruder.write(String("hello"))
    assert stage.hear(1) == (["hello"], [])


def test_a_reader_can_be_pinned_to_the_one_who_asked_elsewhere() -> None:
    stage = Stage(DOMAIN + 60)
    intruder, operator = stage.speaker(), stage.speaker()
    intruder.write(String("faster"))
    stage.hear(1)
    operator.write(String("here"))
    assert stage.hear(1)[1] == ["here"]
    keys = stage.reader._present() - {stage.reader.author}
    stage.reader.pin("nobody")
    stage.reader.pin(keys.pop())
    operator.write(String("slower"))
    intruder.write(String("faster"))
    assert stage.hear(2) == (["slower"], ["faster"])


def test_while_the_robot_moves_nobody_takes_over_from_one_who_has_left() -> None:
    stage = Stage(DOMAIN + 90)
    operator, intruder = stage.speaker(), stage.speaker()
    operator.write(String("stand"))
    assert stage.hear(1) == (["stand"], [])
    stage.reader.settled = True
    del operator
    until(lambda: stage.reader.publishers == 1)
    intruder.write(String("faster"))
    assert stage.hear(1) == ([], ["faster"])
    stage.reader.settled = False
    intruder.write(String("hello"))
    assert stage.hear(1) == (["hello"], [])


def test_who_was_not_there_before_the_robot_stood_does_not_begin_to_steer() -> None:
    stage = Stage(DOMAIN + 120)
    stage.reader.pin(None)
    stage.reader.settled = True
    late = stage.speaker()
    late.write(String("faster"))
    assert stage.hear(1) == ([], ["faster"])
    stage.reader.settled = False
    stage.reader.pin(None)  # the only one there is
    stage.reader.settled = True
    late.write(String("slower"))
    assert stage.hear(1) == (["slower"], [])


def test_every_request_arrives_though_packets_are_lost_and_nobody_looks() -> None:
    """A third of all packets; thirty wishes wait at once. The last of them may be the one that stops."""
    domain = DOMAIN + 150
    reader = Network(DdsConfig(domain=domain)).reader("who", String, depth=EVERY, reliable=True)
    words = [f"wish {k}" for k in range(30)]
    speak = (
        "import sys, time; from ssr.deployment.config import DdsConfig;"
        "from ssr.deployment.messages import String;"
        "from ssr.deployment.topics import EVERY, Network;"
        f"network = Network(DdsConfig(domain={domain}, lossiness=0.33));"
        "writer = network.writer('who', String, depth=EVERY)\n"
        "while not writer.subscribers: time.sleep(0.01)\n"
        f"for k in range(30): writer.write(String(f'wish {{k}}')); time.sleep(0.002)\n"
        "sys.stdin.read()"
    )
    speaker = subprocess.Popen([sys.executable, "-c", speak], stdin=subprocess.PIPE)
    try:
        heard: list[str] = []

        def all_there() -> bool:
            heard.extend(message.data for message in reader.take())
            return len(heard) >= len(words)

        until(lambda: reader.publishers == 1)
        time.sleep(0.5)
        until(all_there)
        assert heard == words
    finally:
        assert speaker.stdin is not None
        speaker.stdin.close()
        speaker.wait()
