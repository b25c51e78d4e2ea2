"""`ssr robots`: list the robots, describe one, or begin the description of a new one."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from ssr import robots
from ssr.cli import arguments
from ssr.errors import UserError
from ssr.files import write_bytes, write_text
from ssr.ranges import settings
from ssr.robots.posture import measure
from ssr.robots.spec import RobotSpec


@settings("--")
class RobotsOptions:
    """List the robots, or describe one: body, joints, sole and camera.

    `ssr robots new FILE.xml`: begin the description of your own robot, from its MJCF or URDF.

    `ssr robots example`: put an example of one into this folder.
    """

    robot: Annotated[str | None, tyro.conf.Positional] = None
    """A robot's name, or the path of a TOML file that describes your own MJCF or URDF."""


@settings("--")
class NewOptions:
    """Write a first TOML file for your own MJCF or URDF: links and joints, mirror pairs, feet by geometry.

    Lines that are guesses end in `# ?`. The file is then read as every other command would read it.
    """

    model: Annotated[Path, tyro.conf.Positional]
    """MJCF (.xml) or URDF, with x ahead and z up in the base's frame when every joint is at 0."""
    out: Path | None = None
    """TOML file to write; beside the model, with its name, unless given."""
    name: str | None = None
    """Of the robot; that of the TOML file unless given."""


def run(argv: list[str]) -> int:
    if argv[:1] == ["new"]:
        return _new(arguments.parsed(NewOptions, argv[1:], prog="ssr robots new"))
    if argv == ["example"]:
        return _example()
    options = arguments.parsed(RobotsOptions, argv, prog="ssr robots")
    console = Console()
    if options.robot is None:
        console.print(_overview())
        console.print("`ssr robots NAME` describes one; NAME may be the path of your own robot.toml.")
        console.print("`ssr robots new FILE.xml` begins such a file, `ssr robots example` shows one.")
        return 0
    robot = robots.load(options.robot)
    console.print(_body(robot))
    console.print(_joints(robot))
    console.print("pose: default angle · scale: of actions · ±: sign of the angle in the mirror")
    return 0


def _new(options: NewOptions) -> int:
    from ssr.robots.first_draft import draft
    from ssr.robots.guess import guess

    if not options.model.is_file():
        raise UserError(f"No model at {options.model}. Give an MJCF (.xml) or a URDF.")
    out = options.out or options.model.with_suffix(".toml")
    if out.suffix != ".toml":
        raise UserError(f"--out {out}: give a name that ends in .toml.")
    if out.exists():
        raise UserError(f"{out} exists. Remove it, or give another name with --out.")
    found = guess(options.model)
    write_text(out, draft(options.name or out.stem, options.model, out.parent, found))
    pairs = sum(joint.right != joint.left for joint in found.joints)
    print(f"{out}: {pairs} pairs of joints and {len(found.joints) - pairs} on the midline for the policy,")
    print(f"{len(found.locked)} locked; base {found.base}, feet {found.feet[0]} and {found.feet[1]}.")
    print("Look at (marked `# ?` in the file):")
    for doubt in found.doubts:
        print(f"  {doubt}")
    try:
        robots.load(out)
    except UserError as error:
        print(f"It cannot be used yet: {error}")
        return 0
    print(f"It can be used as it is. Next: `ssr robots {out}`.")
    return 0


def _example() -> int:
    for file in sorted((resources.files("ssr.robots") / "example").iterdir(), key=lambda file: file.name):
        if Path(file.name).exists():
            raise UserError(f"{file.name} exists in this folder. Go to another one.")
        write_bytes(Path(file.name), file.read_bytes())
        print(file.name)
    print("Next: `ssr robots example.toml`, `ssr train --preset smoke --robot example.toml`.")
    return 0


def _overview() -> Table:
    table = Table("name", "robot")
    for column in ("joints", "locked", "mass", "height", "shank"):
        table.add_column(column, justify="right")
    for name in robots.names():
        robot = robots.load(name)
        size = measure(robot)
        table.add_row(
            name,
            robot.title,
            str(len(robot.joints)),
            str(len(robot.locked_joints)),
            f"{size.mass:.1f} kg",
            f"{size.height:.2f} m",
            f"{size.shank:.3f} m",
        )
    return table


def _body(robot: RobotSpec) -> Table:
    size = measure(robot)
    x, y, z = robot.camera.position
    rows = {
        "mass": f"{size.mass:.3f} kg",
        "height, legs straight": f"{size.height:.3f} m",
        "thigh, shank": f"{size.thigh:.3f} m, {size.shank:.3f} m",
        "joints": f"{len(robot.joints)} controlled, {len(robot.locked_joints)} locked",
        "locked": ", ".join(robot.locked_joints) or "none",
        "base above soles": f"{robot.standing_height:.4f} m in the default pose",
        "base height target": f"{robot.base_height_target:.4f} m, counted from a point "
        f"{robot.base_height_offset:.4f} m above our base origin",
        "sole": f"{robot.sole.length:.3f} m × {robot.sole.width:.3f} m, "
        f"support patch {robot.sole.patch[0]:g} m × {robot.sole.patch[1]:g} m",
        "soles apart": f"{size.foot_distance:.3f} m at rest, at least {robot.min_foot_distance:g} m",
        "balance": f"centre of mass {1000 * abs(size.balance):.0f} mm "
        f"{'ahead of' if size.balance > 0 else 'behind'} the soles' centres",
        "camera": f"on {robot.base_link} at ({x:g}, {y:g}, {z:g}) m, {robot.camera.pitch:g}° down",
        "shapes": f"{len(robot.shapes)}, {sum(s.collides for s in robot.shapes)} of them touch terrain",
    }
    table = Table(show_header=False, title=robot.title, title_justify="left")
    for label, value in rows.items():
        table.add_row(label, value)
    return table


def _joints(robot: RobotSpec) -> Table:
    table = Table(title="Joints in policy order (rad, rad/s, N m)", title_justify="left", box=None)
    table.add_column("joint", no_wrap=True)
    for column in ("from", "to", "torque", "speed", "kp/kd", "scale", "pose", "±"):
        table.add_column(column, justify="right", no_wrap=True)
    for joint in robot.joints:
        table.add_row(
            joint.name,
            f"{joint.lower:.2f}",
            f"{joint.upper:.2f}",
            f"{joint.max_torque:g}",
            f"{joint.max_velocity:.1f}",
            f"{joint.kp:g}/{joint.kd:g}",
            f"{joint.action_scale:g}",
            f"{joint.default:g}",
            "+" if joint.mirror_sign > 0 else "−",
        )
    return table
