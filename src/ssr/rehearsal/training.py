"""What a run was trained with, as far as the simulated robot and its operator repeat it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ssr.learning import own_robot
from ssr.learning.run_directory import RunDirectory
from ssr.task.config import TaskConfig
from ssr.vision.camera import CameraConfig


@dataclass(frozen=True, kw_only=True)
class Training:
    task: TaskConfig = field(default_factory=TaskConfig)
    camera: CameraConfig = field(default_factory=CameraConfig)
    robot: str = "x2"  #: a name, or the file that the run carries

    @staticmethod
    def of(run: Path) -> Training:
        """As the run's own configuration says."""
        _, config = RunDirectory.open(run)
        return Training(task=config.task, camera=config.camera, robot=own_robot.robot_file(config, run))
