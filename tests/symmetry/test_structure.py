"""M_c, M_2D, group-wise concatenation and T against Appendix B.1 and Table 13."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from ssr.networks.linear import EquivariantLinear, ReorganizedLinear
from ssr.robots import load
from ssr.symmetry.layout import Mirror
from ssr.symmetry.structure import Reorganization, flip_width, join_groups, left_entries, swap_channels
from ssr.symmetry.vectors import layouts

few = settings(deadline=None, max_examples=25)
sizes = st.integers(1, 6)
seeds = st.integers(0, 2**31)


@few
@given(half=sizes, batch=sizes, seed=seeds)
def test_channel_swap_and_flip_are_their_own_inverse(half, batch, seed):
    x = torch.randn(batch, 2 * half, 3, half, generator=torch.Generator().manual_seed(seed))
    assert torch.equal(swap_channels(swap_channels(x, -3), -3), x)
    assert torch.equal(flip_width(flip_width(x)), x)
    assert torch.equal(flip_width(x)[..., 0], x[..., -1])


@few
@given(u=sizes, v=sizes, w=sizes, seed=seeds)
def test_groups_joined_side_by_side_swap_as_one(u, v, w, seed):
    generator = torch.Generator().manual_seed(seed)
    parts = [torch.randn(3, 2 * n, generator=generator) for n in (u, v, w)]
    joined = join_groups(*parts)
    assert torch.equal(join_groups(*map(swap_channels, parts)), swap_channels(joined))
    assert torch.equal(joined[:, :u], parts[0][:, :u])  # [u_L, v_L, w_L, u_R, v_R, w_R]
    assert torch.equal(joined[:, u : u + v], parts[1][:, :v])


def test_plain_concatenation_would_not_do():
    u, v = torch.randn(1, 2), torch.randn(1, 4)
    wrong = torch.cat((u, v), -1)
    assert not torch.equal(torch.cat((swap_channels(u), swap_channels(v)), -1), swap_channels(wrong))


def operator(robot, history):
    vectors = layouts(robot)
    return Reorganization(vectors.proprioception, robot.joint_names, history), vectors.proprioception


@pytest.fixture(params=["paper", "other", "x2", "dr02", "g1"])
def any_robot(request):
    name = request.param
    return request.getfixturevalue(f"{name}_robot") if name in ("paper", "other") else load(name)


@pytest.mark.parametrize("history", [1, 5, 10])
def test_mirroring_proprioception_exchanges_the_slices(any_robot, history):
    """T(M_p o) = M_c T(o), exactly."""
    reorganize, layout = operator(any_robot, history)
    o = torch.randn(4, history, layout.size)
    assert torch.equal(reorganize(layout.mirror(o)), swap_channels(reorganize(o)))
    assert reorganize(o).shape == (4, reorganize.size)


@pytest.mark.parametrize("history", [1, 5])
def test_weights_behind_the_operator_take_it_in(any_robot, history):
    """W (T o) = (W T) o, whether the layer splits its product or not."""
    reorganize, layout = operator(any_robot, history)
    layer = ReorganizedLinear(reorganize, 12).double()
    o = torch.randn(4, history, layout.size, dtype=torch.float64)
    expected = F.linear(reorganize(o), *EquivariantLinear.matrix(layer))
    for layer.split in (False, True):
        assert torch.allclose(layer(o), expected, atol=1e-12)


def test_sizes_of_the_paper(paper_robot):
    reorganize, _ = operator(paper_robot, 10)
    assert reorganize.slice_size == 42
    assert reorganize.size == 2 * 42 * 10


def test_one_frame_is_table_13(paper_robot):
    """Every row of Table 13, written out by name."""
    reorganize, layout = operator(paper_robot, 1)
    o = torch.randn(72)
    part = layout.split(o)
    leg = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
    arm = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")
    s_leg, s_arm = (1, -1, -1, 1, 1, -1), (1, -1, -1, 1)

    def of(x, side, limb):
        return [x[paper_robot.joint_index(f"{side}_{name}")].item() for name in limb]

    def waist(x):
        return x[paper_robot.joint_index("waist_yaw")].item()

    left, right = [], []
    for name, sign in (
        ("angular_velocity", (-1, 1, -1)),
        ("gravity", (1, -1, 1)),
        ("command", (1, -1, -1)),
    ):
        left += part[name].tolist()
        right += [v * s for v, s in zip(part[name].tolist(), sign, strict=True)]
    for name in ("joint_position", "joint_velocity", "previous_action"):
        x = part[name]
        left += [*of(x, "left", leg), *of(x, "left", arm), waist(x)]
        right += [v * s for v, s in zip(of(x, "right", leg), s_leg, strict=True)]
        right += [v * s for v, s in zip(of(x, "right", arm), s_arm, strict=True)]
        right += [-waist(x)]
    assert reorganize(o[None]).tolist() == pytest.approx(left + right)


def test_branches_hold_whole_frames_oldest_first(paper_robot):
    reorganize, layout = operator(paper_robot, 3)
    one, _ = operator(paper_robot, 1)
    o = torch.randn(3, layout.size)
    left, right = reorganize(o).chunk(2)
    frames = [one(o[None, k]).chunk(2) for k in range(3)]
    assert torch.equal(left, torch.cat([f[0] for f in frames], -1).flatten())
    assert torch.equal(right, torch.cat([f[1] for f in frames], -1).flatten())


def test_the_left_slice_is_the_left_side_whatever_the_joint_order(other_robot):
    names = other_robot.joint_names
    chosen = [names[k] for k in left_entries(other_robot.joint_mirror, names)]
    assert chosen[-3:] == ["waist_yaw", "waist_roll", "waist_pitch"]
    assert all(name.startswith("left_") for name in chosen[:-3])
    assert len(chosen) == 13


def test_without_names_the_later_of_a_pair_is_left():
    assert left_entries(Mirror.swap(Mirror.signs(1, -1))) == (2, 3)
