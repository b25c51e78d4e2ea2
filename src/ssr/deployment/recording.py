"""Everything that was said, in one MCAP file that any ROS 2 tool opens.

A thread of its own writes; whatever it has written twice a second survives a crash of the process or of the
machine's power. A disk that fails stops the recording, never the robot.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mcap.exceptions import McapError
from mcap.reader import NonSeekingReader
from mcap.writer import CompressionType, Writer

from ssr.deployment.messages import Message, definition, ros_name
from ssr.errors import UserError
from ssr.files import DAMAGED

FLUSH_SECONDS = 0.5
CHUNK_BYTES = 1 << 20
WAITING = 20_000  #: messages that may wait for the disk before new ones are dropped


class Tape:
    """Hand it messages with `add`; `close` completes the file."""

    def __init__(self, path: Path, metadata: dict[str, dict[str, str]] | None = None) -> None:
        self.path = path
        self.dropped = 0
        self.failure = ""  #: why recording stopped, if it did
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("xb")
        except OSError as error:
            raise UserError(f"Cannot record to {path}: {error.strerror}. Give another --record.") from None
        self._writer = Writer(self._file, chunk_size=CHUNK_BYTES, compression=CompressionType.LZ4)
        self._writer.start(profile="ros2", library="ssr")
        for name, entries in (metadata or {}).items():
            self._writer.add_metadata(name, entries)
        self._channels: dict[str, int] = {}
        self._schemas: dict[type[Message], int] = {}
        # Log times follow the steady clock from here on: a jump of the wall clock must not reorder them.
        self._zero = time.time_ns() - time.monotonic_ns()
        self._queue: queue.Queue[tuple[int, str, Message, bytes] | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._work, name="recording", daemon=True)
        self._thread.start()

    def add(self, topic: str, message: Message) -> None:
        """Never blocks. What was received is recorded as the bytes that came."""
        entry = (time.monotonic_ns(), topic, message, message.raw)
        try:
            self._queue.put_nowait(entry)
        except queue.Full:
            self.dropped += 1

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        flushed = time.monotonic()
        try:
            while True:
                with suppress(queue.Empty):
                    entry = self._queue.get(timeout=FLUSH_SECONDS)
                    if entry is None:
                        break
                    self._write(*entry)
                if time.monotonic() - flushed > FLUSH_SECONDS:
                    self._writer.flush()
                    flushed = time.monotonic()
            self._writer.finish()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        except OSError as error:
            self.failure = f"recording stopped: {error.strerror}"
            self._drain()

    def _drain(self) -> None:
        """Go on taking messages, so that nobody who adds one ever waits."""
        while self._queue.get() is not None:
            self.dropped += 1

    def _write(self, when: int, topic: str, message: Message, raw: bytes) -> None:
        kind = type(message)
        if topic not in self._channels:
            if kind not in self._schemas:
                self._schemas[kind] = self._writer.register_schema(
                    ros_name(kind), "ros2msg", definition(kind).encode()
                )
            self._channels[topic] = self._writer.register_channel(f"/{topic}", "cdr", self._schemas[kind])
        log_time = self._zero + when
        self._writer.add_message(self._channels[topic], log_time, raw or message.serialize(), log_time)


def read(path: Path) -> Iterator[tuple[str, str, int, bytes]]:
    """Topic, ROS type, log time (ns) and bytes of each message as written, as far as it is whole."""
    with path.open("rb") as file:
        try:
            for schema, channel, message in NonSeekingReader(file).iter_messages(log_time_order=False):
                yield channel.topic, schema.name if schema else "", message.log_time, message.data
        except (McapError, *DAMAGED):
            return
