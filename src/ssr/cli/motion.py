"""`ssr motion`: retarget recordings, build a dataset, show clips, report what there is."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table

from ssr import robots
from ssr.cli import arguments
from ssr.errors import UserError, unknown
from ssr.motion import store
from ssr.motion.clip import Clip, Column
from ssr.motion.dataset import MotionDataset
from ssr.motion.ground import Ground
from ssr.motion.quality import Quality
from ssr.motion.report import gait_table, left_out_table, quality_table, seconds_table, speed_table
from ssr.progress import Progress
from ssr.ranges import Within, settings
from ssr.robots.spec import RobotSpec
from ssr.wording import counted

if TYPE_CHECKING:
    from ssr.motion.solver import Solver


@settings("--")
class Retarget:
    """Bring one recording (.bvh, joint-position .npz, AMASS .npz) onto a robot."""

    file: Annotated[Path, tyro.conf.Positional]
    """The recording."""
    robot: str = "x2"
    """A robot's name or robot.toml."""
    out: Path | None = None
    """Motion file to write; FILE.ROBOT.npz in this folder unless given."""
    column: Column = "forward"
    """What it shows."""
    ground: Ground = "auto"
    """Ground under it; levels are stairs, steps and boxes."""
    joints: Path | None = None
    """JSON map from key points to the BVH file's joint names; CMU names need none."""
    unit: Annotated[float | None, Within(1e-6, 1000.0)] = None
    """Metres per unit of a BVH file; known for CMU names, else 1."""
    up: Literal["y", "z"] = "y"
    """Up-axis of a BVH file."""
    skip: Annotated[int | None, Within(0, 1_000_000)] = None
    """Frames to leave out at the start (CMU files: 1, a T-pose)."""
    fps: Annotated[float | None, Within(1.0, 10_000.0)] = None
    """Frame rate of a joint-position array without a boxes file."""
    body_model: Path | None = None
    """SMPL-H model.npz, which AMASS files need."""
    all: bool = False
    """Write pieces that fail the quality limits too."""


@settings("--")
class Build:
    """Make a robot's whole dataset from a folder of recordings, plus planned motion."""

    folder: Annotated[Path | None, tyro.conf.Positional] = None
    """Folder with .bvh and .npz files; clips.json in it names the kind of each. None: planned motion."""
    robot: str = "x2"
    """A robot's name or robot.toml."""
    out: Path | None = None
    """Motion file to write; motion_ROBOT.npz unless given: beside the description of a robot of your own,
    where training finds it, else in this folder."""
    planned: bool = True
    """Add the planned (synthetic) motion."""


@settings("--")
class Show:
    """Draw a clip: a film strip of the robot and its curves. Without a clip, list them."""

    clip: Annotated[str | None, tyro.conf.Positional] = None
    """The clip's name."""
    robot: str = "x2"
    """A robot's name or robot.toml."""
    file: Path | None = None
    """A motion file; the robot's own unless given."""
    picture: Path | None = None
    """PNG to write; CLIP.png in this folder unless given."""


@settings("--")
class ReportOptions:
    """Quality of every clip, seconds per terrain type (Table 11), speeds against Table 4, and gait."""

    robot: str = "x2"
    """A robot's name or robot.toml."""
    file: Path | None = None
    """A motion file; the robot's own unless given."""
    json: bool = False
    """One JSON list, a row per clip, instead of tables."""
    pictures: Path | None = None
    """Folder for a picture of every clip."""
    overview: Path | None = None
    """PNG with film strips, commanded and reference speeds, and gait against speed."""


Command = (
    Annotated[Retarget, tyro.conf.subcommand("retarget")]
    | Annotated[Build, tyro.conf.subcommand("build")]
    | Annotated[Show, tyro.conf.subcommand("show")]
    | Annotated[ReportOptions, tyro.conf.subcommand("report")]
)


def run(argv: list[str]) -> int:
    command: Command = arguments.parsed(Command, argv, prog="ssr motion")
    robot = robots.load(command.robot)
    match command:
        case Retarget():
            return _retarget(command, robot)
        case Build():
            return _build(command, robot)
        case Show():
            return _show(command, robot)
        case ReportOptions():
            return _report(command, robot)


def _progress() -> Progress:
    return Progress(Console(stderr=True))


def _solver(robot: RobotSpec) -> Solver:
    try:
        from ssr.motion.solver import Solver
    except ModuleNotFoundError as error:
        raise UserError(
            f"Retargeting needs {error.name}. Install it with: pip install 'ssr[motion]'."
        ) from None
    return Solver(robot)


def _retarget(command: Retarget, robot: RobotSpec) -> int:
    solver = _solver(robot)
    from ssr.motion import importing
    from ssr.motion.retarget import retarget

    recording = importing.load(
        command.file,
        importing.ImportSettings(
            joints=command.joints,
            unit=command.unit,
            up=command.up,
            skip=command.skip,
            fps=command.fps,
            body_model=command.body_model,
        ),
    )
    started = time.process_time()
    with _progress() as bar:
        task = bar.add_task(recording.name, total=int(recording.seconds * 50))
        clips = retarget(
            solver,
            recording,
            column=command.column,
            ground=command.ground,
            progress=lambda frame: bar.update(task, completed=frame),
        )
    _show_quality(_console(), [c.quality for c in clips])
    written = clips if command.all else [c for c in clips if c.quality.kept]
    out = command.out or Path(f"{recording.name}.{robot.name}.npz")
    if not written:
        raise UserError(f"{command.file}: nothing kept, {out} not written. --all writes it nevertheless.")
    store.save(out, written, [c.quality for c in clips if c not in written])
    pace = recording.seconds / max(time.process_time() - started, 1e-9)
    _console().print(
        f"{len(written)} of {len(clips)} clips, {sum(c.seconds for c in written):.1f} s → {out} "
        f"({pace:.1f}× real time on one core)"
    )
    return 0


def _build(command: Build, robot: RobotSpec) -> int:
    solver = _solver(robot)
    from ssr.motion.build import Parts, Source, make_parts, sources
    from ssr.motion.footsteps import Plan
    from ssr.motion.synthesis import plans

    out = command.out or (robot.folder or Path()) / store.file_name(robot)
    parts = Parts(folder=out.with_name(f"{out.stem}.parts"))
    if parts.done():
        _console().print(f"Going on after {parts.done()} parts in {parts.folder}; delete it to start over.")
    if command.folder is None and not command.planned:
        raise UserError("Nothing to build from: give a folder of recordings, or leave out --no-planned.")
    recordings = [] if command.folder is None else sources(command.folder)
    todo: list[tuple[str, Source | Plan]] = [
        (f"{source.path.parent.name}_{source.path.stem}", source) for source in recordings
    ]
    if command.planned:
        todo += [(f"planned_{plan.name}", plan) for plan in plans(solver.limbs)]
    kept: list[Clip] = []
    left_out: list[Quality] = []
    with _progress() as progress:
        task = progress.add_task(f"{counted(len(todo), 'clip')} for {robot.name}", total=len(todo))
        for _ in make_parts(solver, robot, parts, todo):
            progress.advance(task)
    for name, _ in todo:
        clips, rows = parts.get(name)
        kept += clips
        left_out += rows
    store.save(out, kept, left_out)
    parts.remove()
    _tables([c.quality for c in kept] + left_out, MotionDataset.of(robot, kept))
    _console().print(f"{len(kept)} clips → {out} ({out.stat().st_size / 1e6:.1f} MB)")
    return 0


def _show(command: Show, robot: RobotSpec) -> int:
    clips, _ = store.load(command.file or store.of(robot))
    console = Console()
    if command.clip is None:
        table = Table("clip", "column", "seconds", "made")
        for c in clips:
            table.add_row(c.name, c.column, f"{c.seconds:.1f}", "planned" if c.synthetic else "recorded")
        console.print(table)
        return 0
    found = [c for c in clips if c.name == command.clip]
    if not found:
        raise unknown("clip", command.clip, [c.name for c in clips])
    picture = command.picture or Path(f"{command.clip.replace('/', '_')}.png")
    _picture(picture, found[0], robot)
    console.print(f"{command.clip} → {picture}")
    return 0


def _picture(path: Path, clip: Clip, robot: RobotSpec) -> None:
    from ssr.motion import figure
    from ssr.motion.kinematics import Kinematics

    figure.save(path, clip, Kinematics(robot))


def _report(command: ReportOptions, robot: RobotSpec) -> int:
    clips, left_out = store.load(command.file or store.of(robot))
    rows = [c.quality for c in clips] + left_out
    if command.json:
        print(json.dumps([row.row() for row in rows], indent=1))
    else:
        _tables(rows, MotionDataset.of(robot, clips))
    if command.pictures is not None:
        with _progress() as bar:
            for clip in bar.track(clips, description="pictures"):
                _picture(command.pictures / f"{clip.name.replace('/', '_')}.png", clip, robot)
    if command.overview is not None:
        from ssr.motion import figure
        from ssr.motion.kinematics import Kinematics

        figure.overview(command.overview, MotionDataset.of(robot, clips), Kinematics(robot))
    return 0


def _console() -> Console:
    """As wide as the terminal, 80 columns where there is none."""
    return Console(highlight=False)


def _tables(rows: list[Quality], dataset: MotionDataset) -> None:
    console = _console()
    _show_quality(console, rows)
    console.print(seconds_table(dataset))
    console.print(speed_table(dataset))
    console.print(gait_table(dataset))


def _show_quality(console: Console, rows: list[Quality]) -> None:
    console.print(quality_table(rows))
    if not all(row.kept for row in rows):
        console.print(left_out_table(rows))
