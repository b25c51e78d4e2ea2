"""Reading MuJoCo's arrays into named tensors in one compiled pass: hundreds of small tensor operations would
cost a small batch as much as its physics."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
import torch
from numba import njit
from torch import Tensor

PAIR = (2, 3)
SANE = 1e3  #: a position or velocity beyond this (m, rad, m/s, rad/s) means the world has blown up


def fields_of(joints: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of one world's row, in the order `_read` writes them."""
    return {
        "base_position": (3,),
        "base_quaternion": (4,),
        "base_velocity": (3,),
        "base_angular_velocity": (3,),
        "joint_position": (joints,),
        "joint_velocity": (joints,),
        "applied_torque": (joints,),
        "sole_position": PAIR,
        "foot_velocity": PAIR,
        "foot_force": PAIR,
        "hand_position": PAIR,
        "sole_yaw": (2,),
        "body_force": (),
        "yaw": (),
        "gravity": (3,),
        "local_velocity": (3,),
        "local_foot_velocity": PAIR,
        "local_hand_position": PAIR,
        "local_sole_position": PAIR,
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
    """Rows of `fields_of`, read from a batch's arrays, as a dict of tensors that share one new buffer."""

    def __init__(self, arrays: dict[str, np.ndarray], addresses: Addresses, dtype: torch.dtype) -> None:
        self.arrays, self.addresses, self.dtype = arrays, addresses, dtype
        self.fields = fields_of(len(addresses.joint_qpos))
        self.sizes = [prod(shape) for shape in self.fields.values()]

    def __call__(self) -> dict[str, Tensor]:
        a, at = self.arrays, self.addresses
        count = len(a["qpos"])
        rows = torch.empty(count, sum(self.sizes), dtype=self.dtype)
        finite = torch.empty(count, dtype=torch.bool)
        _read(
            a["qpos"], a["qvel"], a["sensordata"], a["site_xpos"], a["site_xmat"], a["actuator_force"],
            at.joint_qpos, at.joint_qvel, at.actuator, at.sole, at.hand,
            at.foot_velocity, at.foot_force, at.body_force, rows.numpy(), finite.numpy(),
        )  # fmt: skip
        parts = rows.split(self.sizes, dim=1)
        out = {
            name: part if len(shape) == 1 else part.view(count, *shape)
            for (name, shape), part in zip(self.fields.items(), parts, strict=True)
        }
        return out | {"finite": finite}


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


@njit(cache=True, nogil=True, error_model="numpy")
def _read(
    qpos, qvel, sensor, site, matrix, force, joint_qpos, joint_qvel, actuator, sole, hand,
    foot_velocity, foot_force, body_force, out, finite,
):  # fmt: skip
    joints = len(joint_qpos)
    for i in range(len(qpos)):
        p, q, row = qpos[i], qpos[i, 3:7], out[i]
        sane = True  # a NaN fails the comparison
        for c in range(qpos.shape[1]):
            sane = sane and abs(p[c]) < SANE
        for c in range(qvel.shape[1]):
            sane = sane and abs(qvel[i, c]) < SANE
        finite[i] = sane
        row[0:7] = p[0:7]
        row[7:13] = qvel[i, 0:6]
        k = 13
        for j in range(joints):
            row[k + j] = p[joint_qpos[j]]
            row[k + joints + j] = qvel[i, joint_qvel[j]]
            row[k + 2 * joints + j] = force[i, actuator[j]]
        k += 3 * joints
        local = k + 24 + 2 + 1 + 1 + 3  # after the pairs, two yaws, body force, yaw and gravity
        for s in range(2):
            v, f = foot_velocity[s], foot_force[s]
            for c in range(3):
                row[k + 3 * s + c] = site[i, sole[s], c]
                row[k + 6 + 3 * s + c] = sensor[i, v + c]
                row[k + 12 + 3 * s + c] = -sensor[i, f + c]  # the sensor gives the foot's force on the ground
                row[k + 18 + 3 * s + c] = site[i, hand[s], c]
            row[k + 24 + s] = np.arctan2(matrix[i, sole[s], 3], matrix[i, sole[s], 0])
            at = local + 3 + 3 * s
            row[at], row[at + 1], row[at + 2] = _to_base(q, sensor[i, v], sensor[i, v + 1], sensor[i, v + 2])
            for kind, point in ((6, site[i, hand[s]]), (12, site[i, sole[s]])):
                x, y, z = _to_base(q, point[0] - p[0], point[1] - p[1], point[2] - p[2])
                row[at + kind], row[at + kind + 1], row[at + kind + 2] = x, y, z
        largest = 0.0
        for b in body_force:
            largest = max(largest, np.sqrt(sensor[i, b] ** 2 + sensor[i, b + 1] ** 2 + sensor[i, b + 2] ** 2))
        k += 26
        w, x, y, z = q[0], q[1], q[2], q[3]
        row[k] = largest
        row[k + 1] = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        row[k + 2] = 2 * (w * y - x * z)
        row[k + 3] = -2 * (w * x + y * z)
        row[k + 4] = 2 * (x * x + y * y) - 1
        row[local], row[local + 1], row[local + 2] = _to_base(q, qvel[i, 0], qvel[i, 1], qvel[i, 2])
