"""ρ of many imagined landings as a Warp kernel, one thread per landing point."""

# Warp reads annotations as types, so they must not be postponed to strings here.
# mypy: disable-error-code="valid-type, misc, assignment"

from typing import Any

import torch
import warp as wp
from torch import Tensor

from ssr import bridge
from ssr.terrain.field import TerrainField
from ssr.terrain.heights_warp import height_at
from ssr.terrain.tile import ABYSS


@wp.struct
class Facets:
    """The ground under n worlds."""

    facets: wp.array3d(dtype=wp.float32)
    facet_count: wp.array(dtype=wp.int32)
    floor: wp.array(dtype=wp.float32)


@wp.struct
class WarpLandings:
    """As `ssr.vision.landings.Landings`."""

    mean: wp.array3d(dtype=wp.float32)
    std: wp.array2d(dtype=wp.float32)
    yaw: wp.array2d(dtype=wp.float32)
    needed: wp.array2d(dtype=wp.bool)


@wp.struct
class WarpSampling:
    """As `ssr.vision.landings.Sampling`, without weights."""

    patch: wp.array2d(dtype=wp.float32)
    points: wp.array3d(dtype=wp.float32)
    tolerance: float


@wp.kernel(enable_backward=False)
def land(ground: Facets, landings: WarpLandings, sampling: WarpSampling, out: wp.array3d(dtype=wp.float32)):
    """out[n, foot, k]: ρ of the patch around the k-th point of the landing."""
    n, foot, k = wp.tid()
    if not landings.needed[n, foot]:
        out[n, foot, k] = 0.0
        return
    x = landings.mean[n, foot, 0] + landings.std[n, foot] * sampling.points[foot, k, 0]
    y = landings.mean[n, foot, 1] + landings.std[n, foot] * sampling.points[foot, k, 1]
    c = wp.cos(landings.yaw[n, foot])
    s = wp.sin(landings.yaw[n, foot])
    patch = sampling.patch
    size = patch.shape[0]
    highest = float(ABYSS)
    for i in range(size):
        px = x + c * patch[i, 0] - s * patch[i, 1]
        py = y + s * patch[i, 0] + c * patch[i, 1]
        highest = wp.max(highest, height_at(ground.facets, ground.facet_count[n], n, px, py))
    hanging = float(size)
    for i in range(size):
        px = x + c * patch[i, 0] - s * patch[i, 1]
        py = y + s * patch[i, 0] + c * patch[i, 1]
        height = height_at(ground.facets, ground.facet_count[n], n, px, py)
        if highest - height < sampling.tolerance and height > ground.floor[n]:
            hanging -= 1.0
    out[n, foot, k] = hanging / float(size)


def deficiencies(
    terrain: TerrainField, mean: Tensor, std: Tensor, yaw: Tensor, needed: Tensor,
    patch: Tensor, points: Tensor, tolerance: float,
) -> Tensor:  # fmt: skip
    """ρ (n, 2, k) for mean (n, 2, 2), std, yaw and needed (n, 2), patch (p, 2) and points (2, k, 2)."""
    out = torch.empty(*std.shape, points.shape[1], device=terrain.device)
    ground = _filled(Facets(), facets=terrain.facets, facet_count=terrain.facet_count, floor=terrain.floor)
    landings = _filled(WarpLandings(), mean=mean, std=std, yaw=yaw, needed=needed)
    sampling = _filled(WarpSampling(), patch=patch, points=points)
    sampling.tolerance = tolerance
    bridge.launch(land, tuple(out.shape), [ground, landings, sampling], [bridge.array(out)], terrain.device)
    return out


def _filled(struct: Any, **tensors: Tensor) -> Any:
    """The struct with these tensors as its arrays."""
    for name, tensor in tensors.items():
        setattr(struct, name, bridge.array(tensor))
    return struct
