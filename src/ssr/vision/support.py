"""How much of a sole stands on nothing: ρ (Eq. 2), and its expectation over an imagined landing (Eq. 3)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from statistics import NormalDist

import numpy as np
import torch
from torch import Tensor

from ssr.errors import unknown
from ssr.robots.spec import Sole
from ssr.symmetry.vectors import FOOT_MAP
from ssr.terrain.field import TerrainField

TOLERANCE = 0.03  #: m, ε_h: how far below the sole the ground may be and still carry


def support_deficiency(heights: Tensor, sole_height: Tensor, tolerance: float = TOLERANCE) -> Tensor:
    """Unsupported share ρ of the sole (Eq. 2): points that are `tolerance` metres or more below it.

    heights: (..., k) terrain heights under the sole; sole_height: (...,), same datum.
    """
    gap = sole_height.unsqueeze(-1) - heights
    return 1.0 - (gap < tolerance).float().mean(-1)


def resting_deficiency(heights: Tensor, tolerance: float = TOLERANCE, slope: Tensor | None = None) -> Tensor:
    """ρ of soles, standing or imagined, over a patch's heights (..., k): h^f is the highest of them.

    That is where a flat sole comes to rest: tilting on level ground costs nothing, and a sole that bridges
    two treads is held by the upper one alone. slope (...,) bool: heights (..., 50) there are of `FOOT_MAP`
    and count from the plane through them, since the sole lies along it.
    """
    if slope is not None:
        heights = torch.where(
            slope.unsqueeze(-1), heights - heights @ _plane(heights.dtype, heights.device), heights
        )
    return support_deficiency(heights, heights.amax(-1), tolerance)


@cache
def _plane(dtype: torch.dtype, device: torch.device) -> Tensor:
    """(50, 50) maps a patch's heights to those of the plane nearest to them."""
    rows, columns = np.indices(FOOT_MAP).reshape(2, -1)
    design = np.stack((np.ones(rows.size), rows, columns), axis=-1)
    return torch.from_numpy(design @ np.linalg.pinv(design)).to(device, dtype)


def expected_deficiency(
    terrain: TerrainField,
    mean: Tensor,
    std: Tensor,
    yaw: Tensor,
    sole: Sole,
    tolerance: float = TOLERANCE,
    rule: str = "lattice144",
    needed: Tensor | None = None,
) -> Tensor:
    """E[ρ] (n, 2) of feet that will land at a place known only as a round Gaussian. Right foot, left foot.

    mean (n, 2, 2) m, tile frame; std (n, 2) m; yaw (n, 2) rad of the feet, tile frame; `rule` names one of
    `landing_rules()`. The left foot takes the rule's points mirrored, so that a mirrored world gives mirrored
    values. `needed` (n, 2) bool: feet to evaluate, all by default; the others get 0.
    """
    single = lambda x: x.detach().to(terrain.device, torch.float32).contiguous()
    if needed is None:
        needed = torch.ones(std.shape, dtype=torch.bool, device=terrain.device)
    evaluate = _on_cpu if terrain.device.type == "cpu" else _on_gpu
    return evaluate(terrain, single(mean), single(std), single(yaw), needed, sole, rule, tolerance)


# ---- where to look -------------------------------------------------------------------------------------

Rule = tuple[np.ndarray, np.ndarray]  # points (k, 2) in units of σ, weights (k,) that sum to 1


def _lattice(count: int, step: int) -> Rule:
    """Equally likely points of a Fibonacci lattice: no two share an x or a y.

    ρ jumps along edges, and edges run along the axes: a square grid sees such a jump with whole columns of
    points at once, this one with a single point.
    """
    index = np.arange(count)
    quantile = np.vectorize(NormalDist().inv_cdf)
    points = [quantile((k + 0.5) / count) for k in (index, index * step % count)]
    return np.stack(points, axis=-1), np.full(count, 1.0 / count)


_RULES: dict[str, Callable[[], Rule]] = {
    "lattice34": lambda: _lattice(34, 21),
    "lattice144": lambda: _lattice(144, 89),
}


def landing_rules() -> tuple[str, ...]:
    return tuple(_RULES)


@cache
def landing_rule(name: str) -> Rule:
    """Points (k, 2) in units of σ and their weights (k,)."""
    if name not in _RULES:
        raise unknown("landing rule", name, _RULES)
    return _RULES[name]()


# ---- how it is computed --------------------------------------------------------------------------------


def _sampled(sole: Sole, rule: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """float32: the sole's points (p, 2), the landing points (2, k, 2) of right and left foot, and their
    weights (k,)."""
    points, weights = landing_rule(rule)
    both = np.stack([points, points * np.array([1.0, -1.0])])
    return tuple(x.astype(np.float32) for x in (sole.offsets().reshape(-1, 2), both, weights))  # type: ignore[return-value]


@cache
def _sampled_on(sole: Sole, rule: str, device: torch.device) -> list[Tensor]:
    """The same on a device, copied there once."""
    return [torch.as_tensor(x, device=device) for x in _sampled(sole, rule)]


def _on_cpu(
    terrain: TerrainField, mean: Tensor, std: Tensor, yaw: Tensor, needed: Tensor,
    sole: Sole, rule: str, tolerance: float,
) -> Tensor:  # fmt: skip
    from ssr.vision.landings import Landings, Sampling, expect

    out = torch.empty(std.shape, dtype=torch.float32)
    landings = Landings(
        mean=mean.numpy(), std=std.numpy(), yaw=yaw.numpy(), needed=needed.contiguous().numpy()
    )
    patch, points, weights = _sampled(sole, rule)
    sampling = Sampling(patch=patch, points=points, weights=weights, tolerance=np.float32(tolerance))
    facets, count = terrain.facets.numpy(), terrain.facet_count.numpy()
    expect(facets, count, terrain.floor.numpy(), tuple(landings), tuple(sampling), out.numpy())
    return out


def _on_gpu(
    terrain: TerrainField, mean: Tensor, std: Tensor, yaw: Tensor, needed: Tensor,
    sole: Sole, rule: str, tolerance: float,
) -> Tensor:  # fmt: skip
    from ssr.vision.landings_warp import deficiencies

    patch, points, weights = _sampled_on(sole, rule, terrain.device)
    return deficiencies(terrain, mean, std, yaw, needed, patch, points, tolerance) @ weights
