"""`ssr sim2sim`: an exported policy on the simulated robot."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.progress import track
from rich.table import Table

from ssr.cli import arguments
from ssr.deployment.config import MAX_DOMAIN, require_packages
from ssr.errors import UserError
from ssr.ranges import Seed, Within, settings
from ssr.rehearsal.config import TrialConfig
from ssr.terrain.registry import kinds_help, settings_help
from ssr.terrain.settings import LEVELS


@settings("--")
class Sim2simOptions:
    """Run an exported policy on the simulated robot and report success per terrain.

    By default as on a robot: `ssr robot-sim` and `ssr deploy` as two processes, by the wall clock. With
    --lockstep in one process, step by step: repeatable, and as fast as the machine allows.

        ssr sim2sim RUN                                          three times 20 s on flat ground
        ssr sim2sim RUN --terrain stairs_up --level 3 --trials 100 --lockstep --randomize
                                                                 as `ssr eval` does
    """

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A run directory on which `ssr export` was run, or a policy that ships (x2)."""
    robot: str | None = None
    """Another description of the robot than the run's own."""
    terrain: Annotated[tuple[str, ...], tyro.conf.arg(help=f"One or more of {kinds_help()}")] = ("flat",)
    setting: Annotated[str | None, tyro.conf.arg(help=f"Of the terrain. {settings_help()}")] = None
    level: Annotated[int | None, Within(0, LEVELS - 1)] = None
    """Of the terrain, 0 to 19, instead of a setting."""
    trials: Annotated[int, Within(1, 1_000_000)] = 3
    seed: Seed = 0
    lockstep: bool = False
    """Step by step in one process instead of by the wall clock in two."""
    randomize: bool = False
    """With --lockstep: masses, motors, friction, delays, pushes, noise and mounting drawn as in training."""
    domain: Annotated[int, Within(0, MAX_DOMAIN)] = 87
    """DDS domain of the two processes."""
    config: Annotated[TrialConfig, tyro.conf.arg(name="")] = field(default_factory=TrialConfig)


def run(argv: list[str]) -> int:
    options = arguments.parsed(Sim2simOptions, argv, prog="ssr sim2sim")
    require_packages()
    from ssr import pretrained, robots
    from ssr.deployment import exported
    from ssr.rehearsal import lockstep, sim2sim
    from ssr.rehearsal.training import Training
    from ssr.rehearsal.trial import length_for, rate, strip

    run = pretrained.exported(str(options.run))
    policy, training = exported.read(run), Training.of(run)
    name = options.robot or training.robot
    robot = robots.load(name)
    exported.check_robot(policy.contract, robot)
    if options.randomize and not options.lockstep:
        raise UserError("--randomize goes with --lockstep.")
    length = length_for(options.config)
    tiles = [strip(kind, options.setting, options.level, length) for kind in options.terrain]
    console = Console()
    table = Table("terrain", "setting", "trials", "success", "traversal", "distance", "endings")
    for kind, tile in zip(options.terrain, tiles, strict=True):
        site = sim2sim.Site(run=run, robot=name, terrain=kind, setting=options.setting, level=options.level)
        outcomes = []
        for seed in track(range(options.seed, options.seed + options.trials), kind, console=console):
            if options.lockstep:
                outcomes.append(
                    lockstep.run_trial(
                        policy,
                        training,
                        robot,
                        tile,
                        options.config,
                        seed=seed,
                        randomize=options.randomize,
                    )
                )
            else:
                outcomes.append(sim2sim.run_trial(site, options.config, domain=options.domain, seed=seed))
        setting = "/".join(f"{value:g}" for value in tile.setting) or "–"
        mean = sum(o.distance for o in outcomes) / max(len(outcomes), 1)
        endings = Counter(o.ending for o in outcomes)
        table.add_row(
            kind, setting, str(len(outcomes)), rate(outcomes, "success"), rate(outcomes, "traversed"),
            f"{mean:.1f} m", ", ".join(f"{text} {count}×" for text, count in endings.items()),
        )  # fmt: skip
    console.print(table)
    c = options.config
    console.print(f"{c.seconds:g} s at {c.speed:g} m/s each; brackets: 95 % intervals")
    return 0
