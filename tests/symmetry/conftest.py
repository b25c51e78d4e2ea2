"""Robots without bodies: joint names, mirror rules and scales are all that the mirror maps need."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from ssr.robots.spec import CameraMount, Joint, RobotSpec, Sole

LEG = {"hip_pitch": 1, "hip_roll": -1, "hip_yaw": -1, "knee": 1, "ankle_pitch": 1, "ankle_roll": -1}
ARM = {"shoulder_pitch": 1, "shoulder_roll": -1, "shoulder_yaw": -1, "elbow": 1}
DEFAULT = {"hip_pitch": -0.3, "knee": 0.6, "ankle_pitch": -0.3, "shoulder_roll": -0.15}


@dataclass(frozen=True)
class Chain:
    """A pair of limbs, or one midline joint if `sides` is empty."""

    signs: dict[str, float]
    sides: tuple[str, ...] = ("right", "left")
    scale: float = field(default=0.25)


def joint(name: str, partner: str, sign: float, scale: float, default: float) -> Joint:
    return Joint(
        name=name,
        mirror_name=partner,
        mirror_sign=sign,
        lower=-2.0,
        upper=2.0,
        max_torque=50.0,
        max_velocity=10.0,
        kp=100.0,
        kd=2.0,
        action_scale=scale,
        default=default,
    )


def joints_of(chain: Chain) -> list[Joint]:
    if not chain.sides:
        return [joint(n, n, s, chain.scale, 0.0) for n, s in chain.signs.items()]
    out = []
    for side, other in zip(chain.sides, chain.sides[::-1], strict=True):
        for name, sign in chain.signs.items():
            default = DEFAULT.get(name, 0.0) * (sign if side == "left" else 1.0)
            out.append(joint(f"{side}_{name}", f"{other}_{name}", sign, chain.scale, default))
    return out


def robot_of(name: str, *chains: Chain) -> RobotSpec:
    def no_body():
        raise AssertionError("the mirror maps must not need the robot's body")

    return RobotSpec(
        name=name,
        title=name,
        joints=tuple(j for chain in chains for j in joints_of(chain)),
        locked_joints=(),
        base_link="pelvis",
        torso_link="torso",
        foot_links=("right_foot", "left_foot"),
        hand_links=("right_hand", "left_hand"),
        shank_links=("right_shank", "left_shank"),
        hand_offset=(0.0, 0.0, 0.0),
        shapes=(),
        sole=Sole(center=(0.0, 0.0, 0.0), length=0.22, width=0.1),
        camera=CameraMount(),
        standing_height=0.66,
        base_height_target=0.68,
        base_height_offset=0.0,
        min_foot_distance=0.2,
        build=no_body,
    )


@pytest.fixture(scope="session")
def paper_robot() -> RobotSpec:
    """The 21 joints of Appendix B in its order."""
    return robot_of("paper", Chain(LEG), Chain({"waist_yaw": -1}, sides=()), Chain(ARM, scale=0.2))


@pytest.fixture(scope="session")
def other_robot() -> RobotSpec:
    """23 joints, left side first, a waist of three joints of which one keeps its sign."""
    waist = Chain({"waist_yaw": -1, "waist_roll": -1, "waist_pitch": 1}, sides=())
    sides = ("left", "right")
    return robot_of("other", waist, Chain(LEG, sides), Chain(ARM, sides))
