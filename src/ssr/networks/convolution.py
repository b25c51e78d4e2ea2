"""Convolutions that know the mirror (Propositions 4 to 6) and the depth encoder made of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ssr.errors import UserError


def cross_correlate(x: Tensor, kernel: Tensor, bias: Tensor, stride: int) -> Tensor:
    """x ⋆ k + b. A kernel as large as the map is one product, twice as fast as a convolution routine."""
    if x.shape[-2:] != kernel.shape[-2:]:
        return F.conv2d(x, kernel, bias, stride)
    flat = F.linear(x.permute(0, 2, 3, 1).flatten(1), kernel.permute(0, 2, 3, 1).flatten(1), bias)
    return flat[..., None, None]


class LiftConvolution(nn.Module):
    """f(M_2D x) = M_c M_2D f(x) on ordinary images, with the kernel [k, M_2D k]: the first layer of a CNN.

    outputs: channels over both branches. Weights keep their channels last, the order CPUs are fastest with.
    """

    assembled: Tensor | None = None  #: what `kernel` gives while weights stand still

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        bound = 1.0 / sqrt(inputs * kernel**2)
        self.weight = nn.Parameter(torch.empty(outputs // 2, kernel, kernel, inputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(outputs // 2).uniform_(-bound, bound))

    def kernel(self) -> Tensor:
        """K_l (outputs, inputs, rows, columns)."""
        if self.assembled is not None and not torch.is_grad_enabled():
            return self.assembled
        return torch.cat((self.weight, self.weight.flip(2))).permute(0, 3, 1, 2)

    def forward(self, x: Tensor) -> Tensor:
        return cross_correlate(x, self.kernel(), torch.cat((self.bias, self.bias)), self.stride)


class EquivariantConvolution(nn.Module):
    """f(M_c M_2D x) = M_c M_2D f(x) with the kernel [[k_a, k_b], [M_2D k_b, M_2D k_a]].

    inputs, outputs: channels over both branches.
    """

    assembled: Tensor | None = None  #: what `kernel` gives while weights stand still

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        bound = 1.0 / sqrt(inputs * kernel**2)
        shape = (outputs // 2, kernel, kernel, 2, inputs // 2)
        self.weight = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(outputs // 2).uniform_(-bound, bound))

    def kernel(self) -> Tensor:
        """K_nl (outputs, inputs, rows, columns)."""
        if self.assembled is not None and not torch.is_grad_enabled():
            return self.assembled
        return torch.cat((self.weight, self.weight.flip(2, 3))).flatten(3).permute(0, 3, 1, 2)

    def forward(self, x: Tensor) -> Tensor:
        return cross_correlate(x, self.kernel(), torch.cat((self.bias, self.bias)), self.stride)


class PlainConvolution(nn.Conv2d):
    """A dense convolution of the same widths."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int) -> None:
        super().__init__(inputs, outputs, kernel, stride)
        self.weight = nn.Parameter(self.weight.detach().to(memory_format=torch.channels_last))

    def forward(self, x: Tensor) -> Tensor:
        assert self.bias is not None
        return cross_correlate(x, self.weight, self.bias, self.stride[0])


class DepthCNN(nn.Module):
    """Images (n, rows, columns) → embeddings (n, C): convolutions with ELU between them, down to one pixel.

    At 1 × 1 the flip has nothing left to do, so F(M_2D x) = M_c F(x) (Corollary 1).
    """

    def __init__(
        self,
        image_size: tuple[int, int],
        channels: Sequence[int],
        kernels: Sequence[int],
        strides: Sequence[int],
        *,
        equivariant: bool,
    ) -> None:
        super().__init__()
        require_exact_strides(image_size, kernels, strides)
        layers: list[nn.Module] = []
        before = 1
        for k, (after, kernel, stride) in enumerate(zip(channels, kernels, strides, strict=True)):
            later = EquivariantConvolution if equivariant else PlainConvolution
            first = LiftConvolution if equivariant else PlainConvolution
            layers += [(later if k else first)(before, after, kernel, stride), nn.ELU()]
            before = after
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images.unsqueeze(1)).flatten(1)


def require_exact_strides(
    image_size: tuple[int, int], kernels: Sequence[int], strides: Sequence[int]
) -> None:
    """Refuse a geometry whose mirrored image would be sampled at other pixels than the image itself."""
    fitting = 1
    for kernel, stride in zip(reversed(kernels), reversed(strides), strict=True):
        fitting = (fitting - 1) * stride + kernel
    advice = f"With kernels {list(kernels)} and strides {list(strides)} use images of {fitting}×{fitting}."
    given = f"Depth images of {image_size[0]}×{image_size[1]}"
    for name, size in zip(("rows", "columns"), image_size, strict=True):
        for number, (kernel, stride) in enumerate(zip(kernels, strides, strict=True), start=1):
            steps, rest = divmod(size - kernel, stride)
            if steps < 0:
                raise UserError(
                    f"{given}: layer {number} sees {size} {name}, fewer than its kernel of {kernel}. {advice}"
                )
            if rest:
                raise UserError(
                    f"{given}: layer {number} sees {size} {name}, and {size} - {kernel} is not divisible by "
                    f"its stride {stride}, so a mirrored image would be sampled at other pixels. {advice}"
                )
            size = steps + 1
        if size != 1:
            raise UserError(
                f"{given} end as {size} {name} instead of 1, so mirroring would not just exchange channels. "
                f"{advice}"
            )
