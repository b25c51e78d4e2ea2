"""Plans as explicit strides between blocks and ramps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssr.motion.footsteps import Foothold, Footstep, Plan, cadence, duty, ground_width
from ssr.motion.limbs import Limbs
from ssr.terrain.tile import Box

WIDTH = 1.5  #: m, half width of every box
REFERENCE_LEG = 0.60  #: m, the leg whose swing times the plans state


def slab(x0: float, x1: float, top: float) -> Box:
    """A block from the floor to `top`, from x0 to x1."""
    return Box((0.5 * (x0 + x1), 0.0, 0.5 * top), (0.5 * (x1 - x0), WIDTH, 0.5 * top))


def ramp(x0: float, z0: float, x1: float, z1: float) -> Box:
    """A block whose top face runs from (x0, z0) to (x1, z1)."""
    pitch = -np.arctan2(z1 - z0, x1 - x0)
    half = 0.5 * np.hypot(x1 - x0, z1 - z0)
    depth = 0.05
    middle = np.array([0.5 * (x0 + x1) - depth * np.sin(pitch), 0.0, 0.5 * (z0 + z1) - depth * np.cos(pitch)])
    return Box((float(middle[0]), 0.0, float(middle[2])), (float(half), WIDTH, depth), float(pitch))


@dataclass(frozen=True, kw_only=True)
class Stride:
    """One step of a sequence: where it lands, how long it swings, how long both feet then stand."""

    x: float
    z: float
    swing: float
    overlap: float  #: s; negative: the other foot has left the ground before this one lands
    roll_lift: float | None = None
    roll_land: float | None = None


def sequence(
    name: str,
    column: str,
    limbs: Limbs,
    strides: list[Stride],
    *,
    boxes: tuple[Box, ...],
    start: tuple[float, float],
    first_side: int,
    pause: float = 0.4,
    **style: object,
) -> Plan:
    """Alternate feet through `strides` from a stand at `start` (x, z)."""
    half = 0.5 * ground_width(limbs)
    place = lambda side, x, z: Foothold(x=x, y=half if side else -half, z=z)
    steps: list[Footstep] = []
    lift, side = pause, first_side
    for stride in strides:
        land = lift + stride.swing
        steps.append(
            Footstep(
                side=side,
                lift=lift,
                land=land,
                hold=place(side, stride.x, stride.z),
                roll_lift=stride.roll_lift,
                roll_land=stride.roll_land,
            )
        )
        lift, side = land + stride.overlap, 1 - side
    return Plan(
        name=name,
        column=column,
        duration=max(s.land for s in steps) + pause,
        start=(place(0, *start), place(1, *start)),
        steps=tuple(steps),
        boxes=boxes,
        **style,  # type: ignore[arg-type]
    )


def gait(limbs: Limbs, speed: float) -> tuple[float, float, float]:
    """Step length, swing time and overlap of a walk at `speed`."""
    period = 1.0 / cadence(speed, limbs)
    swing = 2.0 * period * (1.0 - duty(speed, limbs))
    return speed * period, swing, period - swing
