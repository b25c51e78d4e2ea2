"""`ssr film`: a film and a film strip of a policy on a terrain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from ssr.cli import arguments
from ssr.ranges import Seed, Within, settings
from ssr.terrain.registry import kinds_help, settings_help

DESCRIPTION = """Film a policy: an onlooker and the robot's eye side by side, as mp4 and as a strip (png).

    ssr film RUN --terrain stairs_down --level 10
    ssr film RUN --terrain gap --setting 0.45 --trial 17   trial 17 of `ssr eval`, step by step the same

Discs on the ground: footholds that were well (green) or badly (red) supported; where the feet in the air are
expected to land, right orange and left blue, as wide as the uncertainty."""


@settings("--")
class FilmOptions:
    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Run directory, its small checkpoint, a policy that ships (x2), or scripted:stand, fall or stepper."""
    terrain: Annotated[str, tyro.conf.arg(metavar="KIND", help=kinds_help())] = "stairs_down"
    level: Annotated[str | None, tyro.conf.arg(metavar="INT")] = None
    """Difficulty 0 to 19; 10 unless a setting is given."""
    setting: Annotated[
        str | None, tyro.conf.arg(metavar="NUMBERS", help=f"Instead of a level. {settings_help()}")
    ] = None
    seconds: Annotated[float, Within(0.02, 3600.0)] = 20.0
    """Length of the trial."""
    trial: Annotated[int, Within(0, 1_000_000)] = 0
    """Which trial of the evaluation."""
    seed: Seed = 0
    """Of the evaluation."""
    snapshot: Annotated[int | None, Within(0, 100_000_000)] = None
    """The snapshot of this iteration instead of the newest weights."""
    fine: bool = False
    """With shadows and smooth edges, as the strip has them: takes several times as long."""
    out: Path | None = None
    """Folder for film and strip, instead of RUN/films."""


def run(argv: list[str]) -> int:
    options = arguments.parsed(FilmOptions, argv, prog="ssr film", description=DESCRIPTION)
    import torch
    from rich.console import Console

    from ssr.compiling import compiling
    from ssr.evaluation import film, subject
    from ssr.evaluation.conditions import Conditions
    from ssr.evaluation.courses import at_level_or_setting
    from ssr.progress import Progress

    course = at_level_or_setting(options.terrain, options.level, options.setting)
    console = Console()
    filmed = subject.load(options.run, options.snapshot)
    conditions = Conditions(seed=options.seed, seconds=options.seconds)
    torch.set_num_threads(1)  # as evaluation does: products must round alike
    with Progress(console) as progress:
        steps = filmed.task.control_steps(options.seconds)
        line = progress.add_task(f"{filmed.name} on {course.title}", total=steps)
        with compiling(progress):
            take = film.record(
                filmed, course, conditions, options.trial, heard=lambda: progress.advance(line)
            )
        progress.update(line, total=len(take.qpos))
        folder = options.out or subject.home(options.run) / "films"
        line = progress.add_task("drawing", total=-(-len(take.qpos) // film.EVERY))
        name = f"{course.key}-{options.trial:03d}"
        made = film.save(take, folder, name, lambda: progress.advance(line), fine=options.fine)
    for path in made:
        console.print(str(path), soft_wrap=True, highlight=False)
    return 0
