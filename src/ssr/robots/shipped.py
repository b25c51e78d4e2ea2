"""The robots that come with the project, read from `data/*.json`.

A data file describes the right side and the midline; the left side is derived from it, so that left and
right are exact mirror images.
"""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np

from ssr import rotation
from ssr.robots.anatomy import Anatomy
from ssr.robots.links import (
    Hinge,
    Link,
    as_quaternion,
    as_vector,
    merge_welded,
    mirror_sign,
    mirrored,
    other_side,
)
from ssr.robots.spec import CameraMount, Joint, Shape, Sole

AXES = {"x": np.array([1.0, 0.0, 0.0]), "y": np.array([0.0, 1.0, 0.0]), "z": np.array([0.0, 0.0, 1.0])}
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


def names() -> tuple[str, ...]:
    """Of the robots that ship."""
    data = files("ssr.robots") / "data"
    return tuple(sorted(file.name[: -len(".json")] for file in data.iterdir() if file.name.endswith(".json")))


def read(name: str) -> dict[str, Any]:
    """The data file of a shipped robot."""
    return json.loads((files("ssr.robots") / "data" / f"{name}.json").read_text(encoding="utf-8"))


def anatomy(name: str) -> Anatomy:
    data = read(name)
    half, placed = merge_welded([_link(entry, data) for entry in data["links"]])
    links = _both_sides(half)
    joints = tuple(_joint(hinge, data) for link in links for hinge in link.hinges)
    foot = placed[data["foot"]].link
    shank = placed[data["shank"]].link
    hand = placed[data["hand"]["link"]]
    return Anatomy(
        name=name,
        title=data["title"],
        links=tuple(links),
        joints=joints,
        locked_joints=_locked(data),
        torso_link=placed[data["torso"]].link,
        foot_links=(foot, other_side(foot)),
        shank_links=(shank, other_side(shank)),
        hand_links=(hand.link, other_side(hand.link)),
        hand_offset=as_vector(hand.point(data["hand"]["position"])),
        sole=_sole(data["sole"]),
        camera=CameraMount(position=as_vector(data["camera"]["position"]), pitch=data["camera"]["pitch"]),
        base_height_target=data["base_height_target"],
        min_foot_distance=data["min_foot_distance"],
    )


def _link(entry: dict[str, Any], data: dict[str, Any]) -> Link:
    mass_scale = 1.0
    if data["total_mass"]:
        mass_scale = data["total_mass"] / _total_mass(data)
    xx, yy, zz, xy, xz, yz = entry["inertia"]
    joint = entry.get("joint")
    hinges = (_hinge(joint, data),) if joint and not joint.get("locked") else ()
    foot_name = "right_foot" if entry["name"] == data["foot"] else ""
    return Link(
        name=entry["name"],
        parent=entry["parent"] or "",
        position=np.array(entry.get("position", (0.0, 0.0, 0.0))),
        quaternion=rotation.from_rpy(entry.get("rpy", (0.0, 0.0, 0.0))),
        mass=entry["mass"] * mass_scale,
        com=np.array(entry["com"]),
        inertia=np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) * mass_scale,
        hinges=hinges,
        shapes=tuple(
            replace(_shape(shape, entry["name"]), name=foot_name if shape["part"] == "foot" else "")
            for shape in entry["shapes"]
        ),
    )


def _total_mass(data: dict[str, Any]) -> float:
    return sum(
        entry["mass"] * (2 if other_side(entry["name"]) != entry["name"] else 1) for entry in data["links"]
    )


def _hinge(entry: dict[str, Any], data: dict[str, Any]) -> Hinge:
    return Hinge(
        name=entry["name"],
        role=entry["role"],
        axis=AXES[entry["axis"]],
        lower=entry["range"][0],
        upper=entry["range"][1],
        max_torque=entry["torque"],
        max_velocity=entry["velocity"],
        anchor=np.zeros(3),
        armature=entry.get("armature", data["armature"]),
        frictionloss=data["frictionloss"],
    )


def _shape(entry: dict[str, Any], link: str) -> Shape:
    kind = entry["kind"]
    position = entry.get("pos", (0.0, 0.0, 0.0))
    quaternion = UPRIGHT
    size: tuple[float, ...]
    if kind == "capsule":
        start, end = np.array(entry["from"], dtype=float), np.array(entry["to"], dtype=float)
        position, quaternion = (start + end) / 2, rotation.z_towards(end - start)
        size = (entry["radius"], float(np.linalg.norm(end - start)) / 2)
    elif kind == "cylinder":
        quaternion = rotation.z_towards(AXES[entry["axis"]])
        size = (entry["radius"], entry["half_length"])
    elif kind == "box":
        size = tuple(entry["half"])
    else:
        size = (entry["radius"],)
    return Shape(
        link=link,
        kind=kind,
        position=as_vector(position),
        quaternion=as_quaternion(quaternion),
        size=size,
        collides=entry.get("collides", False),
        part=entry["part"],
    )


def _both_sides(half: list[Link]) -> list[Link]:
    """Parents first, depth first; each right limb is followed by its mirror image."""

    def subtree(root: Link) -> list[Link]:
        below = [link for link in half if link.parent == root.name]
        return [root, *(link for child in below for link in limb(root, child))]

    def limb(parent: Link, child: Link) -> list[Link]:
        branch = subtree(child)
        leaves_midline = other_side(parent.name) == parent.name and other_side(child.name) != child.name
        return branch + [mirrored(link) for link in branch] if leaves_midline else branch

    return subtree(half[0])


def _joint(hinge: Hinge, data: dict[str, Any]) -> Joint:
    """Gains, scale and default pose are listed by role; the pose as the right side has it."""
    sign = mirror_sign(hinge.axis, hinge.axis)
    default = data["default_pose"].get(hinge.role, 0.0)
    return Joint(
        name=hinge.name,
        role=hinge.role,
        mirror_name=other_side(hinge.name),
        mirror_sign=sign,
        lower=hinge.lower,
        upper=hinge.upper,
        max_torque=hinge.max_torque,
        max_velocity=hinge.max_velocity,
        default=sign * default + 0.0 if hinge.name.startswith("left") else default,  # + 0.0: no -0.0
        **data["gains"][hinge.role],
    )


def _locked(data: dict[str, Any]) -> tuple[str, ...]:
    right = [entry["joint"]["name"] for entry in data["links"] if entry.get("joint", {}).get("locked")]
    left = [other_side(name) for name in right if other_side(name) != name]
    return (*right, *left)


def _sole(entry: dict[str, Any]) -> Sole:
    return Sole(
        center=as_vector(entry["center"]),
        length=entry["length"],
        width=entry["width"],
        patch=tuple(entry["patch"]),
    )
