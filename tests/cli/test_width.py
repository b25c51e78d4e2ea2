"""Tables fit a terminal of 80 columns, and whatever names a row stays whole."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from ssr.cli.main import main
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.results import Results
from ssr.evaluation.table import GAIT, OUTCOME, WAY, gait_table, table


@pytest.mark.parametrize(
    "words",
    [["robots"], ["robots", "x2"], ["terrain"], ["terrain", "gap", "--level", "3"], ["motion", "report"]],
)
def test_commands_fit(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(words) == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 80
    assert "…" not in said


@pytest.mark.parametrize("policies", [1, 3])
def test_results_fit_however_long_the_names(policies: int, tmp_path: Path) -> None:
    course = Course.of("stairs_down", 0.15, 0.30)
    numbers = {column.measure: 0.931 for column in (*OUTCOME, *GAIT, *WAY)}
    ends = {f"{name}{end}": 0.9 for name in numbers for end in ("_low", "_high")}
    row = {"terrain": course.kind, "setting": course.text, "trials": 200, **numbers, **ends}
    names = [f"a-run-whose-name-is-rather-long-{k}" for k in range(policies)]
    results = [
        Results(
            name=name, folder=tmp_path, digest="", conditions=Conditions(), robot="x2", policy="", rows=[row]
        )
        for name in names
    ]
    for made in (table(results), gait_table(results)):
        out = io.StringIO()
        Console(file=out, width=80).print(made)
        lines = out.getvalue().splitlines()
        assert max(map(len, lines)) <= 80 and "…" not in out.getvalue()
        assert sum("stairs down" in line for line in lines) == policies
        if policies > 1:
            assert [line.strip() for line in lines[:policies]] == [
                f"{letter}: {name}" for letter, name in zip("ABC", names, strict=True)
            ]
            assert all(f"stairs down  {letter} " in out.getvalue() for letter in "ABC")
