"""Where the time goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopwatch:
    """Seconds spent in named parts since the last `read`."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        start = self.clock()
        yield
        self.seconds[part] = self.seconds.get(part, 0.0) + self.clock() - start

    def read(self) -> dict[str, float]:
        seconds, self.seconds = self.seconds, {}
        return seconds
