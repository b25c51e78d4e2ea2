"""Where a world's camera sits: the robot's mount, moved a little by randomization (Table 10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from ssr.robots.spec import CameraMount
from ssr.rotation.tensors import multiply
from ssr.symmetry.layout import POLAR, Mirror, apply

CAMERA_TURN = Mirror.signs(1, -1, -1)  #: turns about the camera's own x (right), y (up), z (back)


@dataclass(frozen=True, kw_only=True)
class CameraOffsets:
    """How each world's camera differs from the robot's drawings."""

    position: Tensor  #: (n, 3) m, base frame
    turn: Tensor  #: (n, 3) rad, about the camera's x (right), then y (up), then z (back)
    field_of_view: Tensor  #: (n, 2) rad added to the horizontal and the vertical field of view

    def mirrored(self) -> CameraOffsets:
        """The offsets with which a mirrored world gives the mirrored image."""
        return CameraOffsets(
            position=apply(POLAR, self.position),
            turn=apply(CAMERA_TURN, self.turn),
            field_of_view=self.field_of_view.clone(),
        )

    def select(self, index: Tensor) -> CameraOffsets:
        return CameraOffsets(
            position=self.position[index], turn=self.turn[index], field_of_view=self.field_of_view[index]
        )

    @staticmethod
    def none(worlds: int, device: torch.device | str = "cpu") -> CameraOffsets:
        zeros = lambda size: torch.zeros(worlds, size, device=device)
        return CameraOffsets(position=zeros(3), turn=zeros(3), field_of_view=zeros(2))


def constant(values: Sequence[float], like: Tensor) -> Tensor:
    """(k,) numbers where `like` is, taken there once."""
    return _kept(tuple(values), like.device, like.dtype)


@cache
def _kept(values: tuple[float, ...], device: torch.device, dtype: torch.dtype) -> Tensor:
    return torch.tensor(values, device=device, dtype=dtype)


def mount_position(mount: CameraMount, offsets: CameraOffsets) -> Tensor:
    """(n, 3) m, base frame."""
    return offsets.position + constant(mount.position, offsets.position)


def mount_quaternion(mount: CameraMount, offsets: CameraOffsets) -> Tensor:
    """(n, 4) camera axes in the base frame: looks along -z, x right, y up."""
    half = offsets.turn / 2
    zero = torch.zeros_like(half[:, 0])
    quaternion = constant(mount.quaternion, offsets.turn).expand(len(half), 4)
    for axis in range(3):
        about = [torch.cos(half[:, axis]), zero, zero, zero]
        about[1 + axis] = torch.sin(half[:, axis])
        quaternion = multiply(quaternion, torch.stack(about, dim=-1))
    return quaternion
