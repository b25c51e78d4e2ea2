"""Edge sight: does a decoded height map show treads, gaps and blocks, or only the ramp they lie on?

The sawtooth of a height map H^b is what is left of it after its ramp is taken away: the plane that fits it
best, and slow bends along x, since where a flight of stairs begins or ends can be known without seeing an
edge (with the plane alone an encoder that saw no tread scored 0.6 on short flights). Edge sight is the
correlation of the decoded map's sawtooth with the true one's: 1 for the true map, 0 for its ramp. The error
of a decoded map hides this: on stairs of 13 cm a ramp is wrong by only 4 cm.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from ssr.learning.devices import fetched
from ssr.learning.ranks import ALONE, Ranks
from ssr.learning.rollout import Rollout
from ssr.networks.build import Networks
from ssr.symmetry.vectors import BASE_MAP
from ssr.terrain.settings import TERRAIN_TYPES

FLAT = 1e-3  #: root mean square of a sawtooth, in units of the map, below which there is none
STRIDE = 6  #: control steps from one sample of a rollout to the next


@cache
def _ramps(device: torch.device, dtype: torch.dtype) -> Tensor:
    """(5, cells) orthonormal: planes, and bends of the second and third degree along x."""
    rows, columns = (torch.linspace(-1.0, 1.0, size, dtype=torch.float64) for size in BASE_MAP)
    x, y = torch.meshgrid(rows, columns, indexing="ij")
    planes = torch.stack([torch.ones_like(x), x, y, x**2, x**3]).flatten(1)
    return torch.linalg.qr(planes.T).Q.T.float().contiguous().to(device, dtype)


def sawtooth(maps: Tensor) -> Tensor:
    """Maps (..., 180) without the ramp that fits each of them best."""
    ramps = _ramps(maps.device, maps.dtype)
    return maps - (maps @ ramps.T) @ ramps


def moments(decoded: Tensor, true: Tensor) -> Tensor:
    """(..., 3) means over the cells of maps (..., 180): true sawtooth², decoded sawtooth², their product."""
    said, real = sawtooth(decoded.float()), sawtooth(true.float())
    return torch.stack([(real * real).mean(-1), (said * said).mean(-1), (real * said).mean(-1)], -1)


def correlation(sums: Tensor, count: Tensor | float) -> Tensor:
    """Edge sight (...) from `moments` (..., 3) added up over `count` (...) maps.

    0 where the decoded maps have no sawtooth, not a number where the true ones have none: nothing to see.
    """
    real, said, both = sums.double().unbind(-1)
    least = FLAT**2 * torch.as_tensor(count, dtype=torch.float64)
    seen = torch.where(said > least, both / (real * said).clamp_min(1e-300).sqrt(), 0.0)
    return torch.where(real > least, seen, torch.nan)


def edge_sight(
    decoded: Tensor,
    true: Tensor,
    terrain_type: Tensor,
    ranks: Ranks = ALONE,
    valid: Tensor | None = None,
) -> dict[str, float]:
    """`edge_sight/TYPE` of each terrain type that has edges here, over the maps of all ranks.

    decoded, true (m, 180) in the same units; terrain_type (m,) index into TERRAIN_TYPES; valid (m,) bool:
    the maps that count, by default all.
    """
    sums = torch.zeros(len(TERRAIN_TYPES), 4, dtype=torch.float64, device=decoded.device)
    each = moments(decoded, true).double()
    rows = torch.cat((each, torch.ones_like(each[:, :1])), 1)
    if valid is not None:
        rows = torch.where(valid.unsqueeze(1), rows, 0.0)
    sums.index_add_(0, terrain_type, rows)
    sums = fetched(ranks.sum_(sums))
    seen = correlation(sums[:, :3], sums[:, 3])
    return {
        f"edge_sight/{name}": float(value)
        for name, value in zip(TERRAIN_TYPES, seen, strict=True)
        if not value.isnan()
    }


@torch.no_grad()
def of_rollout(rollout: Rollout, networks: Networks, ranks: Ranks = ALONE) -> dict[str, float]:
    """Edge sight of what the actor acted on, by terrain type; to be asked before the decoders learn from it.

    One step of `STRIDE` is enough: the ground changes little from one step to the next. Only maps that lie
    wholly among obstacles count: elsewhere the beginning of a flight is most of what there is to be seen, and
    hides that treads are not; an encoder scored 0.4 there and 0.05 on stairs that went on.
    """
    some, layouts = slice(None, None, STRIDE), networks.layouts
    latent = layouts.actor.get(rollout.actor[some], "latent_base").flatten(0, 1)
    true = layouts.privileged.get(rollout.privileged[some], "base_height_map").flatten(0, 1)
    counted = (rollout.valid[some] & rollout.among[some]).flatten()
    terrain = rollout.terrain_type[some].flatten()
    return edge_sight(networks.decoders.base(latent), true, terrain, ranks, counted)
