"""Reading MuJoCo's arrays into named ones in one compiled pass: hundreds of small tensor operations would
cost a small batch as much as its physics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numba import njit

SANE = 1e3  #: a position or velocity beyond this (m, rad, m/s, rad/s) means the world has blown up


class Reading(NamedTuple):
    """`PhysicsState` as NumPy arrays, for kernels; see there."""

    base_position: np.ndarray
    base_quaternion: np.ndarray
    base_velocity: np.ndarray
    base_angular_velocity: np.ndarray
    joint_position: np.ndarray
    joint_velocity: np.ndarray
    applied_torque: np.ndarray
    sole_position: np.ndarray
    sole_yaw: np.ndarray
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
    """One world's share of each field."""
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
        "finite": (),
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
    """Reads worlds from a batch's arrays into new ones."""

    def __init__(self, arrays: dict[str, np.ndarray], addresses: Addresses, dtype: torch.dtype) -> None:
        self.arrays, self.addresses = arrays, addresses
        kind = torch.empty(0, dtype=dtype).numpy().dtype
        shapes = shapes_of(len(addresses.joint_qpos))
        self.fields = [
            (shapes[name], np.dtype(bool) if name == "finite" else kind) for name in Reading._fields
        ]
        self.everywhere = np.arange(len(arrays["qpos"]))

    def __call__(self, worlds: np.ndarray | None = None) -> Reading:
        """Of the (m,) `worlds`, by default all of them. One that has blown up reads as zeros, upright."""
        a, at = self.arrays, self.addresses
        worlds = self.everywhere if worlds is None else worlds
        out = tuple([np.empty((len(worlds), *shape), dtype) for shape, dtype in self.fields])
        _read(
            worlds,
            a["qpos"], a["qvel"], a["sensordata"], a["site_xpos"], a["site_xmat"], a["actuator_force"],
            at.joint_qpos, at.joint_qvel, at.actuator, at.sole, at.hand,
            at.foot_velocity, at.foot_force, at.body_force, out,
        )  # fmt: skip
        return Reading(*out)


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
    foot_velocity, foot_force, body_force, outputs,
):  # fmt: skip
    out = Reading(*outputs)
    for k in range(len(worlds)):
        i = worlds[k]
        p, v, q = qpos[i], qvel[i], qpos[i, 3:7]
        out.finite[k] = _sane(p) and _sane(v)
        if not out.finite[k]:
            _upright(out, k)
            continue
        w, x, y, z = q[0], q[1], q[2], q[3]
        out.base_position[k] = p[0:3]
        out.base_quaternion[k] = q
        out.base_velocity[k] = v[0:3]
        out.base_angular_velocity[k] = v[3:6]
        out.yaw[k] = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        out.gravity[k, 0] = 2 * (w * y - x * z)
        out.gravity[k, 1] = -2 * (w * x + y * z)
        out.gravity[k, 2] = 2 * (x * x + y * y) - 1
        out.local_velocity[k] = _to_base(q, v[0], v[1], v[2])
        for j in range(len(joint_qpos)):
            out.joint_position[k, j] = p[joint_qpos[j]]
            out.joint_velocity[k, j] = v[joint_qvel[j]]
            out.applied_torque[k, j] = force[i, actuator[j]]
        for s in range(2):
            foot, arm = site[i, sole[s]], site[i, hand[s]]
            speed, push = sensor[i, foot_velocity[s] :], sensor[i, foot_force[s] :]
            for c in range(3):
                out.sole_position[k, s, c] = foot[c]
                out.hand_position[k, s, c] = arm[c]
                out.foot_velocity[k, s, c] = speed[c]
                out.foot_force[k, s, c] = -push[c]  # the sensor gives the foot's force on the ground
            out.sole_yaw[k, s] = np.arctan2(matrix[i, sole[s], 3], matrix[i, sole[s], 0])
            out.local_foot_velocity[k, s] = _to_base(q, speed[0], speed[1], speed[2])
            out.local_hand_position[k, s] = _to_base(q, arm[0] - p[0], arm[1] - p[1], arm[2] - p[2])
            out.local_sole_position[k, s] = _to_base(q, foot[0] - p[0], foot[1] - p[1], foot[2] - p[2])
        largest = 0.0
        for b in body_force:
            largest = max(largest, np.sqrt(sensor[i, b] ** 2 + sensor[i, b + 1] ** 2 + sensor[i, b + 2] ** 2))
        out.body_force[k] = largest


@njit(nogil=True)
def _upright(out, k):
    """World k of `out` at the origin, at rest, upright."""
    out.base_position[k] = 0.0
    out.base_quaternion[k] = (1.0, 0.0, 0.0, 0.0)
    out.base_velocity[k] = 0.0
    out.base_angular_velocity[k] = 0.0
    out.joint_position[k] = 0.0
    out.joint_velocity[k] = 0.0
    out.applied_torque[k] = 0.0
    out.sole_position[k] = 0.0
    out.sole_yaw[k] = 0.0
    out.foot_velocity[k] = 0.0
    out.foot_force[k] = 0.0
    out.hand_position[k] = 0.0
    out.body_force[k] = 0.0
    out.yaw[k] = 0.0
    out.gravity[k] = (0.0, 0.0, -1.0)
    out.local_velocity[k] = 0.0
    out.local_foot_velocity[k] = 0.0
    out.local_hand_position[k] = 0.0
    out.local_sole_position[k] = 0.0
