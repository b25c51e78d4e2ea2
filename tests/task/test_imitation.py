"""Reference motion that is followed: it begins in the nearest pose and goes on as recorded."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ssr.learning.references import ReferenceStarts
from ssr.motion.dataset import MotionDataset
from ssr.physics.readout import Reading
from ssr.robots import load
from ssr.task.config import TaskConfig, TerrainConfig
from ssr.task.env import TraversalEnv
from ssr.task.imitation import STEP, STRETCH, THINNED, Imitation
from ssr.terrain.edges_near import REACH
from ssr.terrain.field import TerrainField
from ssr.terrain.making import TILE_POOL, make_tile
from ssr.terrain.settings import TERRAIN_TYPES

SLOPE, STAIRS = (TERRAIN_TYPES.index(name) for name in ("slope", "stairs"))


@pytest.fixture(scope="module")
def references() -> ReferenceStarts:
    return ReferenceStarts(MotionDataset.load(load("x2")))


def reading(references: ReferenceStarts, frames: list[int], at: float = 1.0) -> Reading:
    """Robots in exactly these frames of the motion, `at` m along their tiles."""
    track = references.track
    empty = dict.fromkeys(Reading._fields, np.zeros(0, np.float32))
    place = np.tile(np.array([at, 0.0, 0.7], np.float32), (len(frames), 1))
    return Reading(
        **empty
        | {
            "joint_position": track.position[frames],
            "joint_velocity": track.velocity[frames],
            "base_position": place,
        }
    )


def ground(count: int, kind: str = "flat", level: int = 0) -> TerrainField:
    field = TerrainField(count, TILE_POOL)
    field.place(range(count), [make_tile(kind, level)] * count)
    return field


def choices(references: ReferenceStarts) -> np.ndarray:
    """Frames that may be found, at least two seconds before their clip ends."""
    track = references.track
    frames = track.choices[SLOPE, : track.choice_count[SLOPE] : THINNED]
    return frames[track.end[frames] - frames > 100]


def test_whoever_is_in_a_frame_is_found_there_and_goes_on_as_recorded(references: ReferenceStarts) -> None:
    track = references.track
    frames = [int(f) for f in choices(references)[[50, 3000, 9000]]]
    followed = Imitation(3, 21, track, 0.02)
    command, level = track.course[frames], ground(3)
    followed.advance(reading(references, frames), command, level)
    assert followed.frame.tolist() == frames
    steps = round(STRETCH / 0.02)
    for k in range(1, steps + 1):
        elsewhere = reading(references, [0, 0, 0])  # a stretch is followed to its end wherever the robot is
        followed.advance(elsewhere, command, level)
        assert followed.frame.tolist() == [f + k for f in frames]
        assert np.array_equal(followed.now.numpy(), track.position[[f + k for f in frames]])
        assert np.array_equal(followed.soon.numpy(), track.target[[f + k + 2 for f in frames]])
    again = [int(f) for f in choices(references)[[70, 3100, 9100]]]
    followed.advance(reading(references, again), track.course[again], level)
    assert followed.frame.tolist() == again


def test_no_stretch_runs_over_the_end_of_its_clip(references: ReferenceStarts) -> None:
    track = references.track
    followed = Imitation(1, 21, track, 0.02)
    last = int(track.end[0])
    followed.frame[0], followed.left[0] = last - 1, 10
    standing = reading(references, [int(choices(references)[50])])
    command, level = np.zeros((1, 3), np.float32), ground(1)
    followed.advance(standing, command, level)
    assert followed.frame.item() == last
    assert np.array_equal(followed.soon[0].numpy(), track.target[last])
    followed.advance(standing, command, level)
    assert followed.frame.item() != last + 1


def test_the_speed_asked_for_is_what_is_shown(references: ReferenceStarts) -> None:
    track = references.track
    frame = int(choices(references)[50])
    for speed in (-0.5, 0.4, 1.0):
        followed = Imitation(1, 21, track, 0.02)
        command = np.array([[speed, 0, 0]], np.float32)
        followed.advance(reading(references, [frame]), command, ground(1))
        assert track.course[followed.frame.item(), 0] == pytest.approx(speed, abs=0.3)


@pytest.mark.parametrize("kind", ["stairs_up", "stairs_down"])
def test_on_stairs_what_is_shown_is_as_far_from_the_edges_as_the_robot(
    references: ReferenceStarts, kind: str
) -> None:
    track, stairs = references.track, ground(1, kind, level=10)
    first, tread = float(stairs.first_edge[0]), 0.40 - 0.15 * 10 / 19
    rise = (1 if kind == "stairs_up" else -1) * (0.05 + 0.15 * 10 / 19)
    frame, command = int(choices(references)[3000]), np.array([[0.7, 0, 0]], np.float32)
    for share in (0.1, 0.4, 0.7, 0.9):
        followed = Imitation(1, 21, track, 0.02)
        followed.advance(reading(references, [frame], at=first + (2 + share) * tread), command, stairs)
        behind, ahead, _, risen, next_rise = track.edges[followed.frame.item()]
        assert behind == pytest.approx(share * tread, abs=0.06)
        assert ahead == pytest.approx((1 - share) * tread, abs=0.06)
        assert risen == pytest.approx(rise, abs=0.04) and next_rise == pytest.approx(rise, abs=0.04)
        assert followed.left.item() == round(STEP / 0.02), "near edges the way is looked for anew soon"


def test_a_course_is_where_motion_goes_not_how_it_sways(references: ReferenceStarts) -> None:
    """Drawn as episodes begin, against where the base is a second later, seen from its first heading."""
    motion = references.motion
    pose, course = references(torch.full((400,), SLOPE), torch.Generator().manual_seed(0))
    assert pose.base_position.shape == (400, 3) and course.shape == (400, 3)
    clip = next(c for c in motion.clips if c.name.startswith("walk_0.8"))
    offset = 0
    for other in motion.clips:
        if other is clip:
            break
        offset += 2 * other.frames
    middle = clip.frames // 2
    went = clip.base_position[middle + 50, :2] - clip.base_position[middle, :2]
    assert motion.states.course[offset + middle, :2].numpy() == pytest.approx(went, abs=0.03)
    assert motion.states.course[offset + middle, 1].abs() < 0.05
    assert motion.states.base_velocity[offset : offset + clip.frames, 1].abs().max() > 0.05, "it sways"


def test_what_is_shown_goes_where_it_was_asked_to(references: ReferenceStarts) -> None:
    track = references.track
    frame = int(choices(references)[50])
    for command in ((0.0, 0.3, 0.0), (-0.6, 0.0, 0.0), (0.5, 0.0, 0.6)):
        followed = Imitation(1, 21, track, 0.02)
        asked = np.array([command], np.float32)
        followed.advance(reading(references, [frame]), asked, ground(1))
        assert track.course[followed.frame.item()] == pytest.approx(command, abs=0.3)


def test_who_is_asked_to_stand_on_stairs_is_shown_standing(references: ReferenceStarts) -> None:
    track, stairs = references.track, ground(1, "stairs_up", level=10)
    still = int(np.abs(track.velocity).sum(1).argmin())
    followed = Imitation(1, 21, track, 0.02)
    at = float(stairs.first_edge[0]) + 1.0
    followed.advance(reading(references, [still], at), np.zeros((1, 3), np.float32), stairs)
    assert np.linalg.norm(track.course[followed.frame.item()]) < 0.1


def test_near_edges_a_device_shows_what_the_host_shows(references: ReferenceStarts) -> None:
    """The same frame, whoever compiled the rule; and places decide which, as nowhere else."""
    kinds, each, rng = ("stairs_up", "stairs_down", "gap", "platform"), 12, np.random.default_rng(0)
    worlds, track = each * len(kinds), references.track
    tiles = [make_tile(kind, 5 + k, rng=rng) for kind in kinds for k in range(each)]
    stepped = TerrainField(worlds, TILE_POOL)
    stepped.place(range(worlds), tiles)
    frames = rng.choice(choices(references), worlds).tolist()
    state, command = reading(references, frames), track.course[frames].copy()
    state.joint_position[:] += rng.normal(0.0, 0.1, state.joint_position.shape)
    state.base_position[:, 0] = stepped.first_edge.numpy() + rng.uniform(-0.35, 0.35, worlds)
    command[:, 0] = rng.uniform(0.2, 1.0, worlds)

    def shown(field: TerrainField, device: torch.device | None) -> Imitation:
        followed = Imitation(worlds, 21, track, 0.02, device)
        there = state if device is None else Reading(*map(torch.from_numpy, state))
        followed.advance(there, command if device is None else torch.from_numpy(command), field)
        return followed

    host, device = shown(stepped, None), shown(stepped, torch.device("cpu"))
    assert (host.left == round(STEP / 0.02)).all(), "all of them are near an edge"
    for name in Imitation.TENSORS:
        assert torch.equal(getattr(device, name), getattr(host, name).to(getattr(device, name).dtype)), name
    assert host.frame.unique().numel() > worlds // 2
    level = shown(ground(worlds), None)
    assert (level.frame != host.frame).float().mean() > 0.9


def test_stairs_that_are_shown_are_planned_for_the_soles(references: ReferenceStarts) -> None:
    track, motion = references.track, references.motion
    shown = set(track.choices[STAIRS, : track.choice_count[STAIRS]].tolist())
    offset = 0
    for clip in motion.clips:
        if clip.column == "stairs":
            assert (offset in shown) == clip.synthetic, clip.name
        offset += 2 * clip.frames
    assert (track.edges[:, :2] <= REACH).all() and (track.edges[:, :3] > 0.0).all()


def test_the_task_shows_the_way_only_while_the_bootstrap_pays_for_it(references: ReferenceStarts) -> None:
    base = TaskConfig(terrain=TerrainConfig(kinds=("flat",)), reference_starts=0.5)
    config = replace(base, bootstrap=replace(base.bootstrap, imitation=1.0))
    env = TraversalEnv(load("x2"), 8, config, seed=2, threads=1, references=references)
    seen = env.reset()
    assert seen.guide.shape == (8, 21)
    taken = env.imitation.frame >= 0
    assert taken.all(), "those that begin in the default pose look for the nearest one"
    hold = torch.zeros(8, 21)
    assert "imitation" in env.step(hold).terms
    env.set_bootstrap(0.0)
    assert env.observation().guide.shape == (8, 0)
    assert "imitation" not in env.step(hold).terms


def test_legs_that_bear_the_robot_are_shown_nothing(references: ReferenceStarts) -> None:
    """Pulled to what a robot in step needs, they cannot balance one that is out of step."""
    base = TaskConfig(terrain=TerrainConfig(kinds=("flat",)), reference_starts=1.0)
    config = replace(base, bootstrap=replace(base.bootstrap, imitation=1.0))
    env = TraversalEnv(load("x2"), 16, config, seed=2, threads=1, references=references)
    env.reset()
    for _ in range(8):
        towards = (env.imitation.arrays.soon - env.default) / env.action_scale
        contact = env.step(torch.from_numpy(towards)).feet.contact
    assert contact.any() and not contact.all()
    shown = ~env.observation().guide.isnan()
    names = env.robot.joint_names
    for side, name in enumerate(("right", "left")):
        knee, shoulder = names.index(f"{name}_knee_joint"), names.index(f"{name}_shoulder_pitch_joint")
        assert torch.equal(shown[:, knee], ~contact[:, side])
        assert shown[:, shoulder].all()


def test_what_is_shown_keeps_the_robot_up_and_on_its_way(references: ReferenceStarts) -> None:
    """Nobody balances: told to do what the reference does, and told where its joints are a moment later."""
    base = TaskConfig(terrain=TerrainConfig(kinds=("flat",)), reference_starts=1.0)
    config = replace(base, bootstrap=replace(base.bootstrap, imitation=1.0))
    track, fallen, apart = references.track, {}, {}
    for told in (track.target, track.position):
        env = TraversalEnv(load("x2"), 32, config, seed=2, threads=1, references=references)
        env.set_ramp(0.0)
        env.reset()
        moving = np.abs(track.course[env.imitation.arrays.frame]).sum(1) > 0.3
        down, far = np.zeros(32, bool), []
        for _ in range(40):
            frame = env.imitation.arrays.frame
            soon = np.minimum(frame + 1, track.end[frame])
            towards = (told[soon] - env.default) / env.action_scale
            env.step(torch.from_numpy(towards.astype(np.float32)))
            down |= env.simulator.readout.reading.gravity[:, 2] > -np.cos(0.4)
            here = env.simulator.readout.reading.joint_position - track.position[env.imitation.arrays.frame]
            far.append(np.square(here)[moving & ~down].mean())
        name = "targets" if told is track.target else "positions"
        fallen[name], apart[name] = down[moving].mean(), np.sqrt(np.mean(far[:15]))
    assert fallen["targets"] < 0.7 * fallen["positions"]
    assert apart["targets"] < 0.75 * apart["positions"]
