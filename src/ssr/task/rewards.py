"""Table 6(a): each function is one row, unweighted. N is the number of policy joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from ssr.task.config import RewardConfig


@dataclass(frozen=True, kw_only=True)
class Moment:
    """What the rows read. n worlds, J joints, right foot before left."""

    velocity: Tensor  #: (n, 3) base velocity, yaw-aligned base frame
    angular_velocity: Tensor  #: (n, 3) base frame
    gravity: Tensor  #: (n, 3) projected gravity
    command: Tensor  #: (n, 3) u
    standing: Tensor  #: (n,) bool, ‖u‖ ≤ ε
    base_height: Tensor  #: (n,) h_b, in the paper's base frame
    action: Tensor  #: (n, J) a_t
    previous_action: Tensor  #: (n, J) a_{t-1}
    earlier_action: Tensor  #: (n, J) a_{t-2}
    joint_position: Tensor  #: (n, J)
    joint_velocity: Tensor  #: (n, J)
    torque: Tensor  #: (n, J) computed, before clamping
    contact: Tensor  #: (n, 2) bool
    first_contact: Tensor  #: (n, 2) bool
    air_time: Tensor  #: (n, 2) s, of the swing that just ended or still lasts
    foot_velocity: Tensor  #: (n, 2, 3) world axes
    falling_speed: Tensor  #: (n, 2) vertical foot velocity one step earlier
    foot_force: Tensor  #: (n, 2, 3)
    foot_distance: Tensor  #: (n,) d_y, left foot to the left of the right one, yaw-aligned base frame
    recent_single_support: Tensor  #: (n,) bool, one foot alone within the last 0.2 s


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The robot's numbers the rows compare with, (J,) each."""

    default: Tensor
    lower: Tensor
    upper: Tensor
    max_velocity: Tensor
    max_torque: Tensor
    base_height_target: float
    min_foot_distance: float


Row = Callable[[Moment, Limits, RewardConfig], Tensor]


def linear_velocity_tracking(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    error = (m.velocity[:, :2] - m.command[:, :2]).square().sum(-1)
    return torch.exp(-error / c.sigma_velocity)


def angular_velocity_tracking(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    return torch.exp(-(m.angular_velocity[:, 2] - m.command[:, 2]).square() / c.sigma_angular)


def orientation(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    return torch.exp(-m.gravity[:, :2].square().sum(-1) / c.sigma_gravity)


def angular_velocity_xy(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    return torch.exp(-m.angular_velocity[:, :2].square().sum(-1) / c.sigma_angular)


def base_height(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    return torch.exp(-(m.base_height - limits.base_height_target).square() / c.sigma_height)


def action_rate(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    return (m.action - m.previous_action).square().mean(-1)


def smoothness(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    return (m.action - 2 * m.previous_action + m.earlier_action).square().mean(-1)


def dof_velocity(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    return (m.joint_velocity / limits.max_velocity).square().mean(-1)


def dof_torque(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    return (m.torque / limits.max_torque).square().mean(-1)


def dof_deviation(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    return (m.joint_position - limits.default).abs().mean(-1)


def dof_position_limits(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    outside = (m.joint_position < limits.lower) | (m.joint_position > limits.upper)
    return outside.to(m.joint_position.dtype).mean(-1)


def dof_velocity_limits(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    return (m.joint_velocity.abs() > limits.max_velocity).to(m.joint_velocity.dtype).mean(-1)


def dof_torque_limits(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    return (m.torque.abs() > limits.max_torque).to(m.torque.dtype).mean(-1)


def stand_still(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    return dof_deviation(m, limits, c) * m.standing


def single_support(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    return (m.standing | m.recent_single_support).to(m.velocity.dtype)


def impact_velocity(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    """The vertical speed one step before: once in contact a foot hardly moves."""
    return (m.falling_speed.square() * m.contact).sum(-1)


def contact_slippage(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    return (m.foot_velocity[..., :2].square().sum(-1) * m.contact).sum(-1)


def feet_air_time(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    """Signed as printed: swings beyond the target cost; `flip_air_time` makes them pay."""
    late = (m.air_time - c.air_time_target).clamp(min=0.0)
    return (late * m.first_contact).sum(-1) * (-1.0 if c.flip_air_time else 1.0)


def feet_stumble(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    sideways = m.foot_force[..., :2].norm(dim=-1) > 3.0 * m.foot_force[..., 2].abs()
    return sideways.to(m.velocity.dtype).sum(-1)


def feet_lateral_distance(m: Moment, limits: Limits, c: RewardConfig) -> Tensor:
    short = (m.foot_distance - limits.min_foot_distance).clamp(max=0.0)
    return torch.exp(short / c.sigma_distance)


ROWS: dict[str, Row] = {
    row.__name__: row
    for row in (
        linear_velocity_tracking, angular_velocity_tracking, orientation, angular_velocity_xy, base_height,
        action_rate, smoothness, dof_velocity, dof_torque, dof_deviation, dof_position_limits,
        dof_velocity_limits, dof_torque_limits, stand_still, single_support, impact_velocity,
        contact_slippage, feet_air_time, feet_stumble, feet_lateral_distance,
    )
}  # fmt: skip

SHUFFLE = 0.1  #: s; a foot that was in the air for less has not made a step
POSTURE_ROWS = ("angular_velocity_tracking", "orientation", "angular_velocity_xy", "base_height")


def weighted_terms(moment: Moment, limits: Limits, config: RewardConfig) -> dict[str, Tensor]:
    """Every row times its weight, (n,) each."""
    weights = {f.name: getattr(config.weights, f.name) for f in fields(config.weights)}
    return {name: ROWS[name](moment, limits, config) * w for name, w in weights.items() if w != 0.0}


def progress(moment: Moment) -> Tensor:
    """Speed along the command ÷ commanded speed, clipped to ±1; nothing where no walking is asked for."""
    wanted = moment.command[:, :2]
    speed = wanted.norm(dim=-1)
    along = (moment.velocity[:, :2] * wanted).sum(-1) / speed.square().clamp(min=1e-4)
    return torch.where(speed > 0.1, along.clamp(-1.0, 1.0), torch.zeros_like(along))


def stepping(moment: Moment, config: RewardConfig) -> Tensor:
    """Air time beyond a shuffle, up to the target, of swings that just ended while walking is asked for."""
    time = moment.air_time.clamp(max=config.air_time_target) - SHUFFLE
    landed = moment.first_contact & (moment.air_time > 0.0)  # an episode's first contact ends no swing
    return (time * landed).sum(-1) * ~moment.standing
