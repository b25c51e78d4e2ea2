"""`ssr compare`: the same tables and figures for several runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from ssr.cli import arguments
from ssr.ranges import settings

DESCRIPTION = """Compare runs that `ssr eval` has evaluated: methods, ablations, or one run under stress.

    ssr compare runs/ssr runs/no-foothold runs/no-symmetry
    ssr compare runs/ssr/eval runs/ssr/eval/push-1"""


@settings("--")
class CompareOptions:
    runs: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...]")]
    """Run directories, policies that ship (x2), or folders with a results.json."""
    out: Path = Path("out/compare.html")
    """Where the page goes."""


def run(argv: list[str]) -> int:
    options = arguments.parsed(CompareOptions, argv, prog="ssr compare", description=DESCRIPTION)
    from rich.console import Console

    from ssr.errors import UserError
    from ssr.evaluation import report, results
    from ssr.evaluation.table import gait_table, table
    from ssr.pretrained import home, is_name

    if not options.runs:
        raise UserError("Give at least one run, e.g. `ssr compare runs/one runs/other`.")
    folders = [home(run) if is_name(run) else Path(run) for run in options.runs]
    for run, folder in zip(options.runs, folders, strict=True):
        if is_name(run) and not (folder / results.EVAL / results.RESULTS).is_file():
            raise UserError(f"{run} has not been evaluated. First: `ssr eval {run}`.")
    found = results.named_apart([results.of(folder) for folder in folders])
    console = Console()
    console.print(table(found))
    console.print(gait_table(found))
    console.print(f"report: {report.write(found, options.out)}", soft_wrap=True, highlight=False)
    return 0
