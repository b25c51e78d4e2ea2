"""Plans over terrain: slopes, stairs, low obstacles, gaps and platforms.

Settings span the curriculum (Table 3) and the evaluation's 0.90 m gap and 0.45 m platform, in metres for
every robot. How it masters them – striding or leaping, in one go or with pauses – follows from its legs.
Speeds span what is commanded there (Table 4): neighbouring settings take turns at slower and faster ones.
"""

from __future__ import annotations

import numpy as np

from ssr.motion.flat_plans import steady
from ssr.motion.footsteps import Plan, duty, walk
from ssr.motion.leap_plans import gap, platform
from ssr.motion.limbs import Limbs
from ssr.motion.strides import Stride, ramp, sequence, slab

SLOPES = (5.0, 9.0, 13.0, 17.0, 20.0)  #: degrees
SLOPE_SPEEDS = ((0.3, 0.6, 0.9, -0.3, -0.7), (0.45, 0.8, 1.1, -0.5, -1.0))  #: m/s
STAIRS = (
    (0.40, 0.05),
    (0.35, 0.10),
    (0.31, 0.13),
    (0.30, 0.15),
    (0.27, 0.17),
    (0.25, 0.20),
)  #: tread, riser, m
STAIR_SPEEDS = ((0.3, 0.6, 0.9, 1.2), (0.45, 0.75, 1.05))  #: m/s
QUICKEST = 3.5  #: treads per second; narrow treads end the speeds there
OBSTACLES = (0.05, 0.08, 0.11, 0.14, 0.17, 0.20)  #: m
OBSTACLE_SPEEDS = ((0.3, 0.6, 0.9), (0.45, 0.75, 1.1))  #: m/s
GAPS = (0.10, 0.20, 0.30, 0.40, 0.50, 0.60, 0.70, 0.80, 0.90)  #: m
GAP_SPEEDS = ((0.25, (0.3, 0.5, 0.7, 0.9, 1.1)), (0.55, (0.6, 0.9, 1.2)), (1.0, (0.9, 1.2)))  #: widest m, m/s
PLATFORMS = (0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40, 0.45)  #: m
PLATFORM_SPEEDS = ((0.22, (0.3, 0.6, 0.9, 1.2)), (0.32, (0.45, 0.75, 1.05)), (0.5, (0.5, 0.9)))  #: highest m


def terrain_plans(limbs: Limbs) -> list[Plan]:
    rng = np.random.default_rng(11)
    plans: list[Plan] = []
    for k, degrees in enumerate(SLOPES):
        for direction in (1.0, -1.0):
            for speed in SLOPE_SPEEDS[k % 2]:
                plans.append(slope(limbs, direction * degrees, speed, k % 2))
    for k, (tread, riser) in enumerate(STAIRS):
        for direction in (1.0, -1.0):
            for speed in STAIR_SPEEDS[k % 2]:
                if speed <= QUICKEST * tread:
                    plans.append(stairs(limbs, tread, direction * riser, speed, k % 2))
    for k, height in enumerate(OBSTACLES):
        for speed in OBSTACLE_SPEEDS[k % 2]:
            plans.append(obstacles(limbs, height, speed, k % 2, rng))
    for k, width in enumerate(GAPS):
        for speed in _up_to(width, GAP_SPEEDS):
            plans.append(gap(limbs, width, speed, k % 2))
    for k, height in enumerate(PLATFORMS):
        for speed in _up_to(height, PLATFORM_SPEEDS):
            plans.append(platform(limbs, height, speed, k % 2))
    return plans


def _up_to(size: float, table: tuple[tuple[float, tuple[float, ...]], ...]) -> tuple[float, ...]:
    """The speeds of the first row whose size is not exceeded."""
    return next(speeds for most, speeds in table if size <= most)


def slope(limbs: Limbs, degrees: float, speed: float, first_side: int) -> Plan:
    """Walk on an incline from standing, up (degrees > 0) or down, forwards or (speed < 0) backwards."""
    duration = 5.0
    length = abs(speed) * duration + 2.0
    rise = np.tan(np.radians(degrees))
    x0, x1 = (-1.0, length) if speed > 0 else (-length, 1.0)
    low = min(rise * x0, rise * x1)
    uphill = degrees * np.sign(speed) > 0
    return walk(
        f"slope_{degrees:+.0f}_{speed:+.2f}",
        "slope",
        limbs,
        velocity=steady(speed, 0.0, 0.0, duration),
        duration=duration,
        boxes=(ramp(x0, rise * x0 - low, x1, rise * x1 - low),),
        first_side=first_side,
        lean=((0.0, 0.03 + 0.35 * np.radians(max(degrees, 0.0)) * np.sign(max(speed, 0.0))),),
        roll_lift=(0.28 if uphill else 0.18) if speed > 0 else 0.0,
        roll_land=(-0.06 if uphill else -0.10) if speed > 0 else 0.10,
        crouch=0.015 if uphill else 0.03,
    )


def stairs(
    limbs: Limbs, tread: float, riser: float, speed: float, first_side: int, count: int | None = None
) -> Plan:
    """Walk `count` steps up (riser > 0) or down at `speed` m/s, one foot per tread."""
    count = count or (5 if speed < 0.5 else 8)  # seconds enough at every speed
    period = tread / speed
    swing = 2.0 * period * (1.0 - duty(1.6 * speed, limbs))  # a foot rises as it travels: it takes its time
    overlap = period - swing
    clear = limbs.sole_half[0] + 0.03
    tops = [k * riser if riser > 0 else (count - k) * -riser for k in range(count + 1)]
    far = count * tread + 2.5
    bounds = [-2.0] + [k * tread for k in range(count)] + [far]
    boxes = tuple(
        slab(x0, x1, top) for x0, x1, top in zip(bounds, bounds[1:], tops, strict=False) if top > 1e-6
    )
    stride = lambda x, z, slower=1.0, **kw: Stride(x=x, z=z, swing=slower * swing, overlap=overlap, **kw)
    up = riser > 0
    landing = {"roll_land": 0.0 if up else 0.12}
    start = -clear - 1.5 * tread
    walkway = [stride(-clear - 0.9 * tread, tops[0]), stride(-clear, tops[0])]
    # The sole lies in the middle of the tread; one longer than the tread hangs over its open edge.
    free = limbs.sole_half[0] + 0.01
    middle = min(0.5 * tread, tread - free) if up else max(0.5 * tread, free)
    climb = [stride(k * tread + middle, tops[k + 1], **landing) for k in range(count - 1)]
    last = bounds[-2]
    leave = [
        stride(last + clear, tops[-1], **landing),
        stride(last + clear + 0.9 * tread, tops[-1], slower=1.3, **landing),
        stride(last + clear + 1.5 * tread, tops[-1], slower=1.3),
        stride(last + clear + 1.5 * tread, tops[-1], slower=1.3),
    ]
    return sequence(
        f"stairs_{tread:.2f}_{riser:+.2f}_{speed:.2f}",
        "stairs",
        limbs,
        walkway + climb + leave,
        boxes=boxes,
        start=(start, tops[0]),
        first_side=first_side,
        lean=((0.0, 0.04), (1.5, 0.04 + (0.5 * riser if up else 0.0))),
        roll_lift=0.45 if up else 0.20,
        evenness=0.18,
        crouch=0.02 if up else 0.04,
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
        crouch=0.025,
        evenness=0.2,
        lean=((0.0, 0.05),),
    )
