"""`ssr course`: a walk of 1.3 km over mixed terrain, and what happened where."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from ssr.cli import arguments
from ssr.ranges import Seed, Within, settings

DESCRIPTION = """Walk a long route in one go: stairs, platforms, rough ground, grassy slopes, gaps, turns.

    ssr course RUN                       1.3 km of seed 0
    ssr course RUN --seeds 10            ten routes, seeds 0 to 9, over all cores
    ssr course RUN --film 250 600        also films of the places 250 m and 600 m on the way
    ssr course RUN --length 100          a glance

An operator gives speed and heading along the way and nothing else. Writes RUN/course/course.html with the
maps, and for each seed a folder with walk.json and strip.png. Stopped and started again, it goes on where it
was."""


@settings("--")
class CourseOptions:
    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Run directory, its small checkpoint, or scripted:stand, scripted:fall, scripted:stepper."""
    length: Annotated[float, Within(10.0, 10_000.0)] = 1300.0
    """Of a route, m."""
    seed: Seed = 0
    """Of the first route."""
    seeds: Annotated[int, Within(1, 1000)] = 1
    """How many routes."""
    speed: Annotated[float, Within(0.1, 1.5)] = 0.8
    """Asked for, m/s."""
    film: Annotated[tuple[float, ...], Within(0.0, 10_000.0)] = ()
    """Metres on the way of the first route, where films are made."""
    strip: bool = True
    """A strip of pictures of each walk."""
    snapshot: Annotated[int | None, Within(0, 100_000_000)] = None
    """The snapshot of this iteration instead of the newest weights."""
    workers: Annotated[int, Within(0, 1024)] = 0
    """Processes; 0: one per core."""
    out: Path | None = None
    """Folder for results, instead of RUN/course."""


def run(argv: list[str]) -> int:
    options = arguments.parsed(CourseOptions, argv, prog="ssr course", description=DESCRIPTION)
    from rich.console import Console

    from ssr.errors import UserError
    from ssr.evaluation import report, subject
    from ssr.evaluation.hike import page, pictures
    from ssr.evaluation.hike.log import HikeLog
    from ssr.evaluation.hike.walk import Hike, folder_of
    from ssr.evaluation.workers import work
    from ssr.machine import cores
    from ssr.pictures.offscreen import working_backend
    from ssr.progress import Progress, doing

    for metres in options.film:
        if metres > options.length:
            raise UserError(f"--film {metres:g} m: the route has {options.length:g} m.")
    console = Console()
    walker = subject.load(options.run, options.snapshot)
    base = options.out or subject.home(options.run) / "course"
    hikes = [
        Hike(
            source=options.run,
            iteration=options.snapshot,
            folder=base,
            seed=seed,
            length=options.length,
            speed=options.speed,
        )
        for seed in range(options.seed, options.seed + options.seeds)
    ]
    logs: dict[int, HikeLog] = {}
    with Progress(console, "m") as progress:
        line = progress.add_task("walking", total=options.length * len(hikes))

        def receive(hike: Hike, log: HikeLog) -> None:
            logs[hike.seed] = log
            progress.update(line, description=f"seed {hike.seed}: {log.first_fall:.0f} m to the first fall")

        try:
            work(hikes, options.workers or cores(), lambda metres: progress.advance(line, metres), receive)
        except KeyboardInterrupt:
            console.print("Stopped. The same command goes on from the last 50 m.")
            raise
    walked = [logs[hike.seed] for hike in hikes]
    console.print(page.table(walked))
    strips = []
    if options.strip and working_backend() is not None:
        for log in walked:
            with doing(console, f"pictures of seed {log.seed}"):
                strips.append(pictures.save_strip(walker, log, folder_of(base, log.seed)))
    for metres in options.film:
        with doing(console, f"film at {metres:g} m"):
            film, _ = pictures.save_film(walker, walked[0], folder_of(base, options.seed), metres)
        console.print(f"film: {film}", soft_wrap=True, highlight=False)
    written = report.write_course(walker.name, walked, base, strips[0] if strips else None)
    console.print(f"report: {written}", soft_wrap=True, highlight=False)
    return 0
