"""What ships: enough of every motion, clean, for this robot, in windows a discriminator can use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from ssr import robots
from ssr.errors import UserError
from ssr.motion import store
from ssr.motion.dataset import OWN, TABLE_11, TERRAIN_TYPES, MotionDataset
from ssr.motion.frames import STRIDE, WINDOW
from ssr.motion.kinematics import Kinematics
from ssr.motion.quality import MAX_KEYPOINT_ERROR, MAX_PENETRATION, MAX_SLIP, limit_violations
from ssr.motion.report import speed_histogram
from ssr.motion.speeds import COMMANDED, ZERO_SHARE
from ssr.symmetry.vectors import layouts
from ssr.task.commands import table_4
from ssr.task.config import CommandConfig

TOTALS = dict(zip(TERRAIN_TYPES, (261.3, 295.8, 136.0, 174.5, 181.6), strict=True))  #: s, Table 11


@pytest.fixture(scope="module", params=["x2", "dr02", "g1"])
def dataset(request: pytest.FixtureRequest) -> MotionDataset:
    return MotionDataset.load(robots.load(request.param))


@pytest.fixture(scope="module")
def x2() -> MotionDataset:
    return MotionDataset.load(robots.load("x2"))


def test_a_damaged_file_is_one_line(x2: MotionDataset, tmp_path: Path) -> None:
    """Noise anywhere in it: in what is packed, in what says how, or in the list of contents."""
    path, rng = tmp_path / "x2.npz", np.random.default_rng(0)
    clips, _ = store.load(store.of(x2.robot))
    store.save(path, sorted(clips, key=lambda clip: clip.frames)[:2])
    whole = path.read_bytes()
    for place in rng.integers(0, len(whole), 60):
        path.write_bytes(whole[:place] + rng.bytes(40) + whole[place + 40 :])
        with pytest.raises(UserError) as error:
            store.load(path)
        assert "\n" not in str(error.value)


def test_there_is_at_least_as_much_motion_as_in_table_11(dataset: MotionDataset) -> None:
    seconds = {column: sum(parts) for column, parts in dataset.seconds().items()}
    for kind, columns in TABLE_11.items():
        assert sum(seconds[c] for c in columns) >= TOTALS[kind]
        assert seconds[OWN[kind]] >= 40.0
    assert seconds["stand"] >= 5.0


def test_all_files_together_stay_small() -> None:
    assert sum(store.shipped(robots.load(n)).stat().st_size for n in robots.names()) < 12e6


def test_recorded_people_are_among_it_and_planned_motion_is_marked(dataset: MotionDataset) -> None:
    recorded = {c.column for c in dataset.clips if not c.synthetic}
    assert {"forward", "backward", "turn", "slope", "stairs", "step", "gap", "platform"} <= recorded
    assert all(
        c.synthetic for c in dataset.clips if c.name.startswith(("walk_", "platform_", "gap_", "slope_"))
    )


def test_every_clip_meets_the_limits_and_every_other_has_a_reason(dataset: MotionDataset) -> None:
    _, left_out = store.load(store.shipped(dataset.robot))
    for clip in dataset.clips:
        q = clip.quality
        assert q.kept and q.slip_m_s < MAX_SLIP and q.keypoint_error_m < MAX_KEYPOINT_ERROR
        assert q.penetration_m <= MAX_PENETRATION and q.limit_violations == 0
        assert limit_violations(dataset.robot, clip.joint_position) == 0, "also after storing"
    assert all(not q.kept and q.reason for q in left_out)


def test_joints_move_without_spikes(dataset: MotionDataset) -> None:
    layout = layouts(dataset.robot).amp
    share = layout.get(dataset.frames, "joint_velocity").numpy() / dataset.robot.values("max_velocity")
    assert np.abs(share).max() < 0.91, "a tenth of every velocity limit is left"
    assert (np.abs(share) > 0.85).any(1).mean() < 0.03
    bends = np.concatenate([np.abs(np.diff(c.joint_position, n=2, axis=0)) * 50**2 for c in dataset.clips])
    assert np.percentile(bends, 99) < 150 and np.percentile(bends, 99.9) < 400, "rad/s²"


@pytest.mark.parametrize("speed", [0.3, 0.6, 0.9, 1.2])
def test_walks_at_exact_speeds_are_among_it(speed: float, dataset: MotionDataset) -> None:
    (clip,) = [c for c in dataset.clips if c.name == f"walk_{speed:.1f}"]
    ahead = clip.foot_position[:, 0, 0] - clip.foot_position[:, 1, 0]
    passing = np.flatnonzero((ahead[:-1] < 0) & (ahead[1:] >= 0)) + 1
    first, last = passing[(passing > 100) & (passing < 350)][[0, -1]]
    walked = clip.base_position[last, 0] - clip.base_position[first, 0]
    assert walked / ((last - first) / 50) == pytest.approx(speed, rel=0.02)


def test_windows_are_five_frames_four_hundredths_apart(x2: MotionDataset) -> None:
    generator = torch.Generator().manual_seed(1)
    windows = x2.amp_windows("stairs", 2000, generator)
    assert windows.shape == (2000, 5, 63)
    layout = layouts(x2.robot).amp
    angles, rates = layout.get(windows, "joint_position"), layout.get(windows, "joint_velocity")
    moved = (angles[:, 2] - angles[:, 0]) / (2 * STRIDE / 50)
    assert (moved - rates[:, 1]).abs().mean() < 0.1, "positions advance as velocities say, oldest first"
    assert torch.allclose(layout.get(windows, "gravity").norm(dim=-1), torch.ones(2000, 5), atol=1e-4)


def test_frames_hold_what_forward_kinematics_says(x2: MotionDataset) -> None:
    layout, clip = layouts(x2.robot).amp, x2.clips[0]
    kinematics = Kinematics(x2.robot)
    q = kinematics.configurations(clip.base_position, clip.base_quaternion, clip.joint_position)
    feet = layout.get(x2.frames[: clip.frames], "foot_position").reshape(-1, 2, 3).numpy()
    apart = np.linalg.norm(feet[:, 0] - feet[:, 1], axis=-1)
    soles = kinematics.trajectories(q).sole_position
    assert np.allclose(apart, np.linalg.norm(soles[:, 0] - soles[:, 1], axis=-1), atol=3e-4), (
        "but for rounding in the file"
    )
    assert (feet[:, 0, 1] < feet[:, 1, 1]).mean() > 0.99, "right before left, left is +y"


@pytest.mark.parametrize("kind", TERRAIN_TYPES)
def test_half_of_what_a_discriminator_sees_is_the_terrains_own(kind: str, x2: MotionDataset) -> None:
    shares = x2.shares(kind)
    assert shares[OWN[kind]] == pytest.approx(0.5) and shares["stand"] == pytest.approx(0.05)
    assert set(shares) == {*TABLE_11[kind], "stand"} and sum(shares.values()) == pytest.approx(1.0)
    generator = torch.Generator().manual_seed(2)
    low, high = COMMANDED[kind]
    walking = torch.linspace(max(low, 0.3), min(high, 0.9), 20_000)
    drawn = x2._draw(kind, shares, 20_000, generator, walking)
    own = torch.isin(drawn, x2.starts[OWN[kind]]).float().mean()
    assert 0.48 < own < 0.65, "a little more where another column, as backward, has none of these speeds"


def test_no_window_crosses_from_one_clip_into_the_next(x2: MotionDataset) -> None:
    ends = torch.tensor([c.frames for c in x2.clips for _ in range(2)]).cumsum(0)
    starts = torch.cat(list(x2.starts.values()))
    clip_of = lambda frame: torch.bucketize(frame, ends, right=True)
    assert torch.equal(clip_of(starts), clip_of(starts + (WINDOW - 1) * STRIDE))


def test_the_mirrored_copy_is_the_mirror_of_the_frames(x2: MotionDataset) -> None:
    clip = x2.clips[3]
    begin = 2 * sum(c.frames for c in x2.clips[:3])
    original = x2.frames[begin : begin + clip.frames]
    copy = x2.frames[begin + clip.frames : begin + 2 * clip.frames]
    assert torch.allclose(layouts(x2.robot).amp.mirror(original), copy, atol=2e-4)


def test_without_mirroring_there_is_half_as_much(x2: MotionDataset) -> None:
    plain = MotionDataset.load(robots.load("x2"), mirror=False)
    assert 2 * len(plain.frames) == len(x2.frames)


def test_start_states_stand_on_flat_ground_heading_along_x(dataset: MotionDataset) -> None:
    generator = torch.Generator().manual_seed(3)
    states = dataset.reset_states("gap", 200, generator)
    robot = dataset.robot
    joints = states.joint_position.double().numpy()
    assert (joints >= robot.values("lower")).all() and (joints <= robot.values("upper")).all()
    kinematics = Kinematics(robot)
    position = np.zeros((200, 3))
    position[:, 2] = states.base_height.numpy()
    q = kinematics.configurations(position, states.base_quaternion.double().numpy(), joints)
    lowest = kinematics.trajectories(q).sole_position[..., 2].min(1)
    assert (lowest > -0.01).all() and np.median(lowest) < 0.02
    forward = q[:, 3:7]
    assert np.abs(2 * (forward[:, 0] * forward[:, 3] + forward[:, 1] * forward[:, 2])).max() < 1e-3
    assert states.base_velocity[:, 0].mean() > 0.2, "most of it walks forwards"


def test_start_states_may_come_from_any_column(x2: MotionDataset) -> None:
    generator = torch.Generator().manual_seed(4)
    states = x2.reset_states("stairs", 100, generator, columns=("platform",))
    assert states.base_height.shape == (100,)
    with pytest.raises(UserError, match="Unknown motion column: 'stair'"):
        x2.reset_states("stairs", 1, generator, columns=("stair",))
    with pytest.raises(UserError, match="Unknown terrain type"):
        x2.amp_windows("lava", 1, generator)


def test_sampling_is_reproducible(x2: MotionDataset) -> None:
    draw = lambda: x2.amp_windows("gap", 64, torch.Generator().manual_seed(9))
    assert torch.equal(draw(), draw())


def test_joints_are_matched_by_name(x2: MotionDataset, tmp_path: Path) -> None:
    clip = x2.clips[0]
    turned = replace(clip, joint_names=clip.joint_names[::-1], joint_position=clip.joint_position[:, ::-1])
    again = MotionDataset.of(x2.robot, [turned], mirror=False)
    assert torch.allclose(again.frames, x2.frames[: clip.frames], atol=1e-5)
    with pytest.raises(UserError, match=r"not for dr02: it lacks right_hip_y_joint.*Retarget"):
        MotionDataset.load(robots.load("dr02"), path=store.shipped(x2.robot))


def test_a_motion_file_survives_saving_and_loading(x2: MotionDataset, tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    clips = [x2.clips[0], x2.clips[-1]]
    store.save(path, clips)
    loaded, left_out = store.load(path)
    assert [c.name for c in loaded] == [c.name for c in clips] and left_out == []
    for a, b in zip(clips, loaded, strict=True):
        assert a.boxes == b.boxes and a.quality == b.quality
        assert np.abs(a.joint_position - b.joint_position).max() <= 1e-4
        assert np.abs(a.base_position - b.base_position).max() < 1e-5


def test_joints_beyond_half_a_turn_are_stored_too(x2: MotionDataset, tmp_path: Path) -> None:
    clip = replace(x2.clips[0], joint_position=x2.clips[0].joint_position + 3.5)
    store.save(tmp_path / "far.npz", [clip])
    (loaded,), _ = store.load(tmp_path / "far.npz")
    assert np.abs(loaded.joint_position - clip.joint_position).max() <= 1e-4


def test_what_is_no_motion_file_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    np.savez(path, header=np.array("{}"))
    with pytest.raises(UserError, match="not a motion file"):
        store.load(path)
    np.savez(path, header=np.array([{}], dtype=object))
    with pytest.raises(UserError, match="not a motion file"):
        store.load(path)
    path.write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(UserError, match="not a motion file"):
        store.load(path)
    with pytest.raises(UserError, match="No motion file"):
        store.load(tmp_path / "none.npz")


def ahead(dataset: MotionDataset, windows: Tensor) -> Tensor:
    """(m,) m/s along the base's x axis of windows (m, 5, 63)."""
    return layouts(dataset.robot).amp.get(windows, "base_velocity")[..., 0].mean(1)


def test_commanded_speeds_are_those_of_table_4() -> None:
    speeds, _ = table_4(CommandConfig())
    assert list(COMMANDED.values()) == [pytest.approx(tuple(s)) for s in speeds.tolist()]
    assert tuple(COMMANDED) == TERRAIN_TYPES and CommandConfig().zero_fraction == ZERO_SHARE


@pytest.mark.parametrize("kind", TERRAIN_TYPES)
def test_reference_speeds_are_distributed_as_commanded_ones(kind: str, dataset: MotionDataset) -> None:
    """So that speed alone tells nobody reference from policy."""
    asked, drawn, _ = speed_histogram(dataset, kind)
    assert 0.5 * np.abs(asked - drawn).sum() < 0.03, "share of windows that would have to change their speed"


@pytest.mark.parametrize("kind", TERRAIN_TYPES)
def test_a_terrains_own_motion_has_every_commanded_walking_speed(kind: str, x2: MotionDataset) -> None:
    asked, _, seconds = speed_histogram(x2, kind)
    assert (seconds[asked > 0.01] > 0.5).all()


def test_windows_come_at_the_speeds_asked_for(x2: MotionDataset) -> None:
    wanted = torch.linspace(-0.9, 0.9, 4000)
    windows = x2.amp_windows("slope", 4000, torch.Generator().manual_seed(3), wanted)
    assert (ahead(x2, windows) - wanted).abs().max() < 0.11
    fast = x2.amp_windows("stairs", 500, torch.Generator().manual_seed(3), torch.full((500,), 9.0))
    assert ahead(x2, fast).min() > 1.1, "the fastest there is"


def test_asked_to_stand_half_of_it_stands(x2: MotionDataset) -> None:
    still = x2._draw("gap", x2.shares("gap"), 4000, torch.Generator().manual_seed(3), torch.zeros(4000))
    assert torch.isin(still, x2.starts["stand"]).float().mean() == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(
    "command",
    [(0.0, 0.4, 0.0), (0.0, -0.4, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.2), (0.0, 0.0, -1.2), (0.9, 0.4, 0.0)],
)
def test_all_directions_of_table_5_find_motion_near_them(
    command: tuple[float, float, float], dataset: MotionDataset
) -> None:
    layout = layouts(dataset.robot).amp
    starts = torch.cat([dataset.starts[c] for c in TABLE_11["slope"]])
    windows = dataset.frames[starts[:, None] + STRIDE * torch.arange(WINDOW)].mean(1)
    moving = torch.cat(
        (layout.get(windows, "base_velocity")[:, :2], layout.get(windows, "angular_velocity")[:, 2:]), 1
    )
    away = ((moving - torch.tensor(command)) / torch.tensor([0.2, 0.3, 0.5])).norm(dim=1)
    assert (away < 1.0).sum() >= 10
