"""What a robot's parts are for, guessed from where they are: legs, feet, knees, arms, joints worth learning.

Frames: x forward, y left, z up, as the base has them when every joint is at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ssr.errors import UserError
from ssr.robots import imported
from ssr.robots.description import ACTION_SCALE
from ssr.robots.feet import bounds
from ssr.robots.links import Hinge, Link, as_vector, merge_welded
from ssr.robots.mirror_pairs import partners, places
from ssr.robots.spec import Vector

TOE = 0.05  #: m; a lowest link whose joint lies so far ahead of the one before is a toe, not a foot
TURNS = ("roll", "pitch", "yaw")  #: about x, y, z
BENT = {"hip_pitch": -0.2, "knee": 0.4, "ankle_pitch": -0.2}  #: rad about +y: soles stay flat
TORQUE = {"hip": 90.0, "knee": 120.0, "ankle": 45.0, "waist": 90.0}  #: N m of a robot of 30 to 40 kg
ARM_TORQUE, SPEED, ARMATURE = 30.0, 12.0, 0.01
ARM_SCALE = 0.2  #: Table 14
ARM_JOINTS = 4  #: shoulder and elbow; what follows is the wrist


@dataclass(frozen=True, kw_only=True)
class JointGuess:
    """A pair, or a joint on the midline (then both names are the same)."""

    right: str
    left: str
    role: str
    default: float
    range: tuple[float, float]
    kp: float
    kd: float
    action_scale: float
    limits: dict[str, float]  #: max_torque, max_velocity, armature, where the model is silent
    servo: bool  #: gains are those of the model's own actuator


@dataclass(frozen=True, kw_only=True)
class Guess:
    base: str
    torso: str
    feet: tuple[str, str]
    shanks: tuple[str, str]
    hands: tuple[str, str]
    hand_offset: Vector
    camera: Vector
    joints: tuple[JointGuess, ...]
    locked: tuple[str, ...]
    doubts: tuple[str, ...] = field(default=())  #: what a person must look at, a line each


def guess(model: Path) -> Guess:
    base = imported.base_of(model)
    read = imported.read(model, base)
    links, _ = merge_welded(read.links)
    body = _Body(links, imported.servo_gains(model))
    right, left = body.foot()
    leg = body.chain(right)
    knee = body.knee(leg)
    arm = body.arm(leg)
    torso = body.links[arm[0]].parent if arm else body.top()
    hand = arm[-1] if arm else torso
    joints = [*body.leg_joints(leg, knee), *body.waist_joints(torso), *body.arm_joints(arm)]
    driven = {name for joint in joints for name in (joint.right, joint.left)}
    every = [hinge.name for link in links for hinge in link.hinges]
    doubts = [] if arm else [f"hands: no pair of arms was found; {torso} stands for both"]
    return Guess(
        base=links[0].name,
        torso=torso,
        feet=(right, left),
        shanks=(knee, body.pairs[knee]),
        hands=(hand, body.pairs[hand]),
        hand_offset=body.hand_offset(hand),
        camera=body.camera(),
        joints=tuple(joints),
        locked=(*(name for name in every if name not in driven), *read.other_joints),
        doubts=(*doubts, *body.doubts(right, joints)),
    )


class _Body:
    """The merged links, by name, with their mirror partners and places."""

    def __init__(self, links: Sequence[Link], servos: dict[str, tuple[float, float]]) -> None:
        self.links = {link.name: link for link in links}
        self.base = links[0].name
        self.at, self.pairs, self.servos = places(links), partners(links), servos

    def _on_the_right(self) -> list[str]:
        return [n for n, other in self.pairs.items() if n != other and self.at[n][1] < self.at[other][1]]

    def _bottom(self, name: str) -> float:
        link = self.links[name]
        return float(self.at[name][2] + (bounds(link)[0][2] if link.shapes else 0.0))

    def foot(self) -> tuple[str, str]:
        right = self._on_the_right()
        if not right:
            raise UserError(
                "No two links mirror each other across y = 0. The base's frame must have x ahead and z up "
                "when every joint is at 0."
            )
        low = min(right, key=self._bottom)
        toe = lambda name: self.at[name][0] - self.at[self.links[name].parent][0] > TOE
        if toe(low) and self.links[low].parent in right:
            low = self.links[low].parent
        while below := [n for n in right if self.links[n].parent == low and not toe(n)]:  # ankles are low too
            low = min(below, key=self._bottom)
        return low, self.pairs[low]

    def chain(self, end: str) -> list[str]:
        """From the link that hangs on the midline to `end`."""
        out = [end]
        while self.pairs.get(self.links[out[0]].parent) not in (None, self.links[out[0]].parent):
            out.insert(0, self.links[out[0]].parent)
        return out

    def knee(self, leg: list[str]) -> str:
        """The shank: what a pitch hinge turns that lies nearest to the middle between hip and ankle."""
        middle = (self.at[leg[0]][2] + self.at[leg[-1]][2]) / 2
        turning = [n for n in leg[:-1] if any(_turn(hinge) == 1 for hinge in self.links[n].hinges)]
        if not turning:
            raise UserError(f"No knee was found between {leg[0]!r} and {leg[-1]!r}: no hinge turns about y.")
        return min(turning, key=lambda name: abs(self.at[name][2] - middle))

    def arm(self, leg: list[str]) -> list[str]:
        """The longest chain on the right but the leg, up to where it branches into fingers; may be empty."""
        others = [n for n in self._on_the_right() if n not in leg and self.chain(n)[0] != leg[0]]
        chains = [self.chain(name) for name in others]
        roots = {chain[0] for chain in chains}
        best: list[str] = []
        for root in roots:
            along = [root]
            while len(below := [n for n in others if self.links[n].parent == along[-1]]) == 1:
                along += below
            best = max(best, along, key=len)
        return best

    def top(self) -> str:
        """The highest link on the midline."""
        return max((n for n, other in self.pairs.items() if n == other), key=lambda name: self.at[name][2])

    def leg_joints(self, leg: list[str], knee: str) -> list[JointGuess]:
        out, part = [], "hip"
        for name in leg:
            for hinge in self.links[name].hinges:
                bends = name == knee and _turn(hinge) == 1
                out.append(self._joint(hinge, name, "knee" if bends else f"{part}_{TURNS[_turn(hinge)]}"))
            part = "ankle" if name == knee else part
        return out

    def waist_joints(self, torso: str) -> list[JointGuess]:
        """Yaw alone, as in the paper; the waist's other joints stay locked."""
        out: list[JointGuess] = []
        while torso != self.base:
            hinges = [hinge for hinge in self.links[torso].hinges if _turn(hinge) == 2]
            out = [self._joint(hinge, torso, "waist_yaw") for hinge in hinges] + out
            torso = self.links[torso].parent
        return out

    def arm_joints(self, arm: list[str]) -> list[JointGuess]:
        found = [(hinge, name) for name in arm for hinge in self.links[name].hinges][:ARM_JOINTS]
        roles = [f"shoulder_{TURNS[_turn(hinge)]}" for hinge, _ in found[:3]] + ["elbow"]
        return [self._joint(hinge, name, role) for (hinge, name), role in zip(found, roles, strict=False)]

    def _joint(self, hinge: Hinge, link: str, role: str) -> JointGuess:
        mine = [h.name for h in self.links[link].hinges]
        other = self.links[self.pairs[link]].hinges[mine.index(hinge.name)]
        bent = BENT.get(role, 0.0) * float(np.sign(hinge.axis[1]))
        part = role.split("_")[0]
        limits = {} if hinge.max_torque > 0 else {"max_torque": TORQUE.get(part, ARM_TORQUE)}
        limits |= {} if hinge.max_velocity > 0 else {"max_velocity": SPEED}
        limits |= {} if hinge.armature > 0 else {"armature": ARMATURE}
        torque = hinge.max_torque or limits["max_torque"]
        kp, kd = self.servos.get(hinge.name, (float(np.clip(round(torque), 20, 250)), 0.0))
        return JointGuess(
            right=hinge.name,
            left=other.name,
            role=role,
            default=bent if hinge.lower <= bent <= hinge.upper else 0.0,
            range=(hinge.lower, hinge.upper),
            kp=kp,
            kd=kd or round(kp / 40, 1),
            action_scale=ARM_SCALE if part in ("waist", "shoulder", "elbow") else ACTION_SCALE,
            limits=limits,
            servo=hinge.name in self.servos,
        )

    def hand_offset(self, hand: str) -> Vector:
        """The middle of the hand's shapes."""
        link = self.links[hand]
        return as_vector(np.round(sum(bounds(link)) / 2, 3)) if link.shapes else (0.0, 0.0, 0.0)

    def camera(self) -> Vector:
        """Just ahead of the base."""
        link = self.links[self.base]
        ahead = bounds(link)[1][0] + 0.04 if link.shapes else 0.1
        return (round(float(ahead), 3), 0.0, 0.05)

    def doubts(self, foot: str, joints: Sequence[JointGuess]) -> list[str]:
        out = []
        shapes = self.links[foot]
        if shapes.shapes:
            low, high = bounds(shapes)
            if high[0] - low[0] < high[1] - low[1]:
                out.append("base: the feet are wider than long; does its x axis point ahead?")
            elif low[0] + high[0] < 0:
                out.append("base: the feet reach further back than ahead; does its x axis point ahead?")
        else:
            out.append(f"[sole]: {foot} has no shapes; give centre, length and width")
        lone = [n for n in self.links if n not in self.pairs]
        if lone:
            out.append(f"links without a mirror partner, which stay locked: {', '.join(lone)}")
        for key, what in (("max_torque", "N m"), ("max_velocity", "rad/s"), ("armature", "kg m²")):
            without = sum(key in joint.limits for joint in joints)
            if without:
                out.append(f"{key} ({what}): the model has none for {without} of {len(joints)} joints")
        if not all(joint.servo for joint in joints):
            out.append("kp and kd: guessed from torques; the maker's are better")
        out.append("camera: where yours is mounted, and how far it looks down")
        return out


def _turn(hinge: Hinge) -> int:
    """About which axis a hinge turns most: 0, 1 or 2."""
    return int(np.abs(hinge.axis).argmax())
