"""Reading MuJoCo's arrays into named ones in one compiled pass: hundreds of small tensor operations would
cost a small batch as much as its physics."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
import torch
from numba import njit

from ssr.robots.spec import Sole

SANE = 1e3  #: a position or velocity beyond this (m, rad, m/s, rad/s) means the world has blown up


class Reading(NamedTuple):
    """`PhysicsState` as NumPy arrays, for kernels; see there. They are views of one table."""

    base_position: np.ndarray
    base_quaternion: np.ndarray
    base_velocity: np.ndarray
    base_angular_velocity: np.ndarray
    joint_position: np.ndarray
    joint_velocity: np.ndarray
    applied_torque: np.ndarray
    sole_position: np.ndarray
    sole_yaw: np.ndarray
    sole_drop: np.ndarray
    foot_velocity: np.ndarray
    foot_force: np.ndarray
    hand_position: np.ndarray
    body_force: np.ndarray
    yaw: np.ndarray
    gravity: np.ndarray
    local_velocity: np.ndarray
    local_foot_velocity: np.ndarray
    local_hand_position: np.ndarray
    local_sole_position: np.ndarray
    finite: np.ndarray


def shapes_of(joints: int) -> dict[str, tuple[int, ...]]:
    """One world's share of each field but `finite`."""
    vector, pair, per_joint = (3,), (2, 3), (joints,)
    return {
        "base_position": vector,
        "base_quaternion": (4,),
        "base_velocity": vector,
        "base_angular_velocity": vector,
        "joint_position": per_joint,
        "joint_velocity": per_joint,
        "applied_torque": per_joint,
        "sole_position": pair,
        "sole_yaw": (2,),
        "sole_drop": (2,),
        "foot_velocity": pair,
        "foot_force": pair,
        "hand_position": pair,
        "body_force": (),
        "yaw": (),
        "gravity": vector,
        "local_velocity": vector,
        "local_foot_velocity": pair,
        "local_hand_position": pair,
        "local_sole_position": pair,
    }


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """Where the model keeps what is read; right before left."""

    joint_qpos: np.ndarray  #: (J,)
    joint_qvel: np.ndarray  #: (J,)
    actuator: np.ndarray  #: (J,)
    sole: np.ndarray  #: (2,) site ids
    hand: np.ndarray  #: (2,) site ids
    foot_velocity: np.ndarray  #: (2,) first sensor entry
    foot_force: np.ndarray  #: (2,)
    body_force: np.ndarray  #: (b,)


class Readout:
    """Reads worlds from a batch's arrays into a table that stays: making twenty arrays takes longer than
    filling them.

    table (n, C): a row per world; columns: which of them is what; reading: the same by name, as views.
    """

    def __init__(
        self, arrays: dict[str, np.ndarray], addresses: Addresses, sole: Sole, dtype: torch.dtype
    ) -> None:
        n, shapes = len(arrays["qpos"]), shapes_of(len(addresses.joint_qpos))
        ends = np.cumsum([prod(shape) for shape in shapes.values()]).tolist()
        self.columns = {
            name: slice(end - prod(shape), end)
            for end, (name, shape) in zip(ends, shapes.items(), strict=True)
        }
        self.table = torch.zeros(n, ends[-1], dtype=dtype).numpy()
        views = {name: self.table[:, self.columns[name]].reshape(n, *shapes[name]) for name in shapes}
        self.reading = Reading(**views, finite=np.ones(n, dtype=bool))
        self.everywhere = np.arange(n)
        a, at = arrays, addresses
        self._arguments = (
            a["qpos"], a["qvel"], a["sensordata"], a["site_xpos"], a["site_xmat"], a["actuator_force"],
            at.joint_qpos, at.joint_qvel, at.actuator, at.sole, at.hand,
            at.foot_velocity, at.foot_force, at.body_force, (sole.length / 2, sole.width / 2),
            self.table, tuple(self.reading),
        )  # fmt: skip

    def __call__(self, worlds: np.ndarray | None = None) -> Reading:
        """`reading`, renewed for the (m,) `worlds`, by default all of them.

        A world that has blown up reads as zeros, upright.
        """
        _read(self.everywhere if worlds is None else worlds, *self._arguments)
        return self.reading


@njit(cache=True, nogil=True, inline="always")
def _to_base(q: np.ndarray, x: float, y: float, z: float) -> tuple[float, float, float]:
    """A world vector in the frame of the quaternion q."""
    w, a, b, c = q[0], -q[1], -q[2], -q[3]
    tx, ty, tz = 2 * (b * z - c * y), 2 * (c * x - a * z), 2 * (a * y - b * x)
    return (
        x + w * tx + b * tz - c * ty,
        y + w * ty + c * tx - a * tz,
        z + w * tz + a * ty - b * tx,
    )


@njit(cache=True, nogil=True)
def _sane(values: np.ndarray) -> bool:
    sane = True
    for value in values:
        sane &= abs(value) < SANE  # which a NaN is not
    return sane


@njit(cache=True, nogil=True, error_model="numpy")
def _read(
    worlds, qpos, qvel, sensor, site, matrix, force, joint_qpos, joint_qvel, actuator, sole, hand,
    foot_velocity, foot_force, body_force, half_sole, table, outputs,
):  # fmt: skip
    out = Reading(*outputs)
    for i in worlds:
        p, v, q = qpos[i], qvel[i], qpos[i, 3:7]
        out.finite[i] = _sane(p) and _sane(v)
        if not out.finite[i]:
            table[i] = 0.0
            out.base_quaternion[i, 0] = 1.0
            out.gravity[i, 2] = -1.0
            continue
        w, x, y, z = q[0], q[1], q[2], q[3]
        out.base_position[i] = p[0:3]
        out.base_quaternion[i] = q
        out.base_velocity[i] = v[0:3]
        out.base_angular_velocity[i] = v[3:6]
        out.yaw[i] = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        out.gravity[i, 0] = 2 * (w * y - x * z)
        out.gravity[i, 1] = -2 * (w * x + y * z)
        out.gravity[i, 2] = 2 * (x * x + y * y) - 1
        out.local_velocity[i] = _to_base(q, v[0], v[1], v[2])
        for j in range(len(joint_qpos)):
            out.joint_position[i, j] = p[joint_qpos[j]]
            out.joint_velocity[i, j] = v[joint_qvel[j]]
            out.applied_torque[i, j] = force[i, actuator[j]]
        for s in range(2):
            foot, arm = site[i, sole[s]], site[i, hand[s]]
            speed, push = sensor[i, foot_velocity[s] :], sensor[i, foot_force[s] :]
            for c in range(3):
                out.sole_position[i, s, c] = foot[c]
                out.hand_position[i, s, c] = arm[c]
                out.foot_velocity[i, s, c] = speed[c]
                out.foot_force[i, s, c] = -push[c]  # the sensor gives the foot's force on the ground
            axes = matrix[i, sole[s]]
            out.sole_yaw[i, s] = np.arctan2(axes[3], axes[0])
            out.sole_drop[i, s] = abs(axes[6]) * half_sole[0] + abs(axes[7]) * half_sole[1]
            out.local_foot_velocity[i, s] = _to_base(q, speed[0], speed[1], speed[2])
            out.local_hand_position[i, s] = _to_base(q, arm[0] - p[0], arm[1] - p[1], arm[2] - p[2])
            out.local_sole_position[i, s] = _to_base(q, foot[0] - p[0], foot[1] - p[1], foot[2] - p[2])
        largest = 0.0
        for b in body_force:
            largest = max(largest, np.sqrt(sensor[i, b] ** 2 + sensor[i, b + 1] ** 2 + sensor[i, b + 2] ** 2))
        out.body_force[i] = largest
