"""`ssr play`: watch and steer a policy in the browser."""

from __future__ import annotations

from typing import Annotated

import tyro

from ssr.cli import arguments
from ssr.pretrained import DEFAULT
from ssr.ranges import Seed, Within, settings
from ssr.terrain.registry import kinds_help
from ssr.terrain.settings import LEVELS

DESCRIPTION = """Watch a policy walk, in the browser, and steer it.

ssr play  – the policy that ships, on an open course

ssr play RUN  – one of your own

ssr play RUN --terrain stairs_up --level 8  – others can be chosen in the browser

ssr play RUN --host 0.0.0.0 --port 8090  – for browsers on other machines

Keys, after a click into the scene: I K faster and slower, J L turn, U O sidestep, X stop, P pause,
R restart, F push.

Discs on the ground: where the feet in the air are expected to land, right orange and left
blue, two standard deviations wide. Footprints: green where well supported, else red. Ctrl-C stops."""


@settings("--")
class PlayOptions:
    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")] = DEFAULT
    """Run directory, its small checkpoint, a policy that ships (x2), or scripted:stand, fall or stepper."""
    terrain: Annotated[
        str, tyro.conf.arg(metavar="KIND", help=f"course (everything in turn), {kinds_help()}")
    ] = "course"
    level: Annotated[int, Within(0, LEVELS - 1)] = 8
    """Difficulty 0 to 19; of a course, the hardest."""
    speed: Annotated[float, Within(-5.0, 5.0)] = 0.5
    """Forward speed asked for at first, m/s."""
    randomize: bool = False
    """Draw dynamics, delays and pushes as in training instead of the nominal robot."""
    snapshot: Annotated[int | None, Within(0, 100_000_000)] = None
    """The snapshot of this iteration instead of the newest weights."""
    seed: Seed = 0
    """Of tiles and starts."""
    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 lets other machines in."""
    port: Annotated[int, Within(0, 65535)] = 8080
    """0 takes any free one."""


def run(argv: list[str]) -> int:
    options = arguments.parsed(PlayOptions, argv, prog="ssr play", description=DESCRIPTION)
    import threading

    import torch
    from rich.console import Console

    from ssr.compiling import compiling
    from ssr.errors import UserError
    from ssr.evaluation import subject
    from ssr.evaluation.steering import Measurement
    from ssr.progress import Progress
    from ssr.viewer.ground import Ground
    from ssr.viewer.panel import spans
    from ssr.viewer.player import Player, open_server
    from ssr.viewer.world import PlayWorld

    ground = Ground.of(options.terrain, options.level)
    played = subject.load(options.run, options.snapshot)
    _, unit, low, high, _ = spans(played.task.commands)[0]
    if not low <= options.speed <= high:
        raise UserError(f"--speed {options.speed:g}: expected {low:g} to {high:g} {unit}.")
    torch.set_num_threads(1)  # one robot is too little work to share
    server = open_server(options.host, options.port)
    try:
        with Progress(Console(stderr=True)) as progress, compiling(progress):
            world = PlayWorld(played, ground, randomized=options.randomize, seed=options.seed)
            world.step()  # or whoever opens the page first would wait for it
        told = Measurement(options.run, played, options.snapshot)
        player = Player(server, world, lambda: subject.load(options.run), (options.speed, 0.0, 0.0), told)
        shown = "localhost" if options.host in ("0.0.0.0", "::") else options.host
        print(
            f"{played.name} on {ground.title}: http://{shown}:{server.get_port()} – Ctrl-C stops", flush=True
        )
        player.run(threading.Event())
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()
    return 0
