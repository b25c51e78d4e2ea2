"""How good a retargeted motion is, in numbers, and whether it may be used."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssr import rotation
from ssr.motion import ground
from ssr.motion.kinematics import Trajectories
from ssr.motion.targets import FPS, Targets
from ssr.robots.spec import RobotSpec
from ssr.terrain.tile import Box

if TYPE_CHECKING:
    from ssr.motion.solver import Solver

MAX_SLIP, MAX_PENETRATION, MAX_KEYPOINT_ERROR = 0.02, 0.01, 0.06  #: m/s, m, m
MAX_ACCELERATION = 60.0  #: m/s² of the base; more is a jerk where the legs could not follow


@dataclass(frozen=True, kw_only=True)
class Quality:
    """The row `ssr motion report` prints for a clip."""

    clip: str
    seconds: float
    slip_m_s: float  #: median speed of the bearing sole point along the ground while it stands
    penetration_m: float  #: deepest any sole corner lies under the ground
    keypoint_error_m: float  #: mean distance of the key points from their scaled targets
    limit_violations: int  #: samples beyond a joint's position or velocity limit
    kept: bool
    reason: str = ""  #: why it was left out

    def row(self) -> dict[str, object]:
        return asdict(self)


def judge(name: str, solver: Solver, targets: Targets, configurations: np.ndarray) -> Quality:
    """Measure (T, nq) `configurations` against their targets."""
    joints = configurations[:, solver.addresses]
    motion = solver.kinematics.trajectories(configurations)
    edges = sole_corners(motion, solver.limbs.sole_half)
    slip = _slip(edges, targets.stance)
    penetration = _penetration(edges, targets.boxes)
    error = _keypoint_error(solver, targets, configurations, motion)
    violations = limit_violations(solver.robot, joints)
    faults = [
        f"{what} {value:.4f} {unit} (at most {most})"
        for what, value, unit, most in (
            ("slip", slip, "m/s", MAX_SLIP),
            ("penetration", penetration, "m", MAX_PENETRATION),
            ("key-point error", error, "m", MAX_KEYPOINT_ERROR),
        )
        if not value <= most
    ]
    acceleration = float(base_acceleration(configurations[:, :3]).max(initial=0.0))
    if acceleration > MAX_ACCELERATION:
        faults.append(f"base jerks with {acceleration:.0f} m/s² (at most {MAX_ACCELERATION:.0f})")
    if violations:
        faults.append(f"{violations} samples beyond joint limits")
    return Quality(
        clip=name,
        seconds=round(targets.frames / FPS, 2),
        slip_m_s=round(slip, 4),
        penetration_m=round(penetration, 4),
        keypoint_error_m=round(error, 4),
        limit_violations=violations,
        kept=not faults,
        reason="; ".join(faults),
    )


def sole_corners(motion: Trajectories, sole_half: tuple[float, float]) -> np.ndarray:
    """(T, 2, 4, 3) corners of both soles in the world."""
    corners = np.array([[a * sole_half[0], b * sole_half[1], 0.0] for a in (1, -1) for b in (1, -1)])
    turned = rotation.rotate(motion.sole_quaternion[:, :, None], corners)
    return motion.sole_position[:, :, None] + turned


def _slip(corners: np.ndarray, stance: np.ndarray) -> float:
    """Median speed (m/s) of the lowest sole corner along the ground over all stance frames, both feet."""
    speed = np.linalg.norm(np.diff(corners[..., :2], axis=0), axis=-1) * FPS
    lowest = corners[:-1, ..., 2].argmin(-1)
    bearing = np.take_along_axis(speed, lowest[..., None], axis=-1)[..., 0]
    both = stance[:-1] & stance[1:]
    return float(np.median(bearing[both])) if both.any() else 0.0


def _penetration(corners: np.ndarray, boxes: tuple[Box, ...]) -> float:
    """Deepest a sole corner lies under the ground, m."""
    return float(ground.depth(boxes, corners).max())


def base_acceleration(base: np.ndarray) -> np.ndarray:
    """(T - 2,) m/s² of a base path (T, 3)."""
    return np.linalg.norm(np.diff(base, n=2, axis=0), axis=-1) * FPS**2


def _keypoint_error(
    solver: Solver, targets: Targets, configurations: np.ndarray, motion: Trajectories
) -> float:
    """Mean distance (m) of base, soles, knees, elbows and hands from their targets."""
    others = solver.point_positions(configurations)
    wanted = np.concatenate((targets.knee_position, targets.elbow_position, targets.hand_position), axis=1)
    distances = [
        np.linalg.norm(configurations[:, :3] - targets.base_position, axis=-1)[:, None],
        np.linalg.norm(motion.sole_position - targets.sole_position, axis=-1),
        np.linalg.norm(others - wanted, axis=-1),
    ]
    return float(np.concatenate(distances, axis=1).mean())


def limit_violations(robot: RobotSpec, joints: np.ndarray) -> int:
    """Samples of (T, J) joint positions beyond a position limit or, between frames, a velocity limit."""
    tolerance = 1e-6
    beyond = (joints < robot.values("lower") - tolerance) | (joints > robot.values("upper") + tolerance)
    speed = np.abs(np.diff(joints, axis=0)) * FPS
    return int(beyond.sum() + (speed > robot.values("max_velocity") + tolerance).sum())
