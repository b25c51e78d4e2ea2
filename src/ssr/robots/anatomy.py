"""A robot's mechanism as data, and the `RobotSpec` that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ssr.robots.assembly import assemble
from ssr.robots.links import Link
from ssr.robots.posture import sole_drop
from ssr.robots.spec import CameraMount, Joint, RobotSpec, Sole, Vector


@dataclass(frozen=True, kw_only=True)
class Anatomy:
    """Merged links, parents first, and what they are for. Pairs are (right, left)."""

    name: str
    title: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    locked_joints: tuple[str, ...]
    torso_link: str
    foot_links: tuple[str, str]
    shank_links: tuple[str, str]
    hand_links: tuple[str, str]
    hand_offset: Vector
    sole: Sole
    camera: CameraMount
    base_height_target: float | None  #: None: the height in the default pose
    min_foot_distance: float


def robot_spec(anatomy: Anatomy, folder: Path | None = None) -> RobotSpec:
    """Measures the standing height in the default pose; the height target is met exactly there.

    folder: where the description lies, unless it is in the package.
    """
    build = partial(
        assemble,
        name=anatomy.name,
        links=anatomy.links,
        joints=anatomy.joints,
        foot_links=anatomy.foot_links,
        shank_links=anatomy.shank_links,
        hand_links=anatomy.hand_links,
        hand_offset=anatomy.hand_offset,
        sole=anatomy.sole,
        camera=anatomy.camera,
    )
    standing_height = sole_drop(build(), anatomy.joints)
    target = standing_height if anatomy.base_height_target is None else anatomy.base_height_target
    return RobotSpec(
        name=anatomy.name,
        title=anatomy.title,
        joints=anatomy.joints,
        locked_joints=anatomy.locked_joints,
        base_link=anatomy.links[0].name,
        torso_link=anatomy.torso_link,
        foot_links=anatomy.foot_links,
        hand_links=anatomy.hand_links,
        shank_links=anatomy.shank_links,
        hand_offset=anatomy.hand_offset,
        shapes=tuple(shape for link in anatomy.links for shape in link.shapes),
        sole=anatomy.sole,
        camera=anatomy.camera,
        standing_height=standing_height,
        base_height_target=target,
        base_height_offset=target - standing_height,
        min_foot_distance=anatomy.min_foot_distance,
        folder=folder,
        build=build,
    )
