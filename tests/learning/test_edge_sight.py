"""Edge sight is 1 for the true map, 0 for its ramp, and tells terrain types apart."""

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from ssr.learning.edge_sight import SEASONED, STRIDE, edge_sight, of_rollout, sawtooth
from ssr.learning.rollout import Rollout
from ssr.robots import load
from ssr.symmetry.vectors import BASE_MAP, layouts
from ssr.terrain.settings import SLOPE, STAIRS, TERRAIN_TYPES


def ramps(count: int) -> Tensor:
    """(count, 180) planes that rise ahead and to the left."""
    x, y = torch.meshgrid(torch.linspace(-0.5, 1.2, 18), torch.linspace(-0.45, 0.45, 10), indexing="ij")
    steep = torch.linspace(-1.0, 1.0, count)[:, None, None]
    return (0.3 + steep * x - 0.5 * steep * y).flatten(1)


def stairs(count: int) -> Tensor:
    """(count, 180) maps of stairs of 13/32 cm, seen from different places on a tread."""
    x = torch.linspace(-0.5, 1.2, BASE_MAP[0]) + torch.linspace(0.0, 0.32, count)[:, None]
    return (0.13 * (x / 0.32).floor())[..., None].expand(-1, -1, BASE_MAP[1]).flatten(1)


def sight(decoded: Tensor, true: Tensor) -> dict[str, float]:
    return edge_sight(decoded, true, torch.full((len(true),), STAIRS))


def test_a_ramp_has_no_sawtooth_and_stairs_keep_theirs_on_any_ramp() -> None:
    assert sawtooth(ramps(5)).abs().max() < 1e-6
    assert torch.allclose(sawtooth(stairs(5) + ramps(5)), sawtooth(stairs(5)), atol=1e-6)


def test_the_true_map_is_seen_fully_and_its_ramp_not_at_all() -> None:
    true = stairs(40)
    ramp = true - sawtooth(true)
    assert sight(true, true)["edge_sight/stairs"] == pytest.approx(1.0)
    assert sight(ramp, true)["edge_sight/stairs"] == 0.0
    assert sight(2.0 * true + ramps(40), true)["edge_sight/stairs"] == pytest.approx(1.0)
    assert sight(ramp - sawtooth(true), true)["edge_sight/stairs"] == pytest.approx(-1.0)


def test_where_a_flight_begins_can_be_known_without_seeing_its_edges() -> None:
    """Smoothed over two treads, a flight that begins within the map keeps its bend and loses its edges."""
    x = torch.linspace(-0.5, 1.2, BASE_MAP[0]) + torch.linspace(-0.8, 0.3, 60)[:, None]
    flight = 0.13 * (x / 0.32).floor().clamp_min(-1.0)
    padded = torch.nn.functional.pad(flight[:, None], (3, 3), mode="replicate")
    smooth = torch.nn.functional.avg_pool1d(padded, 7, 1)[:, 0]
    maps = [profile[..., None].expand(-1, -1, BASE_MAP[1]).flatten(1) for profile in (smooth, flight)]
    assert sight(*maps)["edge_sight/stairs"] < 0.4


def test_half_the_truth_among_noise_of_its_size_is_seen_by_seven_tenths() -> None:
    true = stairs(400)
    teeth = sawtooth(true)
    noise = sawtooth(torch.randn(true.shape, generator=torch.Generator().manual_seed(0)))
    noise *= teeth.norm() / noise.norm()
    assert sight(teeth + noise, true)["edge_sight/stairs"] == pytest.approx(0.5**0.5, abs=0.01)


def test_each_terrain_type_counts_its_own_maps_and_level_ground_shows_nothing() -> None:
    true = torch.cat((stairs(20), stairs(20), ramps(20)))
    decoded = torch.cat((stairs(20), ramps(20), stairs(20)))
    gap = TERRAIN_TYPES.index("gap")
    kind = torch.tensor([STAIRS, gap, SLOPE]).repeat_interleave(20)
    found = edge_sight(decoded, true, kind)
    assert found == {
        "edge_sight/stairs": pytest.approx(1.0),
        "edge_sight/stairs/down": pytest.approx(1.0),
        "edge_sight/gap": 0.0,
    }


def test_flights_are_told_apart_by_the_way_they_go() -> None:
    down = stairs(20)  # maps tell how deep the ground lies
    true, decoded = torch.cat((down, -down)), torch.cat((down, ramps(20)))
    found = edge_sight(decoded, true, torch.full((40,), STAIRS))
    assert found["edge_sight/stairs/down"] == pytest.approx(1.0)
    assert found["edge_sight/stairs/up"] == 0.0


def test_a_rollout_is_judged_by_the_latents_that_acted_among_obstacles_where_worlds_were_sound() -> None:
    vectors = layouts(load("x2"), 16)
    sizes = {
        name: getattr(vectors, name).size for name in ("proprioception", "actor", "privileged", "action")
    }
    rollout = Rollout(steps=2 * STRIDE, num_envs=40, history=2, sizes=sizes, streams=("locomotion",))
    rollout.privileged[..., vectors.privileged.slice("base_height_map")] = stairs(40)
    rollout.actor[..., vectors.actor.slice("latent_base")] = torch.arange(40.0)[:, None]
    rollout.terrain_type[:] = STAIRS
    rollout.valid[:, 1:] = True
    rollout.among[:, 0] = rollout.among[:, 2:] = True
    rollout.privileged[:, :2] = torch.nan
    lived = torch.full((40,), float(SEASONED))

    def networks(maps: Tensor) -> SimpleNamespace:
        """A decoder that says the map whose number the latent holds."""
        return SimpleNamespace(
            layouts=vectors, decoders=SimpleNamespace(base=lambda latent: maps[latent[..., 0].long()])
        )

    everything, nothing = (networks(maps) for maps in (stairs(40), ramps(40)))
    assert of_rollout(rollout, everything, lived)["edge_sight/stairs"] == pytest.approx(1.0)
    assert of_rollout(rollout, nothing, lived)["edge_sight/stairs"] == 0.0
    assert of_rollout(rollout, everything, lived - rollout.steps) == {}, "nobody has walked for long enough"
    rollout.restarted[0, :20] = True
    rollout.actor[..., :20, vectors.actor.slice("latent_base")] = 39.0  # and says a wrong map
    assert of_rollout(rollout, everything, lived)["edge_sight/stairs"] == pytest.approx(1.0)
