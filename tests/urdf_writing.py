"""A robot as a URDF, as its maker might publish it: one link and one hinge each, shapes for collision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ssr import rotation
from ssr.robots.anatomy import Anatomy
from ssr.robots.links import Link
from ssr.robots.spec import Shape


def urdf(anatomy: Anatomy) -> str:
    links = "".join(_link(link) for link in anatomy.links)
    joints = "".join(_joint(link) for link in anatomy.links if link.parent)
    return f'<?xml version="1.0"?><robot name="{anatomy.name}">{links}{joints}</robot>'


def _numbers(values: Sequence[float] | np.ndarray) -> str:
    return " ".join(f"{float(v):.9g}" for v in values)


def _link(link: Link) -> str:
    i = link.inertia
    parts = zip(
        ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), (*np.diag(i), i[0, 1], i[0, 2], i[1, 2]), strict=True
    )
    inertia = " ".join(f'{name}="{value:.9g}"' for name, value in parts)
    return (
        f'<link name="{link.name}"><inertial><origin xyz="{_numbers(link.com)}"/><mass value="{link.mass}"/>'
        f"<inertia {inertia}/></inertial>{''.join(map(_shape, link.shapes))}</link>"
    )


def _shape(shape: Shape) -> str:
    """Capsules, which URDF does not have, become cylinders."""
    if shape.kind == "box":
        solid = f'<box size="{_numbers(2 * np.array(shape.size))}"/>'
    elif shape.kind == "sphere":
        solid = f'<sphere radius="{shape.size[0]}"/>'
    else:
        solid = f'<cylinder radius="{shape.size[0]}" length="{2 * shape.size[1]}"/>'
    turn = rotation.matrix(np.array(shape.quaternion))
    roll, pitch = np.arctan2(turn[2, 1], turn[2, 2]), -np.arcsin(np.clip(turn[2, 0], -1, 1))
    yaw = np.arctan2(turn[1, 0], turn[0, 0])
    origin = f'<origin xyz="{_numbers(shape.position)}" rpy="{_numbers((roll, pitch, yaw))}"/>'
    return f"<collision>{origin}<geometry>{solid}</geometry></collision>"


def _joint(link: Link) -> str:
    (hinge,) = link.hinges
    limit = f'lower="{hinge.lower}" upper="{hinge.upper}" effort="{hinge.max_torque}" velocity="15"'
    return (
        f'<joint name="{hinge.name}" type="revolute">'
        f'<parent link="{link.parent}"/><child link="{link.name}"/>'
        f'<origin xyz="{_numbers(link.position)}"/><axis xyz="{_numbers(hinge.axis)}"/>'
        f"<limit {limit}/></joint>"
    )
