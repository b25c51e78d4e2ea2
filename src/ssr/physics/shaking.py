"""Ground that shakes, as whoever stands on it feels it: by inertia, in the ground's own frame."""

from __future__ import annotations

import numpy as np

from ssr.errors import UserError
from ssr.physics.mujoco_engine import MujocoSimulator
from ssr.physics.simulator import Simulator


def shake(simulator: Simulator, acceleration: np.ndarray, turning: float) -> None:
    """Until it is told otherwise the ground of all worlds accelerates by (2,) m/s² and, about the vertical
    through each base, by `turning` rad/s².

    Every body of mass m and inertia I feels −m a at its centre of mass, a being the ground's acceleration
    there, and −I α. What grows with the ground's speed of turning (Coriolis, centrifugal) is left out: it
    turns to and fro, and slowly.
    """
    if not isinstance(simulator, MujocoSimulator):
        raise UserError("Ground shakes in the mujoco engine only.")
    mass, middle = simulator.batch.expand("body_mass"), simulator.batch.bind("xipos")
    inertia, axes = simulator.batch.expand("body_inertia"), simulator.batch.bind("ximat")
    force = simulator.batch.bind("xfrc_applied")
    away = middle[:, :, :2] - simulator.qpos[:, None, :2]
    force[:, :, 0] = -mass * (acceleration[0] - turning * away[:, :, 1])
    force[:, :, 1] = -mass * (acceleration[1] + turning * away[:, :, 0])
    turn = axes.reshape(*mass.shape, 3, 3)
    force[:, :, 3:] = -turning * np.einsum("nbik,nbk,nbk->nbi", turn, inertia, turn[:, :, 2])
