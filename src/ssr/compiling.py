"""Says that kernels are being compiled, which happens once on a machine and takes a minute."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import TaskID

    from ssr.progress import Progress

OURS = "ssr."


@contextmanager
def compiling(progress: Progress) -> Iterator[None]:
    """Inside this block a task of its own shows how many kernels are compiled; none if all are kept."""
    from numba.core.event import Event, Listener, install_listener

    class Watch(Listener):
        task: TaskID | None = None

        def on_start(self, event: Event) -> None:
            if self.task is None:
                self.task = progress.add_task("compiling, once on this machine", total=_kernels())

        def on_end(self, event: Event) -> None:
            if self.task is not None and _module(event.data["dispatcher"]).startswith(OURS):
                progress.advance(self.task)

    watch = Watch()
    with install_listener("numba:compile", watch):
        yield
    if watch.task is not None:  # kernels that others have swallowed whole are never compiled by themselves
        progress.update(watch.task, completed=progress.tasks[watch.task].total)


@contextmanager
def compile_clock() -> Iterator[Callable[[], float]]:
    """Inside this block: seconds for which kernels were compiled since it was last asked."""
    from numba.core.event import TimingListener, install_listener

    watch, told = TimingListener(), 0.0

    def since() -> float:
        nonlocal told
        before, told = told, watch.duration if watch.done else 0.0
        return told - before

    with install_listener("numba:compile", watch):
        yield since


def _kernels() -> int:
    """How many there are in the project's modules that are loaded."""
    from numba.core.registry import CPUDispatcher

    modules = [module for name, module in sys.modules.items() if name.startswith(OURS)]
    found = {
        id(value)
        for module in modules
        for value in vars(module).values()
        if isinstance(value, CPUDispatcher) and _module(value).startswith(OURS)
    }
    return max(len(found), 1)


def _module(dispatcher: Any) -> str:
    return getattr(dispatcher.py_func, "__module__", None) or ""
