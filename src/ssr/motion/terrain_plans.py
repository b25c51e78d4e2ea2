"""Plans over terrain: slopes, stairs, low obstacles, gaps and platforms.

Settings span the curriculum (Table 3) and the evaluation's 0.90 m gap and 0.45 m platform, in metres for
every robot. How it masters them – striding or leaping, in one go or with pauses – follows from its legs.
"""

from __future__ import annotations

import numpy as np

from ssr.motion.flat_plans import steady
from ssr.motion.footsteps import Plan, walk
from ssr.motion.leap_plans import gap, platform
from ssr.motion.limbs import Limbs
from ssr.motion.strides import REFERENCE_LEG, Stride, ramp, sequence, slab

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
