"""A user's MJCF or URDF, read through MuJoCo into links.

Every link's frame is turned parallel to the base's frame at zero joint angles, whatever the file had, so
that x is forward and z is up everywhere and left and right can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np

from ssr import rotation
from ssr.errors import UserError, unknown
from ssr.robots.links import Hinge, Link, as_quaternion, as_vector
from ssr.robots.spec import Shape, ShapeKind

KINDS: dict[int, ShapeKind] = {
    int(mujoco.mjtGeom.mjGEOM_SPHERE): "sphere",
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): "capsule",
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): "cylinder",
    int(mujoco.mjtGeom.mjGEOM_BOX): "box",
}
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3}
ENDLESS = (int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_HFIELD))
HINGE, FREE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_FREE)
JOINT_DRIVE = int(mujoco.mjtTrn.mjTRN_JOINT)
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True, kw_only=True)
class Imported:
    """All links below (and with) the base, parents first, each still with all its hinges."""

    links: tuple[Link, ...]
    other_joints: tuple[str, ...]  #: sliding and ball joints, which can only be locked


def read(path: Path, base: str) -> Imported:
    model = _compiled(path)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    bodies = [model.body(k).name for k in range(model.nbody)]
    if base not in bodies:
        raise unknown(f"link of {path.name}", base, bodies[1:])
    velocities = _urdf_velocities(path)
    root = bodies.index(base)
    members = [k for k in range(1, model.nbody) if _is_below(model, k, root)]
    links = tuple(_link(model, data, k, root, velocities) for k in members)
    other = tuple(
        model.joint(j).name
        for j in range(model.njnt)
        if model.jnt_bodyid[j] in members and int(model.jnt_type[j]) not in (HINGE, FREE)
    )
    return Imported(links=links, other_joints=other)


def base_of(path: Path) -> str:
    """The link that floats freely, or the topmost one that weighs something."""
    model = _compiled(path)
    free = [model.jnt_bodyid[j] for j in range(model.njnt) if int(model.jnt_type[j]) == FREE]
    weight = model.body_subtreemass
    body = int(free[0]) if free else 1 + int(np.argmax(weight[1:])) if model.nbody > 1 else 0
    if body == 0:
        raise UserError(f"{path} holds no robot: no body hangs in its world.")
    while model.body_mass[body] == 0 and len(below := np.flatnonzero(model.body_parentid == body)) == 1:
        body = int(below[0])
    return str(model.body(body).name)


def servo_gains(path: Path) -> dict[str, tuple[float, float]]:
    """kp and kd of joints that the file gives a position actuator."""
    model, found = _compiled(path), {}
    for k in range(model.nu):
        kp, kd = -float(model.actuator_biasprm[k, 1]), -float(model.actuator_biasprm[k, 2])
        if int(model.actuator_trntype[k]) == JOINT_DRIVE and kp > 0:
            found[str(model.joint(model.actuator_trnid[k, 0]).name)] = (kp, kd)
    return found


def _compiled(path: Path) -> mujoco.MjModel:
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        spec.compiler.fusestatic = False  # keep every link's name; merging comes later
        return spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise UserError(f"{path} is not a model MuJoCo can read: {' '.join(str(error).split())}") from None


def _is_below(model: mujoco.MjModel, body: int, root: int) -> bool:
    while body > root:
        body = model.body_parentid[body]
    return body == root


def _link(
    model: mujoco.MjModel, data: mujoco.MjData, body: int, root: int, velocities: dict[str, float]
) -> Link:
    to_base = data.xmat[root].reshape(3, 3).T
    turn = to_base @ data.xmat[body].reshape(3, 3)  # the file's frame -> ours
    parent = model.body_parentid[body]
    inward = np.zeros(3) if body == root else to_base @ (data.xpos[body] - data.xpos[parent])
    principal = turn @ rotation.matrix(model.body_iquat[body])
    name = model.body(body).name
    joints = range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])
    return Link(
        name=name,
        parent="" if body == root else model.body(parent).name,
        position=inward,
        quaternion=UPRIGHT,
        mass=float(model.body_mass[body]),
        com=turn @ model.body_ipos[body],
        inertia=principal @ np.diag(model.body_inertia[body]) @ principal.T,
        hinges=tuple(
            _hinge(model, j, turn, velocities)
            for j in joints
            if body != root and int(model.jnt_type[j]) == HINGE
        ),
        shapes=_shapes(model, body, name, turn),
    )


def _hinge(model: mujoco.MjModel, joint: int, turn: np.ndarray, velocities: dict[str, float]) -> Hinge:
    name = model.joint(joint).name
    dof = model.jnt_dofadr[joint]
    limited = bool(model.jnt_limited[joint])
    lower, upper = model.jnt_range[joint] if limited else (-np.pi, np.pi)
    zero = model.qpos0[model.jnt_qposadr[joint]]
    if zero != 0:
        raise UserError(f"Joint {name!r} is at {zero:g} rad in the file's own pose; give it ref = 0.")
    return Hinge(
        name=name,
        axis=turn @ model.jnt_axis[joint],
        lower=float(lower),
        upper=float(upper),
        max_torque=_max_torque(model, joint),
        max_velocity=velocities.get(name, 0.0),
        anchor=turn @ model.jnt_pos[joint],
        armature=float(model.dof_armature[dof]),
        frictionloss=float(model.dof_frictionloss[dof]),
        damping=float(np.atleast_1d(model.dof_damping[dof])[0]),
    )


def _max_torque(model: mujoco.MjModel, joint: int) -> float:
    """From the joint's own limit or its actuator's; 0 where the file has none."""
    if model.jnt_actfrclimited[joint]:
        return float(model.jnt_actfrcrange[joint, 1])
    for actuator in range(model.nu):
        drives = int(model.actuator_trntype[actuator]) == JOINT_DRIVE
        if drives and model.actuator_trnid[actuator, 0] == joint and model.actuator_forcelimited[actuator]:
            return float(model.actuator_forcerange[actuator, 1])
    return 0.0


def _shapes(model: mujoco.MjModel, body: int, link: str, turn: np.ndarray) -> tuple[Shape, ...]:
    """The link's collision shapes, or what is seen of it where it has none."""
    geoms = range(model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body])
    finite = [g for g in geoms if int(model.geom_type[g]) not in ENDLESS]
    solid = [g for g in finite if model.geom_contype[g] or model.geom_conaffinity[g]]
    return tuple(_shape(model, g, link, turn, collides=bool(solid)) for g in solid or finite)


def _shape(model: mujoco.MjModel, geom: int, link: str, turn: np.ndarray, *, collides: bool) -> Shape:
    """A primitive as it is; a mesh (or anything else) as its bounding box."""
    frame = rotation.matrix(model.geom_quat[geom])
    kind = KINDS.get(int(model.geom_type[geom]), "box")
    position, size = model.geom_pos[geom], model.geom_size[geom][: SIZES[kind]]
    if int(model.geom_type[geom]) not in KINDS:
        center, size = model.geom_aabb[geom][:3], model.geom_aabb[geom][3:]
        position = position + frame @ center
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, (turn @ frame).ravel())
    return Shape(
        link=link,
        kind=kind,
        position=as_vector(turn @ position),
        quaternion=as_quaternion(quaternion),
        size=tuple(float(x) for x in size),
        collides=collides,
    )


def _urdf_velocities(path: Path) -> dict[str, float]:
    """Speed limits by joint, which MuJoCo does not take over from a URDF; empty for an MJCF."""
    try:
        root = ElementTree.parse(path).getroot()
        if root.tag != "robot":
            return {}
        limits = {joint.get("name", ""): joint.find("limit") for joint in root.iter("joint")}
        return {n: float(limit.get("velocity", 0)) for n, limit in limits.items() if limit is not None}
    except (ElementTree.ParseError, ValueError) as error:
        raise UserError(f"{path}: its joint limits cannot be read: {error}.") from None
