"""`ssr robot-sim`: a simulated robot behind the topics of a real one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Annotated

import tyro

from ssr.cli import arguments
from ssr.deployment.config import require_packages
from ssr.ranges import Within, settings
from ssr.rehearsal.config import RobotProcessConfig
from ssr.terrain.registry import kinds_help, settings_help
from ssr.terrain.settings import LEVELS


@settings("--")
class RobotSimOptions:
    """A robot in MuJoCo behind the topics of a real one: joint states and IMU at 1 kHz, depth images.

    It hangs on a gantry until it has been commanded with stiffness for a while, is then let down and stands
    on its own feet. Faults can be rehearsed: --fault.kind frozen-joints --fault.after 5. --view shows it in
    the browser.
    """

    run: Path | None = None
    """A run whose task this is to be: its robot, camera and endings; without one, the paper's."""
    robot: str | None = None
    """A robot's name, or the path of your own robot.toml; by default the run's, or x2."""
    terrain: Annotated[str, tyro.conf.arg(help=kinds_help())] = "flat"
    setting: Annotated[str | None, tyro.conf.arg(help=f"Of the terrain. {settings_help()}")] = None
    level: Annotated[int | None, Within(0, LEVELS - 1)] = None
    """Of the terrain, 0 to 19, instead of a setting."""
    length: Annotated[float, Within(1.0, 1000.0)] = 22.0
    """Of the terrain, m, at least."""
    view: bool = False
    """Show it in the browser, as `ssr play` does."""
    port: Annotated[int, Within(0, 65535)] = 8080
    """Of the viewer on this machine; 0 takes any free one."""
    config: Annotated[RobotProcessConfig, tyro.conf.arg(name="")] = field(default_factory=RobotProcessConfig)


def run(argv: list[str]) -> int:
    options = arguments.parsed(RobotSimOptions, argv, prog="ssr robot-sim")
    require_packages()
    from ssr import robots
    from ssr.pretrained import exported
    from ssr.rehearsal.robot_process import RobotProcess
    from ssr.rehearsal.training import Training
    from ssr.rehearsal.trial import strip

    tile = strip(options.terrain, options.setting, options.level, options.length)
    training = Training() if options.run is None else Training.of(exported(str(options.run)))
    robot = robots.load(options.robot or training.robot)
    if not options.view:
        RobotProcess(robot, tile, options.config, training).run()
        return 0
    from ssr.viewer.spectator import Spectator

    # Whoever sees the address may stop before the robot has begun; afterwards it hears of that by itself.
    with Spectator(robot, tile, options.port) as spectator, suppress(KeyboardInterrupt):
        print(f"watch it: {spectator.url}", flush=True)
        RobotProcess(robot, tile, options.config, training, onlooker=spectator).run()
    return 0
