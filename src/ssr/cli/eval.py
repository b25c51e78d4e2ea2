"""`ssr eval`: how good a policy is, in the paper's measures and figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import tyro

from ssr.cli import arguments
from ssr.ranges import Seed, Within, settings
from ssr.terrain.registry import kinds_help, settings_help

DESCRIPTION = """Try a policy on 22 m strips for 20 s, by default at 1.0 m/s, randomized as in training.

    ssr eval RUN                                    the settings of Table 2, 200 trials each
    ssr eval RUN --settings table2 standard --sweep also mid-curriculum settings and Fig. 5's difficulties
    ssr eval RUN --settings open_world              nine terrains nobody trained on
    ssr eval RUN --terrain gap --setting 0.45       one strip
    ssr eval RUN --snapshots 10                     also follow support over training (Fig. 6c)
    ssr eval RUN --push 1.0 --friction 0.4          under stress; results go to a folder of their own
    ssr eval RUN --friction-rule average direct     both readings of Table 10's friction
    ssr eval RUN --terrain flat --speed 0.5 --nominal  another speed, the robot as built
    ssr eval scripted:stand                         a scripted policy: stand, fall, stepper

Writes RUN/eval/results.json and report.html. Stopped and started again, it goes on where it was."""


@settings("--")
class EvalOptions:
    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Run directory, its small checkpoint, a policy that ships (x2), or scripted:stand, fall or stepper."""
    terrain: Annotated[str, tyro.conf.arg(help=f"One kind only: {kinds_help()}")] = "all"
    settings: tuple[str, ...] = ("table2",)
    """Sets of strips: table2, standard, sweep, open_world."""
    setting: Annotated[
        str | None, tyro.conf.arg(metavar="NUMBERS", help=f"One strip instead. {settings_help()}")
    ] = None
    sweep: bool = False
    """Also every kind from easy to beyond training (Fig. 5)."""
    trials: Annotated[int, Within(1, 1_000_000)] = 200
    """Trials per strip."""
    seed: Seed = 0
    """Of all trials. Same seed, same table."""
    snapshot: Annotated[int | None, Within(0, 100_000_000)] = None
    """Evaluate the snapshot of this iteration instead of the newest weights."""
    snapshots: Annotated[int, Within(0, 10000)] = 0
    """Follow the support ratio over this many snapshots (Fig. 6c)."""
    speed: Annotated[float, Within(0.0, 1.5)] = 1.0
    """Commanded, m/s."""
    look_ahead: Annotated[float, Within(0.0, 100.0)] = 0.0
    """0: a forward command and nothing else. More: an operator aims at the strip's middle so many metres
    ahead; the report then names him."""
    friction_rule: tuple[str, ...] = ("average",)
    """How Table 10's friction is read: average (with the ground's 1.0, as trained), direct (as printed), or
    both for two tables."""
    nominal: bool = False
    """The robot as built: dynamics are not randomized."""
    directions: bool = True
    """Also walk in eight directions and turn on the spot (Fig. 7a)."""
    manner: bool = True
    """Also compare the walk with the reference motion, by a judge that never paid it."""
    sensor: bool = False
    """Stress: noise, holes and grass in the depth images."""
    push: Annotated[float | None, Within(0.0, 3.0)] = None
    """Stress: pushes of up to this many m/s."""
    friction: Annotated[float | None, Within(0.01, 2.0)] = None
    """Stress: friction between sole and ground."""
    payload: Annotated[float | None, Within(-5.0, 60.0)] = None
    """Stress: kilograms on the base."""
    freeze_depth: Annotated[float | None, Within(0.0, 3600.0)] = None
    """Stress: seconds after which the camera shows nothing new."""
    blind: bool = False
    """Stress: the camera shows nothing at all."""
    engine: str = "auto"
    """Of physics: mujoco, warp (the GPU's, here on the CPU: slower, and as a check), or the run's own."""
    stress: str = ""
    """One of those that `ssr stress --help` lists."""
    dose: Annotated[float, Within(0.0, 3600.0)] = 0.0
    """Of that stress."""
    workers: Annotated[int, Within(0, 1024)] = 0
    """Processes; 0: one per core."""
    fresh: bool = False
    """Do all trials again, even those kept from before."""
    out: Path | None = None
    """Folder for results, instead of RUN/eval."""


def run(argv: list[str]) -> int:
    options = arguments.parsed(EvalOptions, argv, prog="ssr eval", description=DESCRIPTION)
    from rich.console import Console

    from ssr.errors import UserError
    from ssr.evaluation import courses, report
    from ssr.evaluation.conditions import Conditions
    from ssr.evaluation.evaluate import Request, evaluate
    from ssr.evaluation.table import gait_table, protocol, table
    from ssr.machine import cores

    conditions = Conditions(
        seed=options.seed,
        speed=options.speed,
        look_ahead=options.look_ahead,
        nominal=options.nominal,
        sensor=options.sensor,
        push=options.push,
        friction=options.friction,
        payload=options.payload,
        freeze_depth=options.freeze_depth,
        blind=options.blind,
        engine=options.engine,
        stress=options.stress,
        dose=options.dose,
    )
    sets = tuple(dict.fromkeys((*options.settings, *(("sweep",) if options.sweep else ()))))
    rules = tuple(dict.fromkeys(options.friction_rule))
    if not rules or (len(rules) > 1 and options.out is not None):
        raise UserError("--friction-rule: expected one rule, or both without --out.")
    request = Request(
        source=options.run,
        iteration=options.snapshot,
        courses=tuple(courses.choose(sets, options.terrain, options.setting)),
        trials=options.trials,
        conditions=replace(conditions, friction_rule=rules[0]),
        snapshots=options.snapshots,
        directions=options.directions,
        manner=options.manner,
        workers=options.workers or cores(),
        fresh=options.fresh,
        folder=options.out,
    )
    console = Console()
    results = evaluate(request, console)
    readings = [
        evaluate(
            replace(
                request,
                conditions=replace(conditions, friction_rule=rule),
                snapshots=0,
                directions=False,
                manner=False,
            ),
            console,
        )
        for rule in rules[1:]
    ]
    for result in (results, *readings):
        console.print(protocol(result.conditions), highlight=False)
        console.print(table([result], request.courses))
        console.print(gait_table([result], request.courses))
    console.print(f"report: {report.write([results], readings=readings)}", soft_wrap=True, highlight=False)
    return 0
