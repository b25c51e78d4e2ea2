"""`RobotSpec`: everything the project knows about a robot, by name.

Order: wherever two sides stand together, right comes before left, as in the paper's Appendix B.
Frames: x forward, y left, z up. SI units, radians.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import mujoco
import numpy as np

from ssr.errors import unknown
from ssr.joint_ranges import ActionScale, Angle, Damping, Stiffness, Torque, Velocity
from ssr.ranges import Within, settings
from ssr.symmetry.layout import Mirror

mujoco.set_mju_user_warning(lambda message: None)  # else it writes MUJOCO_LOG.TXT where the user stands

Vector = Annotated[tuple[float, float, float], Within(-10.0, 10.0)]
Quaternion = Annotated[tuple[float, float, float, float], Within(-1.01, 1.01)]  # w, x, y, z
Length = Annotated[float, Within(0.01, 10.0)]  #: m
ShapeKind = Literal["sphere", "capsule", "cylinder", "box"]
Part = Literal["shell", "joint", "foot"]


@settings("joint")
class Joint:
    """One policy-controlled hinge."""

    name: str
    role: str = ""  #: side-less place in the body such as `hip_pitch`, the same word on every robot
    mirror_name: str  #: the joint that takes its place in the mirror (itself on the midline)
    mirror_sign: Annotated[float, Within(-1.0, 1.0)]  #: of its angle there: 1 or -1
    lower: Angle  #: rad
    upper: Angle  #: rad
    max_torque: Torque  #: N m
    max_velocity: Velocity  #: rad/s
    kp: Stiffness  #: N m/rad
    kd: Damping  #: N m s/rad
    action_scale: ActionScale  #: rad per unit of action
    default: Angle  #: rad, where action 0 holds it


@settings("shape")
class Shape:
    """A primitive in its link's frame.

    Sizes as MuJoCo: (radius,), (radius, half length along z), half extents.
    """

    link: str  #: a body of the built model: links welded to it are part of it
    kind: ShapeKind
    position: Vector
    quaternion: Quaternion
    size: Annotated[tuple[float, ...], Within(0.0, 10.0)]
    collides: bool = True  #: with terrain
    name: str = ""  #: of the geom; feet are right_foot and left_foot
    part: Part = "shell"  #: how it is coloured


@settings("sole")
class Sole:
    """The flat sole, a rectangle in the foot link's frame (the same on both sides but for y)."""

    center: Vector  #: of the right foot; the left one's y is negated
    length: Length
    width: Length
    patch: Annotated[tuple[float, float], Within(0.01, 1.0)] = (0.225, 0.10)
    """Extent of the support patch (x, y), sampled 10 × 5."""

    def offsets(self, rows: int = 10, columns: int = 5) -> np.ndarray:
        """(rows, columns, 2) sample offsets (x, y) from the sole's centre.

        Rows run forward, columns from -y to +y.
        """
        x = np.linspace(-0.5, 0.5, rows) * self.patch[0]
        y = np.linspace(-0.5, 0.5, columns) * self.patch[1]
        return np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)


@settings("camera")
class CameraMount:
    """Where the depth camera sits, in the base link's frame, looking forward and `pitch` degrees down."""

    position: Vector = (0.10, 0.0, 0.05)
    pitch: Annotated[float, Within(-90.0, 90.0)] = 50.0

    @property
    def quaternion(self) -> Quaternion:
        """Camera frame in the base frame, as MuJoCo has cameras: it looks along -z, x right, y up."""
        lift = (np.pi / 2 - np.deg2rad(self.pitch)) / 2  # from straight down, image top forward
        c, s, h = float(np.cos(lift)), float(np.sin(lift)), float(np.sqrt(0.5))
        return (h * c, h * s, -h * s, -h * c)


@settings("robot")
class RobotSpec:
    """A robot as everything but physics knows it."""

    name: str  #: as commands take it
    title: str  #: as tables and figures print it
    joints: tuple[Joint, ...]  #: policy order
    locked_joints: tuple[str, ...]
    base_link: str
    torso_link: str
    foot_links: tuple[str, str]  #: right, left
    hand_links: tuple[str, str]
    shank_links: tuple[str, str]
    hand_offset: Vector  #: hand point in the right hand link's frame; the left one's y is negated
    shapes: tuple[Shape, ...]
    sole: Sole
    camera: CameraMount
    standing_height: Length  #: base origin above the soles in the default pose
    base_height_target: Length  #: the paper's value, in the paper's base frame
    base_height_offset: Annotated[float, Within(-5.0, 5.0)]
    """Our base height + this = the paper's base height."""
    min_foot_distance: Annotated[float, Within(0.0, 2.0)]  #: d_y^min of Table 7
    folder: Path | None = None  #: where its description lies, and its motion; None: in the package
    build: Callable[[], mujoco.MjSpec]
    """The robot alone: a free-floating base body named `base_link`, hinges named as `joints` (locked ones
    welded), position actuators named and ordered as `joints` with their gains and torque limits, and sites
    right_sole, left_sole, right_hand, left_hand, imu, camera. Collision geoms carry contype 0, conaffinity 1
    (terrain has contype 1); foot geoms are named right_foot, left_foot. Four capsules (right_foot_guard,
    right_shank_guard and their left partners) keep the legs apart and touch nothing else. The camera
    `depth` sits at the site `camera`."""

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """In policy order."""
        return tuple(j.name for j in self.joints)

    def joint_index(self, name: str) -> int:
        """Its place in policy order; a joint that is not there is an error that lists those that are."""
        if name not in self.joint_names:
            raise unknown(f"joint of {self.name}", name, self.joint_names)
        return self.joint_names.index(name)

    def values(self, field: str) -> np.ndarray:
        """One number per policy joint, e.g. `values("kp")`."""
        return np.array([getattr(j, field) for j in self.joints], dtype=np.float64)

    @cached_property
    def leg_joints(self) -> np.ndarray:
        """(2, J) bool: the policy joints between the base and the right foot, and the left one."""
        spec = self.build()
        legs = []
        for foot in self.foot_links:
            body, above = spec.body(foot), set()
            while body.name != self.base_link:
                above |= {joint.name for joint in body.joints}
                body = body.parent
            legs.append([name in above for name in self.joint_names])
        return np.array(legs)

    @cached_property
    def joint_mirror(self) -> Mirror:
        """F: the joint-block reflection of Appendix B.1."""
        return Mirror(
            tuple(self.joint_index(j.mirror_name) for j in self.joints),
            tuple(j.mirror_sign for j in self.joints),
        )
