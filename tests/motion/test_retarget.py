"""Retargeting: feet stand still on the ground that was there, limits hold, and the mirror commutes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from motion_people import record

from ssr.motion import footing, ground, importing
from ssr.motion.contacts import stances
from ssr.motion.flat_plans import steady
from ssr.motion.footsteps import Plan, walk
from ssr.motion.kinematics import Kinematics
from ssr.motion.posture import GRAVITY, smooth
from ssr.motion.quality import MAX_KEYPOINT_ERROR, MAX_PENETRATION, MAX_SLIP
from ssr.motion.recording import at_control_rate, at_tempo
from ssr.motion.retarget import retarget
from ssr.motion.scaling import scaled
from ssr.motion.solver import Solver
from ssr.motion.strides import ramp
from ssr.motion.terrain_plans import gap, slope, stairs

MOCAP = Path(__file__).resolve().parents[3] / "shared" / "mocap"


def plan(person: Solver, kind: str) -> Plan:
    limbs = person.limbs
    match kind:
        case "walk":
            return walk("walk", "forward", limbs, velocity=steady(1.0, 0, 0, 3.5), duration=3.5, pause=0.3)
        case "turn":
            return walk("turn", "turn", limbs, velocity=steady(0.5, 0, 0.8, 4.0), duration=4.0, pause=0.3)
        case "stairs":
            return stairs(limbs, 0.32, 0.16, 1.0, 0, count=4)
        case "slope":
            return slope(limbs, 12.0, 0.6, 1)
        case _:
            return gap(limbs, 0.9, 1.1, 0)


@pytest.mark.parametrize("kind", ["walk", "turn", "stairs", "slope", "leap"])
def test_a_recording_becomes_clean_motion_of_a_smaller_robot(
    kind: str, person: Solver, x2_solver: Solver
) -> None:
    (clip,) = retarget(x2_solver, record(person, plan(person, kind)))
    q = clip.quality
    assert q.kept, q.reason
    assert q.slip_m_s < MAX_SLIP and q.penetration_m < MAX_PENETRATION
    assert q.keypoint_error_m < MAX_KEYPOINT_ERROR and q.limit_violations == 0


def test_limits_are_kept_sample_by_sample(person: Solver, x2_solver: Solver) -> None:
    robot = x2_solver.robot
    (clip,) = retarget(x2_solver, record(person, plan(person, "walk")))
    assert (clip.joint_position > robot.values("lower")).all()
    assert (clip.joint_position < robot.values("upper")).all()
    assert (np.abs(np.diff(clip.joint_position, axis=0)) * 50 < robot.values("max_velocity")).all()


def test_a_foot_lifts_off_without_a_kick(person: Solver, x2_solver: Solver) -> None:
    (clip,) = retarget(x2_solver, record(person, plan(person, "walk")))
    knees = [k for k, name in enumerate(clip.joint_names) if "knee" in name]
    bends = np.abs(np.diff(clip.joint_position[:, knees], n=2, axis=0)) * 50**2
    assert bends.max() < 500, "rad/s²; a knee that snaps within one frame has twice that"


def test_a_knee_that_could_never_bends_backwards(person: Solver) -> None:
    knees = [k for k, name in enumerate(person.robot.joint_names) if "knee" in name]
    assert (person.robot.values("lower")[knees] < -0.1).all(), "this robot's knees bend both ways"
    (clip,) = retarget(person, record(person, plan(person, "leap")))
    assert (clip.joint_position[:, knees] > 0.0).all()


def test_a_faulty_moment_is_left_out_alone(person: Solver, x2_solver: Solver) -> None:
    long = walk("long", "forward", person.limbs, velocity=steady(1.0, 0, 0, 8.0), duration=8.0, pause=0.2)
    recording = record(person, long)
    middle = len(recording.points) // 2
    recording.points[middle : middle + 6] += np.array([0.0, 0.0, 0.6])  # six frames of nonsense
    clips = retarget(x2_solver, recording, ground="flat")
    kept = [c for c in clips if c.quality.kept]
    (fault,) = [c for c in clips if not c.quality.kept]
    assert "jerks" in fault.quality.reason and fault.seconds < 2.0
    assert len(kept) == 2 and sum(c.seconds for c in kept) > 6.0


def test_speed_and_time_shrink_with_the_root_of_the_legs(person: Solver, x2_solver: Solver) -> None:
    recording = record(person, plan(person, "walk"))
    (clip,) = retarget(x2_solver, recording)
    share = x2_solver.limbs.leg / recording.leg
    recorded = recording.point("pelvis")[-1, 0] - recording.point("pelvis")[0, 0]
    assert clip.base_position[-1, 0] - clip.base_position[0, 0] == pytest.approx(share * recorded, rel=0.03)
    assert clip.seconds == pytest.approx(recording.seconds * np.sqrt(share), abs=0.05), "equal Froude number"


@pytest.mark.parametrize("kind", ["turn", "stairs"])
def test_a_mirrored_recording_gives_the_mirrored_motion(kind: str, person: Solver, x2_solver: Solver) -> None:
    recording = record(person, plan(person, kind))
    (clip,) = retarget(x2_solver, recording)
    (other,) = retarget(x2_solver, recording.mirrored())
    mirrored = clip.mirrored(x2_solver.robot)
    assert np.abs(other.joint_position - mirrored.joint_position).max() < 1e-3
    assert np.abs(other.base_position - mirrored.base_position).max() < 1e-3
    assert np.abs(np.abs((other.base_quaternion * mirrored.base_quaternion).sum(1)) - 1.0).max() < 1e-6


def test_stairs_are_found_under_the_feet_and_scaled(person: Solver, x2_solver: Solver) -> None:
    recording = record(person, plan(person, "stairs"))
    at_rate = at_control_rate(at_tempo(recording, x2_solver.limbs.leg))
    targets = scaled(at_rate, x2_solver.limbs)
    tops = sorted({round(2.0 * box.center[2], 3) for box in targets.boxes})
    share = x2_solver.limbs.leg / recording.leg
    assert tops == pytest.approx([0.16 * share * k for k in range(1, 5)], abs=0.01)
    (clip,) = retarget(x2_solver, recording)
    kinematics = Kinematics(x2_solver.robot)
    q = kinematics.configurations(clip.base_position, clip.base_quaternion, clip.joint_position)
    soles = kinematics.trajectories(q).sole_position
    middle = np.array([(s.start + s.end) // 2 for s in stances(at_rate)])
    sides = np.array([s.side for s in stances(at_rate)])
    standing = soles[middle, sides]
    assert np.allclose(standing[:, 2], ground.height(clip.boxes, standing[:, :2]), atol=5e-3)


def test_a_slope_is_found_with_its_angle(person: Solver) -> None:
    incline = ramp(0.9, 0.0, 5.0, 4.1 * np.tan(np.radians(12.0)))
    climb = walk(
        "climb", "slope", person.limbs, velocity=steady(0.7, 0, 0, 5.0), duration=5.0, boxes=(incline,)
    )
    recording = at_control_rate(record(person, climb))
    found = footing.find(stances(recording), "auto")
    assert found.incline is not None
    assert np.degrees(np.arctan(found.incline[1])) == pytest.approx(12.0, abs=1.0)


def test_flat_ground_stays_flat_though_the_recording_sinks(person: Solver, x2_solver: Solver) -> None:
    recording = record(person, plan(person, "walk"))
    (level,) = retarget(x2_solver, recording)
    recording.points[..., 2] -= np.linspace(0.0, 0.04, len(recording.points))[:, None]
    (sunk,) = retarget(x2_solver, recording)
    assert sunk.boxes == () and sunk.quality.kept
    assert np.abs(sunk.base_position - level.base_position)[:, 2].max() < 0.01


def test_a_leap_falls_as_bodies_fall(person: Solver, x2_solver: Solver) -> None:
    (clip,) = retarget(x2_solver, record(person, plan(person, "leap")))
    fall = -np.diff(smooth(clip.base_position[:, 2], 0.02), n=2) * 50**2
    assert fall.max() == pytest.approx(GRAVITY, rel=0.25), "while no foot stands"


@pytest.mark.skipif(not MOCAP.exists(), reason="no recordings beside the repository")
def test_knees_are_about_as_straight_as_the_persons(x2_solver: Solver) -> None:
    recording = importing.load(MOCAP / "cmu" / "16_15.bvh")
    (clip,) = retarget(x2_solver, recording)
    hip, knee, ankle = (recording.pair(name) for name in ("hip", "knee", "ankle"))
    unit = lambda v: v / np.linalg.norm(v, axis=-1, keepdims=True)
    person = np.degrees(np.arccos(np.clip((unit(knee - hip) * unit(ankle - knee)).sum(-1), -1, 1)).mean())
    knees = [k for k, name in enumerate(clip.joint_names) if "knee" in name]
    assert np.degrees(clip.joint_position[:, knees].mean()) == pytest.approx(person, abs=4)


@pytest.mark.skipif(not MOCAP.exists(), reason="no recordings beside the repository")
@pytest.mark.parametrize("name", ["16_15", "83_27", "74_16"])
def test_recorded_people_mirrored(name: str, x2_solver: Solver) -> None:
    recording = importing.load(MOCAP / "cmu" / f"{name}.bvh")
    for clip, other in zip(
        retarget(x2_solver, recording), retarget(x2_solver, recording.mirrored()), strict=True
    ):
        mirrored = clip.mirrored(x2_solver.robot)
        assert np.abs(other.joint_position - mirrored.joint_position).max() < 1e-3


@pytest.mark.skipif(not MOCAP.exists(), reason="no recordings beside the repository")
@pytest.mark.parametrize(("name", "column"), [("16_15", "forward"), ("83_27", "stairs")])
def test_recorded_people(name: str, column: str, x2_solver: Solver) -> None:
    recording = importing.load(MOCAP / "cmu" / f"{name}.bvh")
    clips = retarget(x2_solver, recording, column=column)  # type: ignore[arg-type]
    assert all(c.quality.kept for c in clips), [c.quality.reason for c in clips]
