"""Planned motion: exact speeds, real obstacles, both robots."""

from __future__ import annotations

import numpy as np
import pytest

from ssr.motion import curves, ground
from ssr.motion.flat_plans import flat_plans, steady
from ssr.motion.footsteps import Plan, walk
from ssr.motion.gait import gait
from ssr.motion.solver import Solver
from ssr.motion.synthesis import base_over_soles, perform, plans
from ssr.motion.terrain_plans import GAPS, PLATFORMS, SLOPES, STAIRS, stairs, terrain_plans


def named(solver: Solver, name: str) -> Plan:
    (found,) = [p for p in plans(solver.limbs) if p.name == name]
    return found


@pytest.mark.parametrize("speed", [0.3, 0.7, 1.2, -0.5])
def test_a_walk_has_exactly_the_speed_it_is_named_for(speed: float, x2_solver: Solver) -> None:
    limbs = x2_solver.limbs
    plan = walk("w", "forward", limbs, velocity=steady(speed, 0, 0, 12.0), duration=12.0)
    base = curves.follow(plan, limbs, 0.0).base_position
    steps = sorted(s.land for s in plan.steps if 3.0 < s.land < 9.0)
    first, last = (round(50 * t) for t in (steps[0], steps[-1 - (len(steps) - 1) % 2]))
    measured = (base[last, 0] - base[first, 0]) / ((last - first) / 50)
    assert measured == pytest.approx(speed, rel=0.01)


def test_turning_turns_at_the_rate_asked_for(x2_solver: Solver) -> None:
    (plan,) = [p for p in flat_plans(x2_solver.limbs) if p.name == "turn_+0.0_1.2"]
    clip = perform(x2_solver, plan)
    rate = clip.angular_velocity()[100:250, 2].mean()
    assert rate == pytest.approx(1.2, rel=0.05)
    assert np.abs(clip.base_position[:, :2]).max() < 0.2, "on the spot"


@pytest.mark.parametrize(
    "name", ["walk_1.1", "platform_0.45_0.90", "gap_0.90_1.2", "sidle_+0.0_+0.40", "back_1.00"]
)
def test_plans_are_done_cleanly(name: str, x2_solver: Solver) -> None:
    clip = perform(x2_solver, named(x2_solver, name))
    assert clip.synthetic and clip.quality.kept, clip.quality.reason


def test_the_taller_robot_does_them_too(person: Solver) -> None:
    clip = perform(person, named(person, "stairs_0.25_+0.20_0.75"))
    assert clip.quality.kept, clip.quality.reason


def test_a_platform_carries_the_robot_as_high_as_it_is(x2_solver: Solver) -> None:
    clip = perform(x2_solver, named(x2_solver, "platform_0.40_0.90"))
    height = clip.base_position[:, 2]
    on_top = ground.height(clip.boxes, clip.base_position[:, :2]) > 0.39
    assert height[on_top][len(height[on_top]) // 2] - height[0] == pytest.approx(0.40, abs=0.03)
    assert height[-1] == pytest.approx(height[0], abs=0.02)


def test_no_foot_ever_stands_in_a_gap(x2_solver: Solver) -> None:
    limbs = x2_solver.limbs
    for plan in terrain_plans(limbs):
        if plan.column != "gap":
            continue
        near, far = sorted(plan.boxes, key=lambda b: b.center[0])
        edges = near.center[0] + near.half[0], far.center[0] - far.half[0]
        for step in plan.steps:
            heel, toe = step.hold.x - limbs.sole_half[0], step.hold.x + limbs.sole_half[0]
            assert toe < edges[0] or heel > edges[1], plan.name


def test_one_metre_a_second_is_a_walk_of_short_legs(x2_solver: Solver) -> None:
    """A person makes 1.8 steps/s at the same Froude number; they quicken with the root of the leg's scale."""
    clip = perform(x2_solver, named(x2_solver, "walk_1.0"))
    knees = [k for k, name in enumerate(clip.joint_names) if "knee" in name]
    measured = gait(clip, x2_solver.limbs, knees)
    assert measured is not None
    assert measured.cadence == pytest.approx(2.2, abs=0.1) and measured.step_length == pytest.approx(
        0.45, abs=0.03
    )
    assert measured.knee < 34 and measured.hip_height > 0.95, "on nearly straight legs"


@pytest.mark.parametrize(("tread", "riser", "speed"), [(0.40, -0.05, 1.2), (0.31, 0.13, 0.9)])
def test_stairs_are_walked_one_tread_a_step_at_the_speed_asked_for(
    tread: float, riser: float, speed: float, x2_solver: Solver
) -> None:
    plan = stairs(x2_solver.limbs, tread, riser, speed, 0)
    on_treads = [s for s in plan.steps if 0.0 < s.hold.x < 6 * tread]
    assert np.diff([s.hold.x for s in on_treads]) == pytest.approx(tread, abs=1e-6)
    assert np.diff([s.hold.z for s in on_treads]) == pytest.approx(riser, abs=1e-6)
    assert np.diff([s.land for s in on_treads]) == pytest.approx(tread / speed, abs=1e-6)


def test_plans_span_the_curriculum_and_the_evaluation() -> None:
    assert min(SLOPES) <= 5 and max(SLOPES) == 20
    assert min(t for t, _ in STAIRS) == 0.25 and max(r for _, r in STAIRS) == 0.20
    assert (0.30, 0.15) in STAIRS, "a setting of the evaluation off the curriculum's grid"
    assert max(GAPS) == 0.90 and max(PLATFORMS) == 0.45


def test_mirrored_targets_give_mirrored_joints(x2_solver: Solver) -> None:
    plan = walk("w", "turn", x2_solver.limbs, velocity=steady(0.5, 0.1, 0.5, 2.0), duration=2.0, pause=0.2)
    targets = curves.follow(plan, x2_solver.limbs, base_over_soles(x2_solver))
    q, other = x2_solver.solve(targets), x2_solver.solve(targets.mirrored())
    rule = x2_solver.robot.joint_mirror
    joints = q[:, x2_solver.addresses][:, list(rule.source)] * np.array(rule.sign)
    assert np.abs(joints - other[:, x2_solver.addresses]).max() < 1e-3
