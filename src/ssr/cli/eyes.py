"""`ssr eyes`: what a policy sees, and whether its feet follow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from ssr.cli import arguments
from ssr.ranges import Seed, Within, settings

DESCRIPTION = """Examine a policy's eyes on strips of the middle of the curriculum, randomized as in training.

Edges: does the height map that it decodes from its memory show treads, gaps and blocks, or only a ramp?
Phantoms: the camera is shown the obstacles moved by shares of a tread, the ground stays as it is. Do the feet
follow the eyes, and who falls? Cameras: success and footholds with the camera open, frozen and blind.

    ssr eyes RUN                            40 trials on every strip with every camera
    ssr eyes RUN --trials 10 --seconds 10   a glance: two minutes of one core

Writes RUN/eyes/eyes.json and eyes.html; the next report of `ssr eval` on the same weights includes them."""


@settings("--")
class Options:
    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Run directory, its small checkpoint, or a policy that ships (x2)."""
    terrain: str = "all"
    """One kind only: flat, slope, stairs_up, stairs_down, discrete, gap or platform."""
    trials: Annotated[int, Within(1, 1_000_000)] = 40
    """Trials per look: on one strip with one camera, or with one shift of what it shows."""
    seconds: Annotated[float, Within(0.02, 3600.0)] = 20.0
    """Length of a trial."""
    seed: Seed = 0
    """Of all trials. Same seed and number of trials, same table."""
    snapshot: Annotated[int | None, Within(0, 100_000_000)] = None
    """Examine the snapshot of this iteration instead of the newest weights."""
    workers: Annotated[int, Within(0, 1024)] = 0
    """Processes; 0: one per core."""
    out: Path | None = None
    """Folder for results, instead of RUN/eyes."""


def run(argv: list[str]) -> int:
    options = arguments.parsed(Options, argv, prog="ssr eyes", description=DESCRIPTION)
    from rich.console import Console

    from ssr.evaluation import courses, report
    from ssr.evaluation.conditions import Conditions
    from ssr.evaluation.eyes.examine import Examination, examine
    from ssr.evaluation.eyes.table import table
    from ssr.machine import cores

    request = Examination(
        source=options.run,
        iteration=options.snapshot,
        courses=tuple(courses.choose(("standard",), options.terrain, None)),
        trials=options.trials,
        conditions=Conditions(seed=options.seed, seconds=options.seconds),
        workers=options.workers or cores(),
        folder=options.out,
    )
    console = Console()
    eyes = examine(request, console)
    console.print(table(eyes))
    console.print(f"report: {report.write_eyes(eyes, request.target)}", soft_wrap=True, highlight=False)
    return 0
