"""From links and joints to a `mujoco.MjSpec`: one body per link, one hinge and one actuator per joint."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from ssr import rotation
from ssr.robots.links import Hinge, Link
from ssr.robots.spec import CameraMount, Joint, Shape, Sole, Vector

GEOM_TYPES = {
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "box": mujoco.mjtGeom.mjGEOM_BOX,
}
SHELL = (0.84, 0.86, 0.89, 1.0)
JOINT = (0.27, 0.29, 0.33, 1.0)
RIGHT_FOOT = (0.93, 0.42, 0.13, 1.0)
LEFT_FOOT = (0.12, 0.52, 0.78, 1.0)

TERRAIN = 1  #: conaffinity bit of everything that touches terrain
OTHER_LEG = 2  #: contype bit of the right leg's guards, conaffinity bit of the left leg's
GUARD_GROUP = 4  #: geom group of the guards, hidden by MuJoCo's viewers unless asked for
SHANK_GUARD_RADIUS = 0.16  #: of the shank's length; about the calf of both shipped robots
DEPTH_FOVY = 58.0  #: degrees, RealSense D435i


def assemble(
    *,
    name: str,
    links: Sequence[Link],
    joints: Sequence[Joint],
    foot_links: tuple[str, str],
    shank_links: tuple[str, str],
    hand_links: tuple[str, str],
    hand_offset: Vector,
    sole: Sole,
    camera: CameraMount,
) -> mujoco.MjSpec:
    """The robot as `RobotSpec.build` promises it. `links` are merged and come parents first."""
    spec = mujoco.MjSpec()
    spec.modelname = name
    spec.compiler.degree = False
    bodies: dict[str, mujoco.MjsBody] = {}
    for link in links:
        parent = bodies[link.parent] if link.parent else spec.worldbody
        bodies[link.name] = _add_body(parent, link)
    for joint in joints:
        _add_actuator(spec, joint)

    base = bodies[links[0].name]
    base.add_site(name="imu")
    base.add_site(name="camera", pos=camera.position, quat=camera.quaternion)
    base.add_camera(name="depth", pos=camera.position, quat=camera.quaternion, fovy=DEPTH_FOVY)
    for k, side in enumerate(("right", "left")):
        flip = np.ones(3) if side == "right" else rotation.MIRROR
        bodies[foot_links[k]].add_site(name=f"{side}_sole", pos=np.array(sole.center) * flip)
        bodies[hand_links[k]].add_site(name=f"{side}_hand", pos=np.array(hand_offset) * flip)
        _add_foot_guard(bodies[foot_links[k]], side, np.array(sole.center) * flip, sole)
        ankle = _origin_in(links, foot_links[k], shank_links[k])
        _add_shank_guard(bodies[shank_links[k]], side, ankle)
    return spec


def _add_body(parent: mujoco.MjsBody, link: Link) -> mujoco.MjsBody:
    body = parent.add_body(name=link.name, pos=link.position, quat=link.quaternion)
    if link.parent:
        for hinge in link.hinges:
            _add_hinge(body, hinge)
    else:
        body.add_freejoint(name="base")
    inertia = link.inertia
    body.explicitinertial = True
    body.mass = link.mass
    body.ipos = link.com
    body.fullinertia = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
    for shape in link.shapes:
        _add_shape(body, shape)
    return body


def _add_hinge(body: mujoco.MjsBody, hinge: Hinge) -> None:
    joint = body.add_joint(
        name=hinge.name,
        type=mujoco.mjtJoint.mjJNT_HINGE,
        axis=hinge.axis,
        pos=hinge.anchor,
        range=(hinge.lower, hinge.upper),
        limited=mujoco.mjtLimited.mjLIMITED_TRUE,
    )
    joint.armature = hinge.armature
    joint.frictionloss = hinge.frictionloss
    joint.damping = [hinge.damping, 0.0, 0.0]


def _add_shape(body: mujoco.MjsBody, shape: Shape) -> None:
    foot = LEFT_FOOT if shape.name.startswith("left") else RIGHT_FOOT
    colour = {"shell": SHELL, "joint": JOINT, "foot": foot}[shape.part]
    body.add_geom(
        name=shape.name,
        type=GEOM_TYPES[shape.kind],
        pos=shape.position,
        quat=shape.quaternion,
        size=[*shape.size, *(0.0,) * (3 - len(shape.size))],
        contype=0,
        conaffinity=TERRAIN if shape.collides else 0,
        rgba=colour,
    )


def _add_actuator(spec: mujoco.MjSpec, joint: Joint) -> None:
    """Torque = kp (target - angle) - kd velocity, within the torque limit."""
    actuator = spec.add_actuator(
        name=joint.name,
        target=joint.name,
        trntype=mujoco.mjtTrn.mjTRN_JOINT,
        forcerange=(-joint.max_torque, joint.max_torque),
        forcelimited=mujoco.mjtLimited.mjLIMITED_TRUE,
    )
    actuator.set_to_position(kp=joint.kp, kv=joint.kd)


def _add_guard(body: mujoco.MjsBody, name: str, start: np.ndarray, end: np.ndarray, radius: float) -> None:
    """A capsule that meets only those of the other leg: capsule pairs have one smooth, mirrorable contact."""
    right = name.startswith("right")
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        fromto=[*start, *end],
        size=[radius, 0.0, 0.0],
        contype=OTHER_LEG if right else 0,
        conaffinity=0 if right else OTHER_LEG,
        group=GUARD_GROUP,
        rgba=(0.9, 0.2, 0.2, 0.25),
    )


def _add_foot_guard(body: mujoco.MjsBody, side: str, sole_center: np.ndarray, sole: Sole) -> None:
    radius = sole.width / 2
    middle = sole_center + np.array([0.0, 0.0, radius])
    reach = np.array([max(sole.length / 2 - radius, 1e-3), 0.0, 0.0])
    _add_guard(body, f"{side}_foot_guard", middle - reach, middle + reach, radius)


def _add_shank_guard(body: mujoco.MjsBody, side: str, ankle: np.ndarray) -> None:
    """From knee to ankle."""
    radius = SHANK_GUARD_RADIUS * float(np.linalg.norm(ankle))
    _add_guard(body, f"{side}_shank_guard", np.zeros(3), ankle, radius)


def _origin_in(links: Sequence[Link], name: str, ancestor: str) -> np.ndarray:
    """The origin of link `name` in the frame of `ancestor`, every joint at 0."""
    by_name = {link.name: link for link in links}
    point = np.zeros(3)
    while name != ancestor:
        link = by_name[name]
        point = link.position + rotation.matrix(link.quaternion) @ point
        name = link.parent
    return point
