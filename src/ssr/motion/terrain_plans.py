"""Plans over terrain: slopes, stairs, low obstacles, gaps and platforms.

Settings span the curriculum (Table 3) and the evaluation's 0.90 m gap and 0.45 m platform, in metres for every
robot; how a robot masters them – striding or leaping, step by step or with pauses – follows from its legs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssr.motion.flat_plans import steady
from ssr.motion.footsteps import Foothold, Footstep, Plan, cadence, duty, ground_width, walk
from ssr.motion.limbs import Limbs
from ssr.terrain.tile import Box

WIDTH = 1.5  #: m, half width of every box
REFERENCE_LEG = 0.60  #: m, the leg whose swing times the plans state

SLOPES = (5.0, 8.0, 11.0, 14.0, 17.0, 20.0)  #: degrees
STAIRS = (
    (0.40, 0.05),
    (0.35, 0.10),
    (0.31, 0.13),
    (0.30, 0.15),
    (0.27, 0.17),
    (0.25, 0.20),
)  #: tread, riser, m
OBSTACLES = (0.05, 0.08, 0.11, 0.14, 0.17, 0.20)  #: m
GAPS = (0.10, 0.20, 0.30, 0.40, 0.50, 0.60, 0.70, 0.80, 0.90)  #: m
PLATFORMS = (0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40, 0.45)  #: m


def terrain_plans(limbs: Limbs) -> list[Plan]:
    rng = np.random.default_rng(11)
    plans: list[Plan] = []
    for k, degrees in enumerate(SLOPES):
        for direction in (1.0, -1.0):
            for speed in (0.4, 0.9 - 0.02 * degrees, -0.4):
                plans.append(slope(limbs, direction * degrees, speed, k % 2))
    for k, (tread, riser) in enumerate(STAIRS):
        for direction in (1.0, -1.0):
            for pace in (0.9, 1.25):
                plans.append(stairs(limbs, tread, direction * riser, pace, k % 2))
    for k, height in enumerate(OBSTACLES):
        for speed in (0.4, 0.6):
            plans.append(obstacles(limbs, height, speed, k % 2, rng))
    for k, width in enumerate(GAPS):
        for speed in (0.8, 1.1):
            plans.append(gap(limbs, width, speed, k % 2))
    for k, height in enumerate(PLATFORMS):
        for pace in (0.9, 1.2):
            plans.append(platform(limbs, height, pace, k % 2))
    return plans


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


def slope(limbs: Limbs, degrees: float, speed: float, first_side: int) -> Plan:
    """Walk on an incline from standing, up (degrees > 0) or down, forwards or (speed < 0) backwards."""
    duration = 6.5
    length = abs(speed) * duration + 2.0
    rise = np.tan(np.radians(degrees))
    x0, x1 = (-1.0, length) if speed > 0 else (-length, 1.0)
    low = min(rise * x0, rise * x1)
    uphill = degrees * np.sign(speed) > 0
    return walk(
        f"slope_{degrees:+.0f}_{speed:+.1f}",
        "slope",
        limbs,
        velocity=steady(speed, 0.0, 0.0, duration),
        duration=duration,
        boxes=(ramp(x0, rise * x0 - low, x1, rise * x1 - low),),
        first_side=first_side,
        lean=((0.0, 0.03 + 0.35 * np.radians(max(degrees, 0.0)) * np.sign(max(speed, 0.0))),),
        roll_lift=(0.28 if uphill else 0.18) if speed > 0 else 0.0,
        roll_land=(-0.06 if uphill else -0.10) if speed > 0 else 0.10,
        crouch=0.03 if uphill else 0.05,
    )


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


def _gait(limbs: Limbs, speed: float) -> tuple[float, float, float]:
    """Step length, swing time and overlap of a walk at `speed`."""
    period = 1.0 / cadence(speed, limbs)
    swing = 2.0 * period * (1.0 - duty(speed, limbs))
    return speed * period, swing, period - swing


def stairs(limbs: Limbs, tread: float, riser: float, pace: float, first_side: int, count: int = 6) -> Plan:
    """Walk `count` steps up (riser > 0) or down, one foot per tread; `pace` is treads per second over 1.4."""
    period = 1.0 / (1.4 * pace * np.sqrt(REFERENCE_LEG / limbs.leg))
    swing, overlap = 0.62 * period, 0.38 * period
    clear = limbs.sole_half[0] + 0.03
    tops = [k * riser if riser > 0 else (count - k) * -riser for k in range(count + 1)]
    far = count * tread + 2.5
    bounds = [-2.0] + [k * tread for k in range(count)] + [far]
    boxes = tuple(
        slab(x0, x1, top) for x0, x1, top in zip(bounds, bounds[1:], tops, strict=False) if top > 1e-6
    )
    stride = lambda x, z, **kw: Stride(x=x, z=z, swing=swing, overlap=overlap, **kw)
    up = riser > 0
    landing = {"roll_land": 0.0 if up else 0.12}
    start = -clear - 0.75 * limbs.leg
    walkway = [stride(-clear - 0.30 * limbs.leg, tops[0]), stride(-clear, tops[0])]
    # The sole lies in the middle of the tread; one longer than the tread hangs over its open edge.
    free = limbs.sole_half[0] + 0.01
    middle = min(0.5 * tread, tread - free) if up else max(0.5 * tread, free)
    climb = [stride(k * tread + middle, tops[k + 1], **landing) for k in range(count - 1)]
    last = bounds[-2]
    leave = [
        stride(last + clear, tops[-1], **landing),
        stride(last + clear + 0.6 * limbs.leg, tops[-1]),
        stride(last + clear + 0.9 * limbs.leg, tops[-1]),
        stride(last + clear + 0.9 * limbs.leg, tops[-1]),
    ]
    return sequence(
        f"stairs_{tread:.2f}_{riser:+.2f}_{pace:.1f}",
        "stairs",
        limbs,
        walkway + climb + leave,
        boxes=boxes,
        start=(start, tops[0]),
        first_side=first_side,
        lean=((0.0, 0.04), (1.5, 0.04 + (0.5 * riser if up else 0.0))),
        roll_lift=0.25 if up else 0.20,
        crouch=0.03 if up else 0.06,
        clearance=0.035,
    )


def obstacles(limbs: Limbs, height: float, speed: float, first_side: int, rng: np.random.Generator) -> Plan:
    """Walk over low blocks of random length and height, on and off."""
    duration = 7.0
    boxes, x = [], 0.9
    while x < speed * duration + 1.0:
        length = float(rng.uniform(0.8, 1.6)) * limbs.leg + 2.0 * limbs.sole_half[0]
        boxes.append(slab(x, x + length, height * float(rng.uniform(0.6, 1.0))))
        x += length + float(rng.uniform(0.4, 1.2)) * limbs.leg + 2.0 * limbs.sole_half[0]
    return walk(
        f"obstacles_{height:.2f}_{speed:.2f}",
        "step",
        limbs,
        velocity=steady(speed, 0.0, 0.0, duration),
        duration=duration,
        boxes=tuple(boxes),
        first_side=first_side,
        roll_lift=0.2,
        roll_land=-0.04,
        crouch=0.04,
        lean=((0.0, 0.05),),
    )


def gap(limbs: Limbs, width: float, speed: float, first_side: int) -> Plan:
    """Walk up to a gap, cross it in one stride – a leap when the legs cannot span it – and walk on."""
    length, swing, overlap = _gait(limbs, speed)
    clear = limbs.sole_half[0] + 0.02
    top = 0.4
    edge = 4.0 * length
    far = edge + width
    boxes = (slab(-2.0, edge, top), slab(far, far + 5.0 * length + 3.0, top))
    span = width + 2.0 * clear
    spare = max(span - 0.85 * limbs.leg, 0.0)  # what the legs cannot span is flown
    run = max(speed, 1.0) + 1.1 * spare
    flight = spare / run
    # Both swings together carry the body from one step before the gap to one behind it, at `run` on average.
    crossing = max(swing, 0.5 * ((span + length) / run + flight))
    stride = lambda x, **kw: Stride(x=x, z=top, swing=swing, overlap=overlap, **kw)
    first = edge - clear - 3.0 * length
    approach = [stride(first + k * length) for k in (1, 2)]
    before = stride(edge - clear)
    over = Stride(
        x=far + clear,
        z=top,
        swing=crossing,
        overlap=-flight if flight > 0 else 0.5 * overlap,
        roll_lift=0.3,
        roll_land=-0.10,
    )
    after = Stride(
        x=far + clear + length, z=top, swing=max(swing, 0.9 * crossing), overlap=overlap, roll_lift=0.4
    )
    leave = [stride(far + clear + k * length) for k in (2, 3)] + [stride(far + clear + 3.0 * length)]
    lean = 0.05 + 0.10 * min(spare / limbs.leg, 1.0)
    return sequence(
        f"gap_{width:.2f}_{speed:.1f}",
        "gap",
        limbs,
        [*approach, before, over, after, *leave],
        boxes=boxes,
        start=(first, top),
        first_side=first_side,
        lean=((0.0, lean),),
        roll_lift=0.25,
        arm_swing=1.0 + 0.3 * min(spare / limbs.leg, 1.0),
    )


def platform(limbs: Limbs, height: float, pace: float, first_side: int) -> Plan:
    """Walk up to a platform, step onto it, cross it, step down and walk on."""
    share = height / limbs.leg
    slower = np.sqrt(limbs.leg / REFERENCE_LEG)  # longer legs swing more slowly
    swing, overlap = (0.42 + 0.45 * share) / pace * slower, (0.12 + 0.45 * share) / pace * slower
    timed = lambda x, z, swing, overlap, **kw: Stride(
        x=x, z=z, swing=swing * slower, overlap=overlap * slower, **kw
    )
    normal = lambda x, z, **kw: timed(x, z, 0.42 / pace, 0.12 / pace, **kw)
    slow = lambda x, z, **kw: Stride(x=x, z=z, swing=swing, overlap=overlap, **kw)
    clear = limbs.sole_half[0] + 0.03
    length = 0.55 * limbs.leg
    edge = 3.0 * length
    before = edge - clear - 0.30 * height  # the higher, the more room for the rising knee
    on = edge + clear
    off = on + 0.35 * limbs.leg + 2.0 * length
    end = off + clear
    boxes = (slab(edge, end, height),)
    beyond = end + clear
    step_up = [
        slow(on, height, roll_lift=0.15, roll_land=0.0),
        slow(on + 0.35 * limbs.leg, height, roll_lift=0.25 + 0.5 * share, roll_land=0.0),
    ]
    # Onto a high platform the feet gather, push off together and land one shortly after the other.
    leap_up = [
        normal(before, 0.0),
        timed(on, height, 0.50, -0.24, roll_lift=0.3, roll_land=0.0),
        timed(on + 0.35 * limbs.leg, height, 0.44, 0.30, roll_lift=0.6, roll_land=0.0),
    ]
    step_down = [
        slow(beyond, 0.0, roll_lift=0.10, roll_land=0.15 + 0.2 * share),
        slow(beyond + 0.45 * limbs.leg, 0.0, roll_lift=0.20 + 0.6 * share),
    ]
    # From a high platform both feet leave before one lands, and land one shortly after the other.
    leap_down = [
        timed(beyond + 0.1, 0.0, 0.50, -0.26, roll_lift=0.25, roll_land=0.04),
        timed(beyond + 0.25, 0.0, 0.40, 0.30, roll_lift=0.45, roll_land=0.04),
    ]
    strides = [
        normal(before - length, 0.0),
        normal(before, 0.0),
        *(leap_up if share > 0.5 else step_up),
        normal(on + 0.35 * limbs.leg + length, height),
        normal(off, height),
        normal(off, height),
        *(leap_down if share > 0.4 else step_down),
        normal(beyond + 0.45 * limbs.leg + length, 0.0),
        normal(beyond + 0.45 * limbs.leg + length, 0.0),
    ]
    plan = sequence(
        f"platform_{height:.2f}_{pace:.1f}",
        "platform",
        limbs,
        strides,
        boxes=boxes,
        start=(before - 2.0 * length, 0.0),
        first_side=first_side,
        roll_lift=0.22,
        crouch=0.04,
        clearance=0.035,
    )
    up, down = (
        s for a, s in zip((None, *plan.steps), plan.steps, strict=False) if a and a.hold.z != s.hold.z
    )
    bow = 0.05 + 0.5 * share
    lean = (
        (0.0, 0.04),
        (up.lift - 0.2, 0.04),
        (up.land, bow),
        (up.land + overlap + 0.3 * swing, bow),
        (up.land + overlap + swing, 0.05),
        (down.lift, 0.05),
        (down.land, 0.05 + 0.25 * share),
        (down.land + overlap + swing, 0.04),
    )
    return Plan(**{**vars(plan), "lean": lean})
