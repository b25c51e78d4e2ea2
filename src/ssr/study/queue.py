"""The runs of a study over this machine's slots, one process each, until all are done.

Nothing that matters is in this process's memory: what is done, held or failed stands in the study's
directory, so that it may be killed at any time, and others may work on the same directory.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.live import Live

from ssr.files import write_text
from ssr.learning import stages
from ssr.machine import cores
from ssr.study import status
from ssr.study.board import FAILED, FINISHED, RUNNING, WAITING, Board
from ssr.study.folder import STATUS, StudyFolder
from ssr.study.job import DONE, REFUSED, STOPPED, TAKEN
from ssr.study.plan import PlannedRun, StudyPlan

POLL = 1.0  #: s between two looks
TOLD_EVERY = 60.0  #: s between two lines, where nobody sees a table
WRITTEN_EVERY = 5.0  #: s between two pages
TRIES = 3  #: ends in a row without any progress before a run is given up

Command = Callable[[StudyFolder, PlannedRun, int, int], list[str]]


def job_command(folder: StudyFolder, run: PlannedRun, slot: int, workers: int) -> list[str]:
    words = (folder.path.resolve(), run.name, slot, workers, os.getpid())
    return [sys.executable, "-m", "ssr.study.job", *map(str, words)]


@dataclass
class _Slot:
    number: int
    run: PlannedRun | None = None
    process: subprocess.Popen[bytes] | None = None


@dataclass
class _Tries:
    """How often a run ended without having come any further."""

    count: int = 0
    reached: tuple[int, int] = field(default=(-1, -1))


class Queue:
    def __init__(
        self,
        folder: StudyFolder,
        runs: Sequence[PlannedRun],
        slots: int,
        gpus: int,
        console: Console,
        command: Command = job_command,
    ) -> None:
        """runs: those that are this machine's to do; gpus: one for each slot, if there are so many."""
        self.folder, self.runs, self.console = folder, list(runs), console
        self.slots = [_Slot(number) for number in range(slots)]
        self.gpus, self.command = gpus, command
        self.tries: dict[str, _Tries] = {}
        self.written = self.told = float("-inf")

    def work(self) -> Board:
        """Until every run of this machine is done, given up, or somebody asks to stop."""
        for run in self.runs:
            self.folder.forgive(run)
        before = signal.signal(signal.SIGTERM, _interrupt)
        live = Live(console=self.console, auto_refresh=False, transient=True)
        try:
            with live if self.console.is_terminal else nullcontext():
                while True:
                    self._reap()
                    board = Board.look(self.folder, self.runs)
                    if not board.of(RUNNING, WAITING) and not any(slot.process for slot in self.slots):
                        return board
                    self._fill(board)
                    self._show(live)
                    time.sleep(POLL)
        except KeyboardInterrupt:
            self._stop()
            raise
        finally:
            signal.signal(signal.SIGTERM, before)
            self._write(Board.look(self.folder))

    def _fill(self, board: Board) -> None:
        """Begin what nobody holds in every slot that is free; who loses a race for it just ends."""
        mine = {slot.run.name for slot in self.slots if slot.run is not None}
        todo = [one.run for one in board.of(WAITING) if one.run.name not in mine]
        for slot, run in zip([s for s in self.slots if s.process is None], todo, strict=False):
            self._begin(slot, run)

    def _begin(self, slot: _Slot, run: PlannedRun) -> None:
        share = max(1, cores() // len(self.slots))
        environment = dict(os.environ) | {"OMP_NUM_THREADS": str(share)}
        if 1 < self.gpus >= len(self.slots):
            given = os.environ.get("CUDA_VISIBLE_DEVICES", "")
            cards = given.split(",") if given else [str(k) for k in range(self.gpus)]
            environment["CUDA_VISIBLE_DEVICES"] = cards[slot.number]
        with self.folder.log(run).open("ab") as log:
            slot.process = subprocess.Popen(
                self.command(self.folder, run, slot.number, share),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,  # Ctrl-C is ours to pass on
            )
        slot.run = run

    def _reap(self) -> None:
        for slot in self.slots:
            if slot.process is None or slot.run is None or slot.process.poll() is None:
                continue
            run, code = slot.run, slot.process.returncode
            slot.run = slot.process = None
            if code == REFUSED:
                self._give_up(run)
            elif code not in (DONE, TAKEN, STOPPED):
                self._count(run, code)

    def _count(self, run: PlannedRun, code: int) -> None:
        """A run was killed or broke: it goes on, unless it never gets any further."""
        stands = Board.look(self.folder, [run]).runs[0]
        tries = self.tries.setdefault(run.name, _Tries())
        reached = (stands.steps, stands.trials)
        tries.count = tries.count + 1 if reached == tries.reached else 1
        tries.reached = reached
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        self._say(f"{run.title} {how}; {'it goes on' if tries.count < TRIES else 'given up'}.")
        if tries.count >= TRIES:
            self._give_up(run)

    def _give_up(self, run: PlannedRun) -> None:
        text = self.folder.log(run).read_text(errors="replace").strip().splitlines()
        reason = (text[-1] if text else "it said nothing").removeprefix("ssr study: ")
        self.folder.fail(run, reason)
        self._say(f"{run.title} failed: {reason} ({self.folder.log(run)})")

    # ---- what is shown ----------------------------------------------------------------------------------

    def _show(self, live: Live) -> None:
        now, board = time.monotonic(), None
        if now - self.written >= WRITTEN_EVERY:
            board = Board.look(self.folder)
            self._write(board)
            self.written = now
            if self.console.is_terminal:
                live.update(status.table(board, len(self.slots)), refresh=True)
        if not self.console.is_terminal and now - self.told >= TOLD_EVERY:
            self.told = now
            self._say(status.line(board or Board.look(self.folder), len(self.slots)))

    def _write(self, board: Board) -> None:
        with suppress(OSError):  # another machine writes the same page
            write_text(self.folder.path / STATUS, status.page(self.folder, board, len(self.slots)))

    def _say(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True, markup=False)
        self.console.file.flush()

    def _stop(self) -> None:
        """Let every run save; asked again, end them at once."""
        self._say("Stopping: every run saves first. Ctrl-C again ends them at once.")
        processes = [slot.process for slot in self.slots if slot.process is not None]
        for process in processes:
            process.terminate()
        try:
            for process in processes:
                process.wait()
        except KeyboardInterrupt:
            for process in processes:
                process.kill()


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def ended_well(board: Board) -> bool:
    return len(board.of(FINISHED)) == len(board.runs) and not board.of(FAILED)


def machine_slots(plan: StudyPlan, given: int | None) -> tuple[int, int]:
    """How many runs at a time, and how many GPUs there are for them."""
    import torch

    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return given or plan.slots or gpus or cores(), gpus


def require_possible(plan: StudyPlan, path: Path) -> None:
    """What depends on this machine shows before anything starts."""
    for method in plan.methods:
        stages.require_possible(path, plan.recipe(method, plan.seeds[0]), None)
