"""Plans across gaps and over platforms: strides while the legs suffice, leaps beyond."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ssr.motion.footsteps import Plan
from ssr.motion.limbs import Limbs
from ssr.motion.strides import REFERENCE_LEG, Stride, gait, sequence, slab

LOW = 0.35  #: of the leg, platforms lower than this are no more than a step


def gap(limbs: Limbs, width: float, speed: float, first_side: int) -> Plan:
    """Walk up to a gap, cross it in one stride – a leap when the legs cannot span it – and walk on."""
    length, swing, overlap = gait(limbs, speed)
    clear = limbs.sole_half[0] + 0.02
    top = 0.4
    edge = 4.0 * length
    far = edge + width
    boxes = (slab(-2.0, edge, top), slab(far, far + 5.0 * length + 3.0, top))
    span = width + 2.0 * clear
    spare = max(span - 0.85 * limbs.leg, 0.0)  # what the legs cannot span is flown
    run = max(speed, min(1.0, 0.3 + 3.0 * spare)) + 1.1 * spare
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


def platform(limbs: Limbs, height: float, speed: float, first_side: int) -> Plan:
    """Walk at `speed` m/s up to a platform, step onto it, cross it, step down and walk on."""
    share = height / limbs.leg
    length, walking_swing, walking_overlap = gait(limbs, speed)
    pace = 0.6 + 0.75 * speed
    slower = np.sqrt(limbs.leg / REFERENCE_LEG)  # longer legs swing more slowly
    swing, overlap = (0.42 + 0.45 * share) / pace * slower, (0.12 + 0.45 * share) / pace * slower
    timed = lambda x, z, swing, overlap, **kw: Stride(
        x=x, z=z, swing=swing * slower, overlap=overlap * slower, **kw
    )
    normal = lambda x, z, **kw: Stride(x=x, z=z, swing=walking_swing, overlap=walking_overlap, **kw)
    slow = lambda x, z, **kw: Stride(x=x, z=z, swing=swing, overlap=overlap, **kw)
    clear = limbs.sole_half[0] + 0.03
    edge = 3.0 * length
    before = edge - clear - 0.30 * height  # the higher, the more room for the rising knee
    on = edge + clear
    onward = max(0.35 * limbs.leg, 0.8 * length if share < LOW else 0.0)  # low ones are walked over in stride
    off = on + onward + 2.0 * length
    end = off + clear
    boxes = (slab(edge, end, height),)
    beyond = end + clear
    step_up = [
        slow(on, height, roll_lift=0.15, roll_land=0.0),
        slow(on + onward, height, roll_lift=0.25 + 0.5 * share, roll_land=0.0),
    ]
    # Onto a high platform the feet gather, push off together and land one shortly after the other.
    leap_up = [
        normal(before, 0.0),
        timed(on, height, 0.50, -0.24, roll_lift=0.3, roll_land=0.0),
        timed(on + onward, height, 0.44, 0.30, roll_lift=0.6, roll_land=0.0),
    ]
    step_down = [
        slow(beyond, 0.0, roll_lift=0.10, roll_land=0.15 + 0.2 * share),
        slow(beyond + onward, 0.0, roll_lift=0.20 + 0.6 * share),
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
        normal(on + onward + length, height),
        normal(off, height),
        *([] if share < LOW and speed > 0.5 else [normal(off, height)]),
        *(leap_down if share > 0.4 else step_down),
        normal(beyond + onward + length, 0.0),
        normal(beyond + onward + length, 0.0),
    ]
    plan = sequence(
        f"platform_{height:.2f}_{speed:.2f}",
        "platform",
        limbs,
        strides,
        boxes=boxes,
        start=(before - 2.0 * length, 0.0),
        first_side=first_side,
        roll_lift=0.22,
        crouch=0.025,
        evenness=0.2,
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
    return replace(plan, lean=lean)
