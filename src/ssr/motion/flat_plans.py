"""Plans on flat ground: walking at exact speeds, backwards, turning, side steps, standing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ssr.motion.footsteps import Foothold, Plan, ground_width, walk
from ssr.motion.limbs import Limbs

FORWARD = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2)  #: m/s
BACKWARD = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
TURNS = (
    (0.0, 0.4),
    (0.0, 0.8),
    (0.0, 1.2),
    (0.3, 1.2),
    (0.5, 0.6),
    (0.7, 1.0),
    (0.9, 0.6),
    (1.1, 0.4),
    (-0.3, 0.8),
    (-0.7, 0.5),
)  #: m/s forward, rad/s to the left
SIDE_STEPS = (
    (0.0, 0.1),
    (0.0, 0.2),
    (0.0, 0.3),
    (0.0, 0.4),
    (0.4, 0.3),
    (0.8, 0.2),
    (0.9, 0.4),
    (-0.4, 0.3),
    (-0.8, 0.2),
)  #: m/s forward, m/s to the left


def flat_plans(limbs: Limbs) -> list[Plan]:
    rng = np.random.default_rng(5)
    plans = [
        walk(
            f"walk_{v:.1f}",
            "forward",
            limbs,
            velocity=steady(v, 0.0, 0.0, 8.0),
            duration=8.0,
            first_side=k % 2,
            rng=rng,
            stride_noise=0.01,
            lean=((0.0, 0.02 + 0.04 * v),),
            roll_lift=0.15 + 0.15 * v,
        )
        for k, v in enumerate(FORWARD)
    ]
    plans += [
        walk(
            f"back_{v:.2f}",
            "backward",
            limbs,
            velocity=steady(-v, 0.0, 0.0, 6.0),
            duration=6.0,
            first_side=k % 2,
            rng=rng,
            stride_noise=0.01,
            lean=((0.0, 0.02),),
            roll_land=0.15,  # backwards the toe touches first
            roll_lift=0.0,
        )
        for k, v in enumerate(BACKWARD)
    ]
    plans += [
        walk(
            f"turn_{v:+.1f}_{rate:.1f}",
            "turn",
            limbs,
            velocity=steady(v, 0.0, rate, 7.0),
            duration=7.0,
            first_side=k % 2,
            rng=rng,
            stride_noise=0.005,
            roll_lift=0.10 + 0.15 * max(v, 0.0),
            roll_land=-0.12 * v,
        )
        for k, (v, rate) in enumerate(TURNS)
    ]
    plans += [
        walk(
            f"sidle_{v:+.1f}_{side:+.2f}",
            "turn",
            limbs,
            velocity=steady(v, side, 0.0, 5.5),
            duration=5.5,
            first_side=1,
            rng=rng,
            roll_lift=0.08,
            roll_land=0.0,
        )
        for v, side in SIDE_STEPS
    ]
    return [*plans, stand(limbs, 8.0)]


def stand(limbs: Limbs, seconds: float) -> Plan:
    half = 0.5 * ground_width(limbs)
    feet = (Foothold(x=0.0, y=-half), Foothold(x=0.0, y=half))
    return Plan(
        name="stand",
        column="stand",
        duration=seconds,
        start=feet,
        steps=(),
        arm_swing=0.0,
        lean=((0.0, 0.0),),
    )


def steady(
    speed: float, side: float, rate: float, duration: float
) -> Callable[[float], tuple[float, float, float]]:
    """Body velocity of time: up within a second, constant, down within a second."""

    def velocity(t: float) -> tuple[float, float, float]:
        share = float(np.clip(min(t - 0.2, duration - 0.2 - t), 0.0, 1.0))
        return speed * share, side * share, rate * share

    return velocity
