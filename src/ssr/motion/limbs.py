"""The robot's proportions, measured on its own model: joint centres and limb lengths at zero joint angles."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from ssr.errors import UserError
from ssr.robots.spec import RobotSpec

SIDES = ("right", "left")


@dataclass(frozen=True, kw_only=True)
class Limbs:
    """Lengths in metres; points in the base frame at zero joint angles; (2, 3) arrays are right, left."""

    hip: np.ndarray  #: (2, 3) where the hip axes meet
    shoulder: np.ndarray  #: (2, 3) where the shoulder axes meet
    thigh: float
    shank: float
    ankle_height: float  #: ankle centre above the sole
    sole_ahead: float  #: sole centre ahead of the ankle
    sole_half: tuple[float, float]  #: half length and half width of the sole
    ankle_range: tuple[
        float, float
    ]  #: rad, foot pitch against the shank (toe down positive) both ankles reach
    adduction: float  #: rad, how far both legs can swing inward at the hip
    upper_arm: float
    forearm: float  #: elbow to hand point
    waist: np.ndarray  #: (3,) a point on the waist's axis
    knee_bodies: tuple[str, str]
    elbow_bodies: tuple[str, str]

    @property
    def leg(self) -> float:
        """Hip centre to ankle centre with a straight knee."""
        return self.thigh + self.shank

    @property
    def hip_half_width(self) -> float:
        return float(self.hip[1, 1])

    @property
    def hip_height(self) -> float:
        """Hip centre above the sole with a straight leg."""
        return self.leg + self.ankle_height


def limbs(robot: RobotSpec, model: mujoco.MjModel) -> Limbs:
    """Measure `robot` on its compiled model."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    legs = [_chain(model, link, robot.base_link) for link in robot.foot_links]
    arms = [_chain(model, link, robot.torso_link) for link in robot.hand_links]
    for what, chains in (("leg", legs), ("arm", arms)):
        if min(map(len, chains)) < 4:
            raise UserError(
                f"Robot {robot.name!r}: motion needs at least 4 joints in each {what}, found fewer."
            )
    meet = lambda joints: _meeting_point(data, joints)
    hip = np.stack([meet(c[:3]) for c in legs])
    knee = np.stack([data.xanchor[c[3]] for c in legs])
    ankle = np.stack([meet(c[4:]) for c in legs])
    sole = np.stack([data.site(f"{s}_sole").xpos for s in SIDES])
    shoulder = np.stack([meet(c[:3]) for c in arms])
    elbow = np.stack([data.xanchor[c[3]] for c in arms])
    hand = np.stack([data.site(f"{s}_hand").xpos for s in SIDES])
    length = lambda a, b: float(np.linalg.norm(a - b, axis=-1).mean())
    waist = _chain(model, robot.torso_link, robot.base_link)
    body = lambda joint: model.body(model.jnt_bodyid[joint]).name
    return Limbs(
        hip=_symmetric(hip),
        shoulder=_symmetric(shoulder),
        thigh=length(hip, knee),
        shank=length(knee, ankle),
        ankle_height=float((ankle - sole)[:, 2].mean()),
        sole_ahead=float((sole - ankle)[:, 0].mean()),
        sole_half=(0.5 * robot.sole.length, 0.5 * robot.sole.width),
        ankle_range=_pitch_range(model, data, [c[4] for c in legs]),
        adduction=_adduction(model, data, [c[:3] for c in legs]),
        upper_arm=length(shoulder, elbow),
        forearm=length(elbow, hand),
        waist=data.xanchor[waist[0]].copy() if waist else np.zeros(3),
        knee_bodies=(body(legs[0][3]), body(legs[1][3])),
        elbow_bodies=(body(arms[0][3]), body(arms[1][3])),
    )


def _chain(model: mujoco.MjModel, link: str, root: str) -> list[int]:
    """Joint ids on the way from `root` (its own joints excluded) to `link`, nearest to the root first."""
    joints: list[int] = []
    body, stop = model.body(link).id, model.body(root).id
    while body not in (stop, 0):
        first, count = model.body_jntadr[body], model.body_jntnum[body]
        joints = list(range(first, first + count)) + joints
        body = model.body_parentid[body]
    return joints


def _meeting_point(data: mujoco.MjData, joints: list[int]) -> np.ndarray:
    """The point closest to all the joints' axes."""
    a, b = np.zeros((3, 3)), np.zeros(3)
    for joint in joints:
        axis = data.xaxis[joint]
        across = np.eye(3) - np.outer(axis, axis)
        a += across
        b += across @ data.xanchor[joint]
    return np.linalg.solve(a, b)


def _pitch_range(model: mujoco.MjModel, data: mujoco.MjData, joints: list[int]) -> tuple[float, float]:
    """Range of pitch about +y that all `joints` share."""
    ranges = []
    for joint in joints:
        low, high = model.jnt_range[joint]
        ranges.append((low, high) if data.xaxis[joint][1] > 0.0 else (-high, -low))
    return float(max(r[0] for r in ranges)), float(min(r[1] for r in ranges))


def _adduction(model: mujoco.MjModel, data: mujoco.MjData, hips: list[list[int]]) -> float:
    """The inward range of the hips' roll joints: about +x for the right leg, about -x for the left."""
    out = []
    for joints, inward in zip(hips, (1.0, -1.0), strict=True):
        roll = max(joints, key=lambda j: abs(data.xaxis[j][0]))
        low, high = model.jnt_range[roll]
        out.append(high if data.xaxis[roll][0] * inward > 0.0 else -low)
    return float(min(out))


def _symmetric(points: np.ndarray) -> np.ndarray:
    """Right and left averaged with each other's mirror image."""
    mirrored = points[::-1] * np.array([1.0, -1.0, 1.0])
    return 0.5 * (points + mirrored)
