"""`ssr deploy`: run an exported policy on a robot."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from ssr import pretrained
from ssr.cli import arguments
from ssr.deployment.config import DeployConfig, require_packages
from ssr.ranges import settings

if TYPE_CHECKING:
    from ssr.robots.spec import RobotSpec


@settings("--")
class DeployOptions:
    """Run an exported policy on a robot, over ROS 2 topics (no ROS installation is needed).

    Without --arm nothing is sent: the controller listens, computes and records. The robot goes from idle to
    stand to walk when an operator asks for it (keyboard, or /ssr/request), and to damp on any fault.

    `ssr deploy RUN`: dry run on this machine's loopback, domain 0.

    `ssr deploy RUN --network.interface eth0 --arm`: move the robot on that network.
    """

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A run directory on which `ssr export` was run, or a policy that ships (x2)."""
    robot: str | None = None
    """A robot's name or TOML file: compare the contract with that description first (needs MuJoCo here)."""
    config: Annotated[DeployConfig, tyro.conf.arg(name="")] = field(default_factory=DeployConfig)


def run(argv: list[str]) -> int:
    options = arguments.parsed(DeployOptions, argv, prog="ssr deploy")
    require_packages()
    from ssr.deployment import exported
    from ssr.deployment.runtime import Runtime

    run = pretrained.exported(str(options.run))
    policy = exported.read(run, _described(options.robot))
    report = Runtime(policy, options.config, run).run()
    print(
        f"{report.seconds:.1f} s: {report.command_rate:.0f} commands/s ({report.skipped_commands} skipped, "
        f"{1000 * report.longest_pause:.0f} ms at most in a row), "
        f"{report.missed_actions} actions late, {report.dropped_records} records dropped"
    )
    if report.recording is not None:
        print(f"recorded: {report.recording}")
    return 0


def _described(name: str | None) -> RobotSpec | None:
    """The robot to compare with, if one is named: describing it takes packages a robot need not have."""
    if name is None:
        return None
    from ssr import robots

    return robots.load(name)
