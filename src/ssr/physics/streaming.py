"""One world whose ground is laid anew under a robot that walks on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from ssr.errors import UserError
from ssr.physics.mujoco_engine import MujocoSimulator
from ssr.physics.simulator import Simulator

WORLD = torch.tensor([0])


class StreamedWorld:
    """The only world of a simulator, in double precision and in the world's own frame."""

    def __init__(self, simulator: Simulator) -> None:
        if not isinstance(simulator, MujocoSimulator):
            raise UserError("Ground is streamed in the mujoco engine only.")
        self._simulator = simulator

    @property
    def pose(self) -> np.ndarray:
        """(nq,) position and quaternion of the base, then all joints."""
        return np.array(self._simulator.qpos[0])

    @property
    def position(self) -> np.ndarray:
        """(3,) of the base, m."""
        return self.pose[:3]

    def shift(self, by: np.ndarray) -> None:
        """Begin the frame (3,) m further on; what is read of the robot is right after its next step."""
        self._simulator.qpos[0, :3] -= by

    def lay(self, place: Callable[[], None]) -> None:
        """Let `place` put other ground under the robot, which stays exactly as it is."""
        kept = self._simulator.snapshot(WORLD)
        place()
        # MuJoCo works out where fixed shapes are only when constants are set; that must not touch the robot.
        self._simulator.batch.set_const(WORLD.numpy())
        self._simulator.restore(kept, WORLD)
