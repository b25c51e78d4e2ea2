"""How far long work has come: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import (
    BarColumn,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from rich.text import Text

EVERY = 10.0  #: s between two plain lines


class Progress(RichProgress):
    """A bar for each task. Where nobody can see a bar, each task says in plain lines what it does and how far
    it is."""

    def __init__(self, console: Console, unit: str = "", every: float = EVERY) -> None:
        """unit: what is counted, if its rate is worth showing."""
        columns: list[ProgressColumn] = [
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeRemainingColumn(),
        ]
        if unit:
            columns.insert(3, _Rate(unit))
        super().__init__(*columns, console=console, disable=not console.is_terminal)
        self._every, self._said = every, dict[TaskID, float]()

    def add_task(self, description: str, *args: object, **kwargs: object) -> TaskID:
        task = super().add_task(description, *args, **kwargs)  # type: ignore[arg-type]
        if self.disable:
            self._said[task] = time.monotonic()
            self._say(f"{description} …")
        return task

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        super().advance(task_id, advance)
        task = self._tasks[task_id]
        if self.disable and time.monotonic() - self._said[task_id] >= self._every and not task.finished:
            self._said[task_id] = time.monotonic()
            left = (
                "" if task.time_remaining is None else f", {timedelta(seconds=int(task.time_remaining))} left"
            )
            self._say(f"{task.description}: {task.percentage:.0f} %{left}")

    def _say(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True, markup=False)
        self.console.file.flush()


class _Rate(ProgressColumn):
    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} {self.unit}/s", style="progress.data.speed")


@contextmanager
def doing(console: Console, text: str) -> Iterator[None]:
    """Work of unknown length: something that turns on a terminal, one line elsewhere."""
    if console.is_terminal:
        with console.status(text):
            yield
    else:
        console.print(f"{text} …", highlight=False, soft_wrap=True, markup=False)
        console.file.flush()
        yield
