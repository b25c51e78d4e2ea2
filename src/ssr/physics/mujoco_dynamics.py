"""The dynamics of Table 10 written into MuJoCo's per-world model fields."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from ssr.kept import kept
from ssr.physics.simulator import Dynamics


class Drawn(NamedTuple):
    """`Dynamics` as arrays; see there."""

    base_added_mass: np.ndarray
    base_com_offset: np.ndarray
    link_mass_scale: np.ndarray
    link_com_offset: np.ndarray
    motor_strength: np.ndarray
    kp_scale: np.ndarray
    kd_scale: np.ndarray
    friction: np.ndarray

    @classmethod
    def of(cls, dynamics: Dynamics) -> Drawn:
        return cls(**{name: value.numpy() for name, value in vars(dynamics).items()})


class Bodies(NamedTuple):
    """MuJoCo's fields of the robot's model (nbody, ...), or of n worlds (n, nbody, ...)."""

    body_mass: np.ndarray
    body_inertia: np.ndarray
    body_ipos: np.ndarray


class Drives(NamedTuple):
    """What the robot's drives are, per policy joint (J,), and MuJoCo's fields of n worlds that say so."""

    actuator: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    gainprm: np.ndarray  #: (n, nu, ≥1)
    biasprm: np.ndarray  #: (n, nu, ≥3)


def change(worlds: np.ndarray, drawn: Drawn, model: Bodies, bodies: Bodies, drives: Drives) -> None:
    """Give these (m,) worlds the bodies and drives that were drawn; `model` has them as built."""
    # Plain tuples: a cache that knows a named tuple breaks when that is renamed.
    _change_bodies(worlds, tuple(drawn), tuple(model), tuple(bodies))
    _change_drives(worlds, tuple(drawn), tuple(drives))


def change_model(model: mujoco.MjModel, dynamics: Dynamics) -> None:
    """Give the one robot of `model`, still as built, the bodies that were drawn for it."""
    fields = [getattr(model, name) for name in Bodies._fields]
    built, own = [field.copy() for field in fields], [field[None] for field in fields]
    _change_bodies(np.zeros(1, dtype=np.int64), tuple(Drawn.of(dynamics)), tuple(built), tuple(own))


@kept()
def _change_bodies(worlds, drawn, model, bodies):
    """Masses, inertias (in proportion) and centres of mass; body 0 is the world, body 1 the base."""
    by, old, new = Drawn(*drawn), Bodies(*model), Bodies(*bodies)
    for k in range(len(worlds)):
        for b in range(1, len(old.body_mass)):
            i, heavier = worlds[k], np.float64(by.link_mass_scale[k, b - 1])
            if b == 1:
                heavier += by.base_added_mass[k] / old.body_mass[1]
            new.body_mass[i, b] = old.body_mass[b] * heavier
            for c in range(3):
                new.body_inertia[i, b, c] = old.body_inertia[b, c] * heavier
                new.body_ipos[i, b, c] = old.body_ipos[b, c] + by.link_com_offset[k, b - 1, c]
                if b == 1:
                    new.body_ipos[i, b, c] += by.base_com_offset[k, c]


@kept()
def _change_drives(worlds, drawn, drives):
    by, m = Drawn(*drawn), Drives(*drives)
    for k in range(len(worlds)):
        for j in range(len(m.actuator)):
            i, a, strength = worlds[k], m.actuator[j], by.motor_strength[k, j]
            m.gainprm[i, a, 0] = m.kp[j] * by.kp_scale[k, j] * strength
            m.biasprm[i, a, 1] = -m.gainprm[i, a, 0]
            m.biasprm[i, a, 2] = -m.kd[j] * by.kd_scale[k, j] * strength
