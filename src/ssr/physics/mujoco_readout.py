"""Reading MuJoCo's arrays into a `Readout` in one compiled pass: hundreds of small tensor operations would
cost a small batch as much as its physics."""

from __future__ import annotations

from collections.abc import Callable
from math import atan2, sqrt
from typing import NamedTuple

import mujoco
import numpy as np
import torch

from ssr.per_world import compiled, per_world, square
from ssr.physics.readout import Reading, Readout
from ssr.robots.spec import RobotSpec
from ssr.rotation.kernels import gravity, unrotate, yaw

SANE = 1e3  #: a position or velocity beyond this (m, rad, m/s, rad/s) means the world has blown up


class MujocoArrays(NamedTuple):
    """What is read: MuJoCo's arrays of n worlds, under MuJoCo's names."""

    qpos: np.ndarray
    qvel: np.ndarray
    sensordata: np.ndarray
    site_xpos: np.ndarray
    site_xmat: np.ndarray
    actuator_force: np.ndarray


class Addresses(NamedTuple):
    """Where it stands there; right before left."""

    joint_qpos: np.ndarray  #: (J,)
    joint_qvel: np.ndarray  #: (J,)
    actuator: np.ndarray  #: (J,)
    sole: np.ndarray  #: (2,) site ids
    hand: np.ndarray  #: (2,) site ids
    foot_velocity: np.ndarray  #: (2,) first sensor entry
    foot_force: np.ndarray  #: (2,)
    body_force: np.ndarray  #: (b,)


def addresses_of(model: mujoco.MjModel, robot: RobotSpec) -> Addresses:
    """Names resolved to indices, once."""
    sides = ("right", "left")
    joints = [model.joint(name) for name in robot.joint_names]
    sensors = lambda *names: np.array([int(model.sensor(name).adr[0]) for name in names])
    return Addresses(
        joint_qpos=np.array([int(j.qposadr[0]) for j in joints]),
        joint_qvel=np.array([int(j.dofadr[0]) for j in joints]),
        actuator=np.array([model.actuator(name).id for name in robot.joint_names]),
        sole=np.array([model.site(f"{side}_sole").id for side in sides]),
        hand=np.array([model.site(f"{side}_hand").id for side in sides]),
        foot_velocity=sensors(*(f"{side}_foot_velocity" for side in sides)),
        foot_force=sensors(*(f"{side}_foot_force" for side in sides)),
        body_force=sensors("base_force", "torso_force"),
    )


class MujocoReadout(Readout):
    """A readout of a batch of which `bind` gives the arrays by name."""

    def __init__(self, bind: Callable[[str], np.ndarray], addresses: Addresses, dtype: torch.dtype) -> None:
        sources = MujocoArrays(*map(bind, MujocoArrays._fields))
        worlds = len(sources.qpos)
        super().__init__(worlds, len(addresses.joint_qpos), dtype)
        self._everywhere = np.arange(worlds)
        self._arguments = (sources, addresses, self.table, self.reading)

    def renew(self, worlds: np.ndarray | None = None) -> Reading:
        """`reading`, brought up to date for the (m,) `worlds`, by default all of them.

        A world that has blown up reads as zeros, upright.
        """
        read(self._everywhere if worlds is None else worlds, *self._arguments)
        return self.reading


@compiled
def _sane(values):
    sane = bool(True)
    for j in range(values.shape[0]):
        sane = sane and abs(values[j]) < SANE  # which a NaN is not
    return sane


@compiled
def _put(row, x, y, z):
    row[0] = x
    row[1] = y
    row[2] = z


@per_world(MujocoArrays, Addresses, None, Reading)
def read(given, at, table, out, i, k):
    """Everything that is read of a world, into `table` (n, C) of which `out` is a view."""
    p, v, q, sensor = given.qpos[i], given.qvel[i], given.qpos[i, 3:7], given.sensordata[i]
    out.finite[i] = _sane(p) and _sane(v)
    if not out.finite[i]:
        for j in range(table.shape[1]):
            table[i, j] = 0.0
        out.base_quaternion[i, 0] = 1.0
        out.gravity[i, 2] = -1.0
    else:
        x, y, z = gravity(q)
        _put(out.gravity[i], x, y, z)
        x, y, z = unrotate(q, v[0], v[1], v[2])
        _put(out.local_velocity[i], x, y, z)
        for c in range(3):
            out.base_position[i, c] = p[c]
            out.base_velocity[i, c] = v[c]
            out.base_angular_velocity[i, c] = v[3 + c]
        for c in range(4):
            out.base_quaternion[i, c] = q[c]
        out.yaw[i] = yaw(q)
        for j in range(at.joint_qpos.shape[0]):
            out.joint_position[i, j] = p[at.joint_qpos[j]]
            out.joint_velocity[i, j] = v[at.joint_qvel[j]]
            out.applied_torque[i, j] = given.actuator_force[i, at.actuator[j]]
        for s in range(2):
            foot, arm = given.site_xpos[i, at.sole[s]], given.site_xpos[i, at.hand[s]]
            moved = at.foot_velocity[s]
            push = at.foot_force[s]
            x, y, z = unrotate(q, sensor[moved], sensor[moved + 1], sensor[moved + 2])
            _put(out.local_foot_velocity[i, s], x, y, z)
            x, y, z = unrotate(q, arm[0] - p[0], arm[1] - p[1], arm[2] - p[2])
            _put(out.local_hand_position[i, s], x, y, z)
            x, y, z = unrotate(q, foot[0] - p[0], foot[1] - p[1], foot[2] - p[2])
            _put(out.local_sole_position[i, s], x, y, z)
            for c in range(3):
                out.sole_position[i, s, c] = foot[c]
                out.hand_position[i, s, c] = arm[c]
                out.foot_velocity[i, s, c] = sensor[moved + c]
                out.foot_force[i, s, c] = -sensor[push + c]  # the sensor gives the foot's force on the ground
            out.sole_yaw[i, s] = atan2(given.site_xmat[i, at.sole[s], 3], given.site_xmat[i, at.sole[s], 0])
        largest = float(0.0)
        for j in range(at.body_force.shape[0]):
            b = at.body_force[j]
            force = square(sensor[b]) + square(sensor[b + 1]) + square(sensor[b + 2])
            largest = max(largest, sqrt(force))
        out.body_force[i] = largest
