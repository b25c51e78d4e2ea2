"""A user's own robot: an MJCF or URDF and the TOML file that explains it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np

from ssr.errors import UserError, unknown
from ssr.ranges import OutOfRange
from ssr.robots import description, imported
from ssr.robots.anatomy import Anatomy, robot_spec
from ssr.robots.description import Description, JointEntry
from ssr.robots.feet import sole_under, with_flat_foot
from ssr.robots.links import Hinge, Link, as_vector, merge_welded, mirror_sign
from ssr.robots.posture import stand
from ssr.robots.spec import Joint

SIDES = ("right", "left")
FOOT_SPACING = 0.8  #: minimum foot distance over the distance of the soles at rest; 0.22 m of 0.274 m on X2
LEVEL = np.cos(np.deg2rad(2.0))  #: a sole tilted by more than this is not flat
MIRRORED = 0.999  #: cosine between the mirror image of a hinge's axis and its partner's


def anatomy(path: Path) -> Anatomy:
    """The robot of a TOML file, once it is known to stand on two flat soles, the right one on the right."""
    about = description.read(path)
    model = imported.read(about.model, about.base)
    _check_links(about, model.links)
    hinges = {hinge.name: hinge for link in model.links for hinge in link.hinges}
    joints = _joints(about, hinges, model.other_joints)
    links, placed = merge_welded([_with_policy_hinges(link, about, joints) for link in model.links])
    for foot in about.feet:
        if placed[foot].link != foot:
            raise UserError(f"{path}: no [[joint]] moves foot link {foot!r}; list the ankle's joints.")
    foot_links = [next(link for link in links if link.name == foot) for foot in about.feet]
    sole = about.sole or sole_under(foot_links[0])
    if sole is None:
        raise UserError(f"{path}: foot link {about.feet[0]!r} has no shapes; describe its sole in [sole].")
    feet = {foot.name: with_flat_foot(foot, sole, side) for foot, side in zip(foot_links, SIDES, strict=True)}
    hand = placed[about.hands[0]]
    found = Anatomy(
        name=about.name,
        title=about.title,
        links=tuple(feet.get(link.name, link) for link in links),
        joints=joints,
        locked_joints=_locked(joints, (*hinges, *model.other_joints)),
        torso_link=placed[about.torso].link,
        foot_links=about.feet,
        shank_links=(placed[about.shanks[0]].link, placed[about.shanks[1]].link),
        hand_links=(hand.link, placed[about.hands[1]].link),
        hand_offset=as_vector(hand.point(about.hand_offset)),
        sole=sole,
        camera=about.camera,
        base_height_target=about.base_height_target,
        min_foot_distance=about.min_foot_distance or 0.0,
    )
    return replace(found, min_foot_distance=_foot_distance(found, about))


def _check_links(about: Description, links: Sequence[Link]) -> None:
    parents = {link.name: link.parent for link in links}
    roles = {"torso": (about.torso,), "feet": about.feet, "shanks": about.shanks, "hands": about.hands}
    for role, names in roles.items():
        for name in names:
            if name not in parents:
                raise unknown(f"link in {role} of {about.file}", name, parents)
    for foot, shank in zip(about.feet, about.shanks, strict=True):
        above = parents[foot]
        while above and above != shank:
            above = parents[above]
        if above != shank:
            raise UserError(f"{about.file}: foot {foot!r} does not hang on shank {shank!r}.")


def _joints(about: Description, hinges: dict[str, Hinge], others: Iterable[str]) -> tuple[Joint, ...]:
    """Policy order: runs of pairs give all right joints, then all left ones, as the paper's blocks do."""
    for entry in about.joints:
        for name in (entry.right, entry.left):
            if name in others:
                raise UserError(f"{about.file}: joint {name!r} is no hinge; only hinges can be controlled.")
            if name not in hinges:
                raise unknown(f"joint in {about.file}", name, hinges)
    out: list[Joint] = []
    for paired, run in groupby(about.joints, key=lambda entry: entry.paired):
        entries = list(run)
        out += [_joint(about, entry, hinges, entry.right, entry.left) for entry in entries]
        if paired:
            out += [_joint(about, entry, hinges, entry.left, entry.right) for entry in entries]
    names = [joint.name for joint in out]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{about.file}: joint {name!r} is listed twice.")
    return tuple(out)


def _joint(about: Description, entry: JointEntry, hinges: dict[str, Hinge], name: str, partner: str) -> Joint:
    hinge, other = hinges[name], hinges[partner]
    cosine = mirror_sign(hinge.axis, other.axis)
    if abs(cosine) < MIRRORED:
        raise UserError(
            f"{about.file}: {name!r} and {partner!r} are no mirror partners: their axes "
            f"{np.round(hinge.axis, 3).tolist()} and {np.round(other.axis, 3).tolist()} do not mirror."
        )
    sign = float(np.sign(cosine))
    lower, upper = _common_range(hinge, other, sign)
    default = sign * entry.default + 0.0 if name != entry.right else entry.default
    if not lower <= default <= upper:
        raise UserError(
            f"{about.file}: default {default:g} of {name!r} is outside its limits "
            f"[{lower:g}, {upper:g}], or those of its partner."
        )
    limits = {
        "max_torque": entry.numbers.get("max_torque", hinge.max_torque),
        "max_velocity": entry.numbers.get("max_velocity", hinge.max_velocity),
    }
    for key, value in limits.items():
        if value <= 0:
            raise UserError(f"{about.file}: the model has no {key} for {name!r}; give it here.")
    try:
        return Joint(
            name=name,
            role=entry.role,
            mirror_name=partner,
            mirror_sign=sign,
            lower=lower,
            upper=upper,
            kp=entry.numbers["kp"],
            kd=entry.numbers["kd"],
            action_scale=entry.numbers["action_scale"],
            default=default,
            **limits,
        )
    except OutOfRange as error:
        raise UserError(f"{about.file}, {name!r}: {error}") from None


def _common_range(hinge: Hinge, other: Hinge, sign: float) -> tuple[float, float]:
    """The angles that the joint and its mirror partner can both reach."""
    low, high = (other.lower, other.upper) if sign > 0 else (-other.upper, -other.lower)
    return max(hinge.lower, low), min(hinge.upper, high)


def _with_policy_hinges(link: Link, about: Description, joints: Sequence[Joint]) -> Link:
    """Locks the hinges that are not the policy's; the others take over what the TOML says of them."""
    by_name = {joint.name: joint for joint in joints}
    numbers = {name: entry.numbers for entry in about.joints for name in (entry.right, entry.left)}
    hinges = tuple(
        replace(
            hinge,
            lower=by_name[hinge.name].lower,
            upper=by_name[hinge.name].upper,
            armature=numbers[hinge.name].get("armature", hinge.armature),
            frictionloss=numbers[hinge.name].get("frictionloss", hinge.frictionloss),
            damping=numbers[hinge.name].get("damping", hinge.damping),
        )
        for hinge in link.hinges
        if hinge.name in by_name
    )
    return replace(link, hinges=hinges)


def _locked(joints: Sequence[Joint], every: Iterable[str]) -> tuple[str, ...]:
    policy = {joint.name for joint in joints}
    return tuple(name for name in every if name not in policy)


def _foot_distance(anatomy: Anatomy, about: Description) -> float:
    """Least distance of the feet, m, as given or as they stand; a robot that does not stand is refused."""
    try:
        spec = robot_spec(anatomy)
    except ValueError as error:
        raise UserError(f"{about.file}: MuJoCo refuses the robot: {' '.join(str(error).split())}") from None
    _, data = stand(spec.build(), spec.joints)
    for side, foot in zip(SIDES, about.feet, strict=True):
        upright = data.site(f"{side}_sole").xmat.reshape(3, 3)[2, 2]
        if upright < LEVEL:
            tilt = np.rad2deg(np.arccos(np.clip(upright, -1, 1)))
            raise UserError(
                f"{about.file}: the sole of {foot!r} is tilted by {tilt:.0f}° in the default pose; "
                "choose defaults that put it flat."
            )
    distance = data.site("left_sole").xpos[1] - data.site("right_sole").xpos[1]
    if distance <= 0:
        raise UserError(f"{about.file}: feet are right, left, but {about.feet[0]!r} stands on the left.")
    return FOOT_SPACING * float(distance) if about.min_foot_distance is None else about.min_foot_distance
