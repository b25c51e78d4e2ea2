"""`ssr study`: the paper's comparison as one command, at any budget."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import tyro

from ssr.cli import arguments
from ssr.ranges import Within, settings

DESCRIPTION = """Train and try methods × seeds, then draw the paper's Fig. 5 to 7 and Table 1 with intervals
over seeds. Plans that ship: paper (GPUs, the paper's budget), cpu (two cores, a day), smoke (a minute).

    ssr study cpu.toml                       in runs/study-cpu; again, it goes on where it was
    ssr study cpu.toml --steps 4_000_000     the same with another budget
    ssr study mine.toml --out DIR            in a directory that other machines may share: each runs this line
    ssr study mine.toml --part 2/3           one of three machines that share nothing; put together, their
                                             directories are one study
    ssr study mine.toml --report             write the report of the runs that are done by now

DIR/status.html shows what runs where and reloads itself. Ctrl-C saves and stops."""


@settings("--")
class StudyOptions:
    plan: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PLAN.toml")]
    """A TOML file, or a plan that ships: paper, cpu, smoke."""
    out: Path | None = None
    """Directory of the study; by default runs/study-NAME."""
    part: str | None = None
    """k/n: only every n-th run, from the k-th on."""
    slots: Annotated[int | None, Within(1, 1024)] = None
    """Runs at a time on this machine, instead of the plan's."""
    steps: Annotated[int | None, Within(1, 1_000_000_000_000)] = None
    """Control steps of a run, instead of the plan's."""
    report: bool = False
    """Train nothing; write the report of what is done."""


def run(argv: list[str]) -> int:
    options = arguments.parsed(StudyOptions, argv, prog="ssr study", description=DESCRIPTION)
    from rich.console import Console

    from ssr.study import plan, report
    from ssr.study.board import FINISHED, Board
    from ssr.study.folder import STATUS, StudyFolder
    from ssr.study.queue import Queue, ended_well, machine_slots, require_possible

    name, text, beside = plan.located(options.plan)
    chosen = plan.read(text, name, beside, options.steps)
    runs = _part(chosen.runs(), options.part)
    path = options.out or Path("runs") / f"study-{name}"
    console = Console()
    if not options.report:
        require_possible(chosen, path)
    folder = StudyFolder.make(path, chosen, text, beside)
    if not options.report:
        slots, gpus = machine_slots(chosen, options.slots)
        console.print(f"status: {path / STATUS}", soft_wrap=True, highlight=False)
        try:
            board = Queue(folder, runs, slots, gpus, console).work()
        except KeyboardInterrupt:
            console.print("Stopped and saved. The same command goes on from here.", highlight=False)
            return 130
        for one in board.runs:
            if one.reason:
                console.print(f"{one.run.title} failed: {one.reason}", soft_wrap=True, highlight=False)
        if not ended_well(board):
            return 1
    whole = Board.look(folder)
    done = [one.run for one in whole.of(FINISHED)]
    if len(done) < len(whole.runs) and not options.report:
        console.print(f"This part is done; of the whole study {len(done)} of {len(whole.runs)} runs are.")
        return 0
    console.print(f"report: {report.write(folder, done)}", soft_wrap=True, highlight=False)
    return 0


def _part(runs: list, given: str | None) -> list:
    """Every n-th of the runs."""
    from ssr.errors import UserError

    if given is None:
        return runs
    match = re.fullmatch(r"([1-9]\d{0,3})/([1-9]\d{0,3})", given)
    number, of = map(int, match.groups()) if match else (1, 0)
    if number > of:
        raise UserError(f"--part {given}: expected k/n with k from 1 to n, e.g. 2/3.")
    return runs[number - 1 :: of]
