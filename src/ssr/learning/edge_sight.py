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
from ssr.terrain.settings import STAIRS, TERRAIN_TYPES

#: Terrain types, then flights by the way they go.
SHOWN = (*TERRAIN_TYPES, "stairs/up", "stairs/down")
FLAT = 1e-3  #: root mean square of a sawtooth, in units of the map, below which there is none
STRIDE = 6  #: control steps from one sample of a rollout to the next
SEASONED = 100  #: control steps into an episode from which it tells how a robot sees and obeys


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
    """`edge_sight/TYPE` of each terrain type that has edges here, over the maps of all ranks; of stairs also
    by the way they go.

    decoded, true (m, 180) in the same units; terrain_type (m,) index into TERRAIN_TYPES; valid (m,) bool:
    the maps that count, by default all.
    """
    sums = torch.zeros(len(SHOWN), 4, dtype=torch.float64, device=decoded.device)
    each = moments(decoded, true).double()
    rows = torch.cat((each, torch.ones_like(each[:, :1])), 1)
    if valid is not None:
        rows = torch.where(valid.unsqueeze(1), rows, 0.0)
    sums.index_add_(0, terrain_type, rows)
    flight = len(TERRAIN_TYPES) + _falls(true).long()
    sums.index_add_(0, flight, torch.where((terrain_type == STAIRS).unsqueeze(1), rows, 0.0))
    sums = fetched(ranks.sum_(sums))
    seen = correlation(sums[:, :3], sums[:, 3])
    return {
        f"edge_sight/{name}": float(value)
        for name, value in zip(SHOWN, seen, strict=True)
        if not value.isnan()
    }


def _falls(maps: Tensor) -> Tensor:
    """(m,) bool: the ground falls ahead, so that maps (m, 180), which tell how deep it lies, rise."""
    behind, ahead = maps.unflatten(-1, BASE_MAP).mean(-1).chunk(2, -1)
    return ahead.mean(-1) > behind.mean(-1)


@torch.no_grad()
def of_rollout(rollout: Rollout, networks: Networks, lived: Tensor, ranks: Ranks = ALONE) -> dict[str, float]:
    """Edge sight of what the actor acted on, by terrain type; to be asked before the decoders learn from it.

    lived (n,): control steps that the worlds' episodes had lasted before the rollout. One step of `STRIDE` is
    enough: the ground changes little from one step to the next. Only maps that lie wholly among obstacles
    count: elsewhere the beginning of a flight is most of what there is to be seen, and hides that treads are
    not; an encoder scored 0.4 there and 0.05 on stairs that went on. And only those of robots that have been
    up for a while: who was put down among the steps a moment ago shows how they begin, not how they walk.
    """
    some, layouts = slice(None, None, STRIDE), networks.layouts
    latent = layouts.actor.get(rollout.actor[some], "latent_base").flatten(0, 1)
    true = layouts.privileged.get(rollout.privileged[some], "base_height_map").flatten(0, 1)
    seasoned = _ages(lived, rollout.restarted)[some] >= SEASONED
    counted = (rollout.valid[some] & rollout.among[some] & seasoned).flatten()
    terrain = rollout.terrain_type[some].flatten()
    return edge_sight(networks.decoders.base(latent), true, terrain, ranks, counted)


def _ages(lived: Tensor, restarted: Tensor) -> Tensor:
    """(T, n) control steps since an episode began, of worlds that began anew where restarted (T, n)."""
    ages, age = [], lived
    for began in restarted:
        age = age.masked_fill(began, 0.0)
        ages.append(age)
        age = age + 1
    return torch.stack(ages)
