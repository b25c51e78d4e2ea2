"""`ssr stress`: how much of a trouble a policy survives."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from ssr.cli import arguments
from ssr.evaluation.stress.registry import KINDS
from ssr.ranges import Seed, Within, settings
from ssr.terrain.registry import kinds_help, settings_help

STRESSES = "\n".join(
    f"    {kind.name:<12} {kind.label}: {', '.join(f'{d:g}' for d in kind.doses)} {kind.unit}"
    for kind in KINDS
)
DESCRIPTION = f"""Give a policy trouble in doses: success against dose, stress by stress.

    ssr stress RUN                           all of them on stairs down 13 / 32 cm, 200 trials per dose
    ssr stress RUN --stress shove shake      only these
    ssr stress RUN --trials 20               a glance

{STRESSES}

Writes RUN/stress/stress.json and stress.html; the next report of `ssr eval` on the same weights includes
them. Stopped and started again, it goes on where it was. One dose alone: ssr eval RUN --stress NAME --dose 1.
"""


@settings("--")
class StressOptions:
    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Run directory, its small checkpoint, or scripted:stand, scripted:fall, scripted:stepper."""
    stress: tuple[str, ...] = ()
    """Only these."""
    terrain: Annotated[str, tyro.conf.arg(metavar="KIND", help=kinds_help())] = "stairs_down"
    setting: Annotated[str | None, tyro.conf.arg(metavar="NUMBERS", help=settings_help())] = None
    trials: Annotated[int, Within(1, 1_000_000)] = 200
    """Trials per dose."""
    seed: Seed = 0
    """Of all trials. Same seed, same curves."""
    snapshot: Annotated[int | None, Within(0, 100_000_000)] = None
    """The snapshot of this iteration instead of the newest weights."""
    workers: Annotated[int, Within(0, 1024)] = 0
    """Processes; 0: one per core."""
    out: Path | None = None
    """Folder for results, instead of RUN/stress."""


def run(argv: list[str]) -> int:
    options = arguments.parsed(StressOptions, argv, prog="ssr stress", description=DESCRIPTION)
    from rich.console import Console

    from ssr.evaluation import report
    from ssr.evaluation.conditions import Conditions
    from ssr.evaluation.courses import choose
    from ssr.evaluation.stress.chapter import table
    from ssr.evaluation.stress.curves import Curves, examine
    from ssr.machine import cores

    (course, *_) = choose(("standard", "open_world"), options.terrain, options.setting)
    request = Curves(
        source=options.run,
        iteration=options.snapshot,
        kinds=options.stress,
        course=course,
        trials=options.trials,
        conditions=Conditions(seed=options.seed),
        workers=options.workers or cores(),
        folder=options.out,
    )
    console = Console()
    record = examine(request, console)
    console.print(table(record))
    console.print(f"report: {report.write_stress(record, request.target)}", soft_wrap=True, highlight=False)
    return 0
