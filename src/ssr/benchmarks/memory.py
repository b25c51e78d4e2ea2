"""Peak bytes of live tensors, counted by the allocator's own events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from torch.profiler import ProfilerActivity, profile


@dataclass
class LiveBytes:
    """Bytes of tensors made inside; what existed before does not count."""

    peak: int = 0  #: most at once
    left: int = 0  #: at the end


@contextmanager
def watched() -> Iterator[LiveBytes]:
    """What is held inside; known once it is over."""
    held = LiveBytes()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        yield held
    events = [e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    for event in sorted(events, key=lambda e: e.start_ns()):
        held.left += event.nbytes()
        held.peak = max(held.peak, held.left)


def peak_tensor_bytes(work: Callable[[], object]) -> int:
    """Most bytes held at once by tensors made inside `work`."""
    with watched() as held:
        kept = work()
    del kept
    return held.peak
