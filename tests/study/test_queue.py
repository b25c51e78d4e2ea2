"""The queue, with stand-ins for what trains: everything is done, whatever ends the processes."""

from __future__ import annotations

import sys
from io import StringIO

import pytest
from rich.console import Console

from ssr.study import queue
from ssr.study.board import FAILED, FINISHED, Board
from ssr.study.folder import STATUS, StudyFolder
from ssr.study.plan import PlannedRun
from ssr.study.queue import Queue

FINISH = "(folder / 'done' / f'{name}.json').write_text('{\"seconds\": 2, \"evaluation_seconds\": 1}')"
ONCE = "mark = folder / f'{name}.tried'; first = not mark.exists(); mark.write_text('')"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "POLL", 0.02)


def worked(study: StudyFolder, *lines: str, runs: list[PlannedRun] | None = None) -> tuple[Board, str]:
    """What became of a queue whose jobs run these lines."""
    begin = ("import os, pathlib, sys, time", "folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]")
    program = "\n".join((*begin, *lines))
    console = Console(file=StringIO(), width=200)
    command = lambda folder, run, *rest: [sys.executable, "-I", "-c", program, str(folder.path), run.name]
    board = Queue(study, runs or study.plan.runs(), 2, 0, console, command).work()
    return board, console.file.getvalue()


def test_everything_is_done_and_the_page_says_so(study: StudyFolder) -> None:
    board, _ = worked(study, FINISH)
    assert len(board.of(FINISHED)) == 4 and queue.ended_well(board)
    page = (study.path / STATUS).read_text()
    assert "4 of 4 runs done" in page and "PIM, seed 2" in page and "refresh" not in page


def test_a_run_that_is_killed_goes_on(study: StudyFolder) -> None:
    board, said = worked(study, ONCE, "if first: os.kill(os.getpid(), 9)", FINISH)
    assert len(board.of(FINISHED)) == 4
    assert said.count("was ended by signal 9; it goes on") == 4


def test_what_is_refused_is_told_in_its_own_words_and_the_others_are_done(study: StudyFolder) -> None:
    refuse = "if name == 'pim-1': print('ssr study: no disk left'); sys.exit(2)"
    board, said = worked(study, refuse, FINISH)
    assert len(board.of(FINISHED)) == 3 and [one.reason for one in board.of(FAILED)] == ["no disk left"]
    assert "PIM, seed 1 failed: no disk left" in said and not queue.ended_well(board)
    assert "no disk left" in (study.path / STATUS).read_text()
    board, _ = worked(study, FINISH)
    assert queue.ended_well(board), "asked again, it is tried again"


def test_a_run_that_never_gets_any_further_is_given_up(study: StudyFolder) -> None:
    count = "mark = folder / 'tries'; mark.write_text((mark.read_text() if mark.exists() else '') + 'x')"
    board, said = worked(study, count, "print('boom'); sys.exit(1)", runs=study.plan.runs()[:1])
    assert [one.reason for one in board.of(FAILED)] == ["boom"] and "given up" in said
    assert (study.path / "tries").read_text() == queue.TRIES * "x"


def test_progress_is_read_from_the_directory_alone(study: StudyFolder) -> None:
    run = study.plan.runs()[0]
    path = study.path / run.name
    path.mkdir()
    row = '{"iteration": 2, "total_steps": 960, "steps_per_second": 100.0, "tracking": 0.5}'
    (path / "metrics.jsonl").write_text(f'{row}\n{{"iteration": 3, "tot')  # cut off by a kill
    study.finish(study.plan.runs()[1], {"host": "a", "seconds": 20.0, "evaluation_seconds": 5.0})
    board = Board.look(study)
    one, *others = board.runs
    assert one.steps == 960 and board.share(one) == pytest.approx(0.75 * 0.5)
    assert board.seconds_left(one) == pytest.approx(960 / 100 + 5.0)
    assert board.seconds_left(others[0]) == 0.0
    rest = 2 * (1920 / 100 + 5.0)
    assert board.all_seconds_left(1) == pytest.approx(960 / 100 + 5.0 + rest)
    assert board.all_seconds_left(100) == pytest.approx(1920 / 100 + 5.0), "the longest one"
