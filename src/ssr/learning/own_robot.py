"""A run carries what is not in the package: the robot it was made with, and that robot's motion.

`robot.json` and `motion_NAME.npz` lie in the run's directory, so that whoever has it needs nothing else. A
run keeps them: what changes in the files they were made from counts for new runs.
"""

from __future__ import annotations

from pathlib import Path

from ssr import robots
from ssr.errors import UserError
from ssr.files import write_bytes
from ssr.learning import registry
from ssr.learning.config import TrainConfig
from ssr.motion import store
from ssr.motion.dataset import MotionDataset
from ssr.robots import carried
from ssr.robots.spec import RobotSpec

ROBOT = "robot.json"
DEEPER = ("stages", "snapshots")  #: folders of a run that hold weights


def robot_file(config: TrainConfig, run: Path | None = None) -> str:
    """What `robots.load` takes: the robot that `run` carries, else the one its configuration names."""
    return config.robot if run is None or not carries(run) else str(run / ROBOT)


def robot_of(config: TrainConfig, run: Path | None = None) -> RobotSpec:
    return robots.load(robot_file(config, run))


def carries(run: Path) -> bool:
    return (run / ROBOT).is_file()


def home(path: Path) -> Path:
    """The run that a file of weights belongs to; a directory is one itself."""
    if path.is_dir():
        return path
    folder = path.resolve().parent
    return folder.parent if folder.name in DEEPER else folder


def check(config: TrainConfig, motion: Path | None = None, run: Path | None = None) -> None:
    """Refuse a robot, or a motion for it, that cannot be learned from.

    motion: a file instead of the robot's own; run: the one it goes on with, if it does.
    """
    robot = robot_of(config, run)
    file = motion or store.of(robot)
    judged = "discriminators" in registry.method(config.algorithm).NETWORKS and not config.ablation.no_style
    if motion is not None or (judged and not file.is_file()):
        _require(file, robot, config)
    if file.is_file() and file != store.shipped(robot):
        MotionDataset.load(robot, path=file, mirror=False)


def _require(file: Path, robot: RobotSpec, config: TrainConfig) -> None:
    if not file.is_file():
        raise UserError(
            f"{robot.title} has no reference motion: {file} does not exist. Build it with `ssr motion build "
            f"FOLDER --robot {config.robot}`, give --motion FILE, or learn without it: --ablation.no-style."
        )


def carry(run: Path, config: TrainConfig, motion: Path | None = None) -> None:
    """Put into a new `run` what is not in the package."""
    if config.robot in robots.names() and motion is None:
        (run / ROBOT).unlink(missing_ok=True)  # of an earlier try that never began
        return
    robot = robots.load(config.robot)
    file = motion or store.of(robot)
    if file.is_file():
        write_bytes(run / store.file_name(robot), file.read_bytes())
    carried.write(run / ROBOT, robots.anatomy(config.robot))
