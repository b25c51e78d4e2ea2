"""Long work says how far it is, on a terminal and in a file."""

from __future__ import annotations

import io

from numba import njit
from rich.console import Console

from ssr.compiling import compile_clock, compiling
from ssr.progress import Progress, doing
from ssr.wording import counted


def test_where_there_is_no_terminal_it_says_lines() -> None:
    out = io.StringIO()
    with Progress(Console(file=out, width=80), every=0.0) as progress:
        task = progress.add_task("drawing", total=4)
        for _ in range(4):
            progress.advance(task)
    lines = out.getvalue().splitlines()
    assert lines[0] == "drawing …"
    assert [line.split(",")[0] for line in lines[1:]] == ["drawing: 25 %", "drawing: 50 %", "drawing: 75 %"]


def test_on_a_terminal_it_is_a_bar_with_the_rate() -> None:
    out = io.StringIO()
    with Progress(Console(file=out, width=80, force_terminal=True), "steps") as progress:
        progress.advance(progress.add_task("drawing", total=2), 2)
    assert "100 %" in out.getvalue() and "drawing …" not in out.getvalue()


def test_work_of_unknown_length_is_named_once() -> None:
    out = io.StringIO()
    with doing(Console(file=out), "walking in eight directions"):
        pass
    assert out.getvalue() == "walking in eight directions …\n"


def test_compiling_is_a_task_of_its_own_and_only_if_something_is_compiled() -> None:
    def kernel(x: float) -> float:
        return x + 1.0

    kernel.__module__ = "ssr.made_up"
    compiled = njit(kernel)
    for expected in ("compiling, once on this machine …\n", ""):
        out = io.StringIO()
        with Progress(Console(file=out)) as progress, compiling(progress):
            assert compiled(1.0) == 2.0
        assert out.getvalue() == expected
        assert all(task.finished for task in progress.tasks)


def test_what_compiling_took_is_told_once() -> None:
    kernel = njit(lambda x: x + 1.0)
    with compile_clock() as since:
        assert since() == 0.0
        kernel(1.0)
        assert since() > 0.0
        kernel(2.0)
        assert since() == 0.0


def test_one_is_singular() -> None:
    assert counted(1, "trial") == "1 trial" and counted(2000, "trial") == "2,000 trials"
