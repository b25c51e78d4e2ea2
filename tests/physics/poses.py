"""Poses that physics tests begin with."""

import torch

from ssr.physics.simulator import ResetPose
from ssr.robots.spec import RobotSpec
from ssr.rotation.tensors import multiply


def standing(robot: RobotSpec, count: int, x: float = 0.75, ground: float = 0.0) -> ResetPose:
    """In the default pose, 5 cm above the ground."""
    zero, default = torch.zeros(count, 3), torch.tensor(robot.values("default"))
    return ResetPose(
        base_position=torch.tensor([x, 0.0, ground + robot.standing_height + 0.05]).repeat(count, 1),
        base_quaternion=torch.tensor([1.0, 0.0, 0.0, 0.0]).repeat(count, 1),
        base_velocity=zero,
        base_angular_velocity=zero,
        joint_position=default.repeat(count, 1),
        joint_velocity=torch.zeros(count, len(robot.joints)),
    )


def yaw_quaternion(yaw: torch.Tensor) -> torch.Tensor:
    zero = torch.zeros_like(yaw)
    return torch.stack([torch.cos(yaw / 2), zero, zero, torch.sin(yaw / 2)], dim=-1)


def random_pose(robot, count: int, generator: torch.Generator, ground: torch.Tensor) -> ResetPose:
    """Robots near their default pose, feet at the ground, on their way somewhere."""
    rand = lambda *s: 2 * torch.rand(*s, generator=generator, dtype=torch.float64) - 1
    lower, upper = (torch.tensor(robot.values(f)) for f in ("lower", "upper"))
    joints = torch.tensor(robot.values("default")) + 0.3 * rand(count, len(robot.joints))
    position = torch.stack([1.5 + 0.5 * rand(count), 0.5 * rand(count), ground + robot.standing_height], -1)
    tilt = torch.cat([torch.ones(count, 1, dtype=torch.float64), 0.05 * rand(count, 3)], -1)
    quaternion = multiply(yaw_quaternion(0.5 * rand(count)), tilt / tilt.norm(dim=-1, keepdim=True))
    return ResetPose(
        base_position=position,
        base_quaternion=quaternion,
        base_velocity=0.5 * rand(count, 3),
        base_angular_velocity=0.5 * rand(count, 3),
        joint_position=joints.clamp(lower, upper),
        joint_velocity=rand(count, len(robot.joints)),
    )
