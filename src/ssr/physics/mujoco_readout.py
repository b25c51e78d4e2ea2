"""Reading MuJoCo's arrays into a `Readout` in one compiled pass: hundreds of small tensor operations would
cost a small batch as much as its physics."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import mujoco
import numpy as np
import torch
from numba import njit

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
        # Plain tuples: a cache that knows a named tuple breaks when that is renamed.
        self._arguments = (tuple(sources), tuple(addresses), self.table, tuple(self.reading))

    def renew(self, worlds: np.ndarray | None = None) -> Reading:
        """`reading`, brought up to date for the (m,) `worlds`, by default all of them.

        A world that has blown up reads as zeros, upright.
        """
        _read(self._everywhere if worlds is None else worlds, *self._arguments)
        return self.reading


@njit(cache=True, nogil=True)
def _sane(values: np.ndarray) -> bool:
    sane = True
    for value in values:
        sane &= abs(value) < SANE  # which a NaN is not
    return sane


@njit(cache=True, nogil=True, error_model="numpy")
def _read(worlds, sources, addresses, table, outputs):
    given, at, out = MujocoArrays(*sources), Addresses(*addresses), Reading(*outputs)
    for i in worlds:
        p, v, q, sensor = given.qpos[i], given.qvel[i], given.qpos[i, 3:7], given.sensordata[i]
        out.finite[i] = _sane(p) and _sane(v)
        if not out.finite[i]:
            table[i] = 0.0
            out.base_quaternion[i, 0] = 1.0
            out.gravity[i, 2] = -1.0
            continue
        out.base_position[i] = p[0:3]
        out.base_quaternion[i] = q
        out.base_velocity[i] = v[0:3]
        out.base_angular_velocity[i] = v[3:6]
        out.yaw[i] = yaw(q)
        out.gravity[i] = gravity(q)
        out.local_velocity[i] = unrotate(q, v[0], v[1], v[2])
        for j in range(len(at.joint_qpos)):
            out.joint_position[i, j] = p[at.joint_qpos[j]]
            out.joint_velocity[i, j] = v[at.joint_qvel[j]]
            out.applied_torque[i, j] = given.actuator_force[i, at.actuator[j]]
        for s in range(2):
            foot, arm = given.site_xpos[i, at.sole[s]], given.site_xpos[i, at.hand[s]]
            speed, push = sensor[at.foot_velocity[s] :], sensor[at.foot_force[s] :]
            for c in range(3):
                out.sole_position[i, s, c] = foot[c]
                out.hand_position[i, s, c] = arm[c]
                out.foot_velocity[i, s, c] = speed[c]
                out.foot_force[i, s, c] = -push[c]  # the sensor gives the foot's force on the ground
            axes = given.site_xmat[i, at.sole[s]]
            out.sole_yaw[i, s] = np.arctan2(axes[3], axes[0])
            out.local_foot_velocity[i, s] = unrotate(q, speed[0], speed[1], speed[2])
            out.local_hand_position[i, s] = unrotate(q, arm[0] - p[0], arm[1] - p[1], arm[2] - p[2])
            out.local_sole_position[i, s] = unrotate(q, foot[0] - p[0], foot[1] - p[1], foot[2] - p[2])
        largest = 0.0
        for b in at.body_force:
            largest = max(largest, np.sqrt(sensor[b] ** 2 + sensor[b + 1] ** 2 + sensor[b + 2] ** 2))
        out.body_force[i] = largest
