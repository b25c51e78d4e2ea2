"""Jobs of one policy over processes of one thread each, which is the fastest way on a CPU."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from ssr.errors import UserError
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.subject import Subject, load
from ssr.evaluation.trials import Trials, run_trials

POLL = 0.5  #: s between two looks at whether all workers live

Progress = Callable[[int], None]  #: hears of control steps done
Receiver = Callable[[Any, Any], None]  #: takes a job and what came of it


class Work(Protocol):
    """Something to find out about a policy; it travels to the process that does it."""

    @property
    def source(self) -> str:
        """What `subject.load` takes."""

    @property
    def iteration(self) -> int | None: ...

    def run(self, subject: Subject, progress: Progress) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class Job:
    """One chunk of trials."""

    source: str  #: what `subject.load` takes
    iteration: int | None
    course: Course
    conditions: Conditions
    first: int
    count: int
    chunk: int  #: worlds side by side

    def run(self, subject: Subject, progress: Progress) -> Trials:
        return run_trials(subject, self.course, self.conditions, self.first, self.count, progress, self.chunk)


def work(jobs: Sequence[Work], workers: int, progress: Progress, receive: Receiver) -> None:
    """Do all jobs, in this process or in several."""
    if workers == 1 or len(jobs) == 1:
        _here(jobs, progress, receive)
    elif jobs:
        _apart(jobs, min(workers, len(jobs)), progress, receive)


class _Bench:
    """Does jobs one after the other, and keeps the policy at hand between them."""

    def __init__(self) -> None:
        self.key: tuple[str, int | None] | None = None
        self.subject: Any = None

    def do(self, job: Work, progress: Progress) -> Any:
        if self.key != (job.source, job.iteration):
            self.key = (job.source, job.iteration)
            self.subject = load(*self.key)
        return job.run(self.subject, progress)


def _here(jobs: Sequence[Work], progress: Progress, receive: Receiver) -> None:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as the workers do: products must round alike
    bench = _Bench()
    try:
        for job in jobs:
            receive(job, bench.do(job, progress))
    finally:
        torch.set_num_threads(threads)


def _apart(jobs: Sequence[Work], workers: int, progress: Progress, receive: Receiver) -> None:
    context = multiprocessing.get_context("spawn")
    todo: Any = context.Queue()
    said: Any = context.Queue()
    for item in (*enumerate(jobs), *(None,) * workers):
        todo.put(item)
    processes = [context.Process(target=_worker, args=(todo, said), daemon=True) for _ in range(workers)]
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"  # read when a worker imports its libraries
    try:
        for process in processes:
            process.start()
        _listen(said, processes, jobs, progress, receive)
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _listen(
    said: Any, processes: Sequence[BaseProcess], jobs: Sequence[Work], progress: Progress, receive: Receiver
) -> None:
    finished = 0
    while finished < len(jobs):
        try:
            message = said.get(timeout=POLL)
        except queue.Empty:
            if any(process.exitcode not in (None, 0) for process in processes):
                raise UserError(
                    "A worker died, perhaps for lack of memory. Finished chunks are kept: "
                    "run the same command again, with fewer --workers."
                ) from None
            continue
        match message:
            case ("steps", steps):
                progress(steps)
            case ("done", number, found):
                finished += 1
                receive(jobs[number], found)
            case ("failed", text):
                raise UserError(text)


def _worker(todo: Any, said: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    import torch

    torch.set_num_threads(1)
    bench = _Bench()
    while (item := todo.get()) is not None:
        number, job = item
        try:
            found = bench.do(job, lambda steps: said.put(("steps", steps)))
        except UserError as error:
            said.put(("failed", str(error)))
            return
        said.put(("done", number, found))
