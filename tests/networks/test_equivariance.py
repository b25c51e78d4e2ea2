"""Appendix B.2: Propositions 1 to 6 and Corollary 1, for random shapes, seeds and weights."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from ssr.errors import UserError
from ssr.networks.convolution import DepthCNN, EquivariantConvolution, LiftConvolution
from ssr.networks.gru import GRU
from ssr.networks.linear import EquivariantLinear
from ssr.networks.mlp import mlp
from ssr.symmetry.structure import flip_width, swap_channels

PRECISION = {torch.float64: 1e-10, torch.float32: 1e-5}
few = settings(deadline=None, max_examples=25)
dtypes = st.sampled_from(list(PRECISION))
halves = st.integers(1, 12)
wide = st.sampled_from([2, 6, 130, 300])  # either way of computing a layer
batches = st.integers(1, 5)
seeds = st.integers(0, 2**31)
growths = st.floats(0.1, 5.0)  # how far the weights are from their initialisation


def prepared(module: nn.Module, dtype: torch.dtype, growth: float) -> nn.Module:
    """Any weights in float64; in float32, where rounding is judged, those of the initialisation."""
    if dtype == torch.float64:
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.mul_(growth)
    return module.to(dtype)


def assert_same(actual: torch.Tensor, expected: torch.Tensor) -> None:
    error = (actual - expected).abs().max() / expected.abs().max()
    assert error < PRECISION[expected.dtype], f"relative error {error:.2e}"


def swap_maps(x: torch.Tensor) -> torch.Tensor:
    """M_c M_2D on feature maps."""
    return flip_width(swap_channels(x, -3))


@few
@given(
    inputs=wide,
    outputs=wide,
    blocks=st.integers(1, 4),
    batch=batches,
    dtype=dtypes,
    growth=growths,
    seed=seeds,
)
def test_proposition_1_linear(inputs, outputs, blocks, batch, dtype, growth, seed):
    torch.manual_seed(seed)
    f = prepared(EquivariantLinear(inputs, outputs, blocks), dtype, growth)
    x = torch.randn(batch, 3, inputs, dtype=dtype)
    y = f(x).unflatten(-1, (blocks, outputs))
    assert_same(f(swap_channels(x)).unflatten(-1, (blocks, outputs)), swap_channels(y))


@few
@given(inputs=wide, outputs=wide, blocks=st.integers(1, 4), batch=batches, seed=seeds)
def test_every_way_of_computing_a_linear_layer_is_its_block_matrix(inputs, outputs, blocks, batch, seed):
    torch.manual_seed(seed)
    f = EquivariantLinear(inputs, outputs, blocks).double()
    x = torch.randn(batch, inputs, dtype=torch.float64)
    matrix, bias = f.matrix()
    for split in (False, True):
        f.split = split
        assert_same(f(x), x @ matrix.T + bias)
    for w, b in zip(matrix.unflatten(0, (blocks, -1)), bias.unflatten(0, (blocks, -1)), strict=True):
        (top, bottom), (above, below) = (half.chunk(2, 1) for half in w.chunk(2)), b.chunk(2)
        assert torch.equal(top[0], bottom[1])  # A
        assert torch.equal(top[1], bottom[0])  # B
        assert torch.equal(above, below)


@few
@given(
    inputs=halves,
    hidden=st.lists(halves, max_size=3),
    outputs=halves,
    dtype=dtypes,
    growth=growths,
    seed=seeds,
)
def test_proposition_2_mlp(inputs, hidden, outputs, dtype, growth, seed):
    torch.manual_seed(seed)
    f = prepared(mlp(2 * inputs, [2 * h for h in hidden], 2 * outputs, equivariant=True), dtype, growth)
    x = torch.randn(4, 2 * inputs, dtype=dtype)
    assert_same(f(swap_channels(x)), swap_channels(f(x)))


@few
@given(
    inputs=halves,
    hidden=st.sampled_from([2, 10, 150]),
    batch=batches,
    dtype=dtypes,
    growth=growths,
    seed=seeds,
)
def test_proposition_3_gru(inputs, hidden, batch, dtype, growth, seed):
    torch.manual_seed(seed)
    f = prepared(GRU(2 * inputs, hidden, equivariant=True), dtype, growth)
    x, h = torch.randn(batch, 2 * inputs, dtype=dtype), torch.randn(batch, hidden, dtype=dtype)
    assert_same(f.step(swap_channels(x), swap_channels(h)), swap_channels(f.step(x, h)))


@few
@given(inputs=halves, hidden=halves, batch=batches, dtype=dtypes, growth=growths, seed=seeds)
def test_proposition_3_over_24_steps_with_resets(inputs, hidden, batch, dtype, growth, seed):
    torch.manual_seed(seed)
    f = prepared(GRU(2 * inputs, 2 * hidden, equivariant=True), dtype, growth)
    x = torch.randn(24, batch, 2 * inputs, dtype=dtype)
    h = torch.randn(batch, 2 * hidden, dtype=dtype)
    resets = torch.rand(24, batch) < 0.2
    assert_same(
        f.sequence(swap_channels(x), swap_channels(h), resets), swap_channels(f.sequence(x, h, resets))
    )


@st.composite
def planes(draw):
    """A kernel, a stride and a width that the stride divides exactly, and any height."""
    kernel, stride = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    width = kernel + stride * draw(st.integers(0, 4))
    return kernel, stride, width, kernel + draw(st.integers(0, 6))


@few
@given(
    plane=planes(),
    inputs=st.integers(1, 3),
    outputs=st.integers(1, 4),
    dtype=dtypes,
    growth=growths,
    seed=seeds,
)
def test_proposition_4_lift(plane, inputs, outputs, dtype, growth, seed):
    torch.manual_seed(seed)
    kernel, stride, width, height = plane
    f = prepared(LiftConvolution(inputs, 2 * outputs, kernel, stride), dtype, growth)
    x = torch.randn(2, inputs, height, width, dtype=dtype)
    assert_same(f(flip_width(x)), swap_maps(f(x)))


@few
@given(
    plane=planes(),
    inputs=st.integers(1, 3),
    outputs=st.integers(1, 4),
    dtype=dtypes,
    growth=growths,
    seed=seeds,
)
def test_proposition_5_convolution(plane, inputs, outputs, dtype, growth, seed):
    torch.manual_seed(seed)
    kernel, stride, width, height = plane
    f = prepared(EquivariantConvolution(2 * inputs, 2 * outputs, kernel, stride), dtype, growth)
    x = torch.randn(2, 2 * inputs, height, width, dtype=dtype)
    assert_same(f(swap_maps(x)), swap_maps(f(x)))


def test_a_stride_that_does_not_divide_breaks_lemma_1():
    """Why such geometries are refused: the very same layer is not equivariant on them."""
    torch.manual_seed(0)
    f = LiftConvolution(1, 4, 8, 4)
    x = torch.randn(1, 1, 42, 42)
    with pytest.raises(AssertionError):
        assert_same(f(flip_width(x)), swap_maps(f(x)))


@st.composite
def stacks(draw):
    """Kernels, strides and the width from which they lead exactly to a last width."""
    kernels = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    strides = [draw(st.integers(1, 3)) for _ in kernels]
    last = draw(st.integers(1, 4))
    width = last
    for kernel, stride in zip(reversed(kernels), reversed(strides), strict=True):
        width = (width - 1) * stride + kernel
    return kernels, strides, width, last


@few
@given(
    stack=stacks(),
    channels=st.lists(st.integers(1, 3), min_size=3, max_size=3),
    dtype=dtypes,
    growth=growths,
    seed=seeds,
)
def test_proposition_6_cnn(stack, channels, dtype, growth, seed):
    torch.manual_seed(seed)
    kernels, strides, width, last = stack
    layers: list[nn.Module] = []
    for k, (kernel, stride) in enumerate(zip(kernels, strides, strict=True)):
        before = 2 * channels[k - 1] if k else 1
        layer = EquivariantConvolution if k else LiftConvolution
        layers += [layer(before, 2 * channels[k], kernel, stride), nn.ELU()]
    f = prepared(nn.Sequential(*layers[:-1]), dtype, growth)
    x = torch.randn(2, 1, width, width, dtype=dtype)
    assert f(x).shape[-1] == last
    assert_same(f(flip_width(x)), swap_maps(f(x)))


@few
@given(
    stack=stacks(),
    channels=st.lists(st.integers(1, 3), min_size=3, max_size=3),
    dtype=dtypes,
    growth=growths,
    seed=seeds,
)
def test_corollary_1_at_one_pixel(stack, channels, dtype, growth, seed):
    torch.manual_seed(seed)
    kernels, strides, width, last = stack
    widths = [2 * c for c in channels[: len(kernels)]]
    if last > 1:
        with pytest.raises(UserError, match="exchange channels"):
            DepthCNN((width, width), widths, kernels, strides, equivariant=True)
        return
    f = prepared(DepthCNN((width, width), widths, kernels, strides, equivariant=True), dtype, growth)
    x = torch.randn(3, width, width, dtype=dtype)
    assert_same(f(flip_width(x)), swap_channels(f(x)))


@pytest.mark.parametrize("size", [42, 40, 20, 68])
def test_images_that_the_strides_do_not_divide_are_refused(size):
    with pytest.raises(UserError, match=r"36×36") as refused:
        DepthCNN((size, size), (32, 64, 128), (8, 4, 3), (4, 2, 2), equivariant=True)
    assert "\n" not in str(refused.value)


def test_the_refusal_of_42_says_why():
    with pytest.raises(UserError, match="42 - 8 is not divisible by its stride 4"):
        DepthCNN((36, 42), (32, 64, 128), (8, 4, 3), (4, 2, 2), equivariant=True)


@pytest.mark.parametrize("inputs", [64, 840])
def test_outputs_vary_like_those_of_a_dense_layer(inputs):
    torch.manual_seed(0)
    x = torch.randn(512, inputs)
    equivariant = EquivariantLinear(inputs, 512)(x).std().item()
    dense = nn.Linear(inputs, 512)(x).std().item()
    assert equivariant / dense == pytest.approx(1.0, abs=0.05)


def test_convolutions_vary_like_dense_ones():
    torch.manual_seed(0)
    x = torch.randn(64, 64, 8, 8)
    equivariant = EquivariantConvolution(64, 128, 4, 2)(x).std().item()
    assert equivariant / nn.Conv2d(64, 128, 4, 2)(x).std().item() == pytest.approx(1.0, abs=0.05)


def test_odd_widths_are_refused():
    with pytest.raises(UserError, match="even"):
        EquivariantLinear(7, 4)
