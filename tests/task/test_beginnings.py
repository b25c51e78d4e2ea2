"""How an episode begins does not depend on who compiled the rules: the same draws, by Numba and by Warp."""

from typing import Any

import numpy as np
import torch

from ssr.physics.readout import Readout
from ssr.task import commands, fitting, gait, imitation, progress, starts
from ssr.task.config import CommandConfig
from ssr.terrain import curriculum
from ssr.terrain.edges_near import edges_near
from ssr.terrain.field import TerrainField
from ssr.terrain.making import TILE_POOL, make_tile
from ssr.terrain.registry import trained_kinds
from ssr.terrain.settings import LEVELS, SLOPE

WORLDS = 64
RNG = np.random.default_rng(0)


def field() -> TerrainField:
    kinds = trained_kinds()
    names = [kinds[k % len(kinds)] for k in range(WORLDS)]
    levels = [{} if name == "flat" else {"level": k * LEVELS // WORLDS} for k, name in enumerate(names)]
    ground = TerrainField(WORLDS, TILE_POOL)
    tiles = [make_tile(name, **level, rng=RNG) for name, level in zip(names, levels, strict=True)]
    ground.place(torch.arange(WORLDS), tiles)
    return ground


def chance(*shape: int) -> np.ndarray:
    return RNG.random((WORLDS, *shape), dtype=np.float32)


def truths() -> np.ndarray:
    return RNG.random(WORLDS) < 0.5


def anything(record: type, **known: np.ndarray) -> Any:
    """A record of numbers that no rule may leave where it has to set them."""
    return record(**{name: known.get(name, chance()) for name in record._fields})


def on_a_device(value: Any) -> Any:
    if isinstance(value, tuple):
        return type(value)(*map(on_a_device, value))
    if not isinstance(value, np.ndarray):
        return value
    tensor = torch.from_numpy(value.copy())
    return tensor.int() if tensor.dtype == torch.int64 else tensor


def arrays_in(arguments: Any) -> list[np.ndarray]:
    flat = [part for value in arguments for part in (value if isinstance(value, tuple) else (value,))]
    return [np.asarray(part) for part in flat]


def same_by_both(rule: Any, *arguments: Any) -> None:
    """On the device about half of the worlds begin: they are as on the host, the others as they were."""
    chosen, device = truths(), tuple(map(on_a_device, arguments))
    before = [array.copy() for array in arrays_in(device)]
    rule(torch.from_numpy(chosen), *device)
    everyone = tuple(_copied(value) for value in arguments)
    rule(np.arange(WORLDS), *everyone)
    changed = False
    for host, there, was in zip(arrays_in(everyone), arrays_in(device), before, strict=True):
        if host.ndim == 0 or len(host) != WORLDS:
            continue
        np.testing.assert_allclose(there[chosen], host[chosen], atol=1e-6)
        np.testing.assert_array_equal(there[~chosen], was[~chosen])
        changed = changed or not np.array_equal(there, was)
    assert changed, "the rule did something"


def _copied(value: Any) -> Any:
    if isinstance(value, tuple):
        return type(value)(*map(_copied, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def asked() -> commands.Asked:
    return anything(
        commands.Asked, direction=np.where(truths(), 1.0, -1.0).astype(np.float32), fast=truths(),
        free=chance(3), still=truths(), steps_left=RNG.integers(0, 9, WORLDS),
    )  # fmt: skip


def reading() -> Any:
    readout = Readout(WORLDS, 21, torch.float32)
    readout.table[:] = RNG.random(readout.table.shape, dtype=np.float32)
    return readout.reading


def ranges() -> commands.Ranges:
    speed, heading = commands.table_4(CommandConfig())
    free = np.array([[-0.5, 1.0], [-0.3, 0.3], [-1.0, 1.0]], np.float32)
    return commands.Ranges(
        speed=speed, heading=heading, free=free, slowest=0.2, straightness=0.7, still_share=0.2,
        alone_share=0.4,
    )  # fmt: skip


def test_who_walks_backwards_or_fast() -> None:
    kinds, speeds = field().arrays.type, ranges().speed
    same_by_both(commands.turn_round, kinds, speeds, chance(), chance(), 0.3, 0.5, asked())


def test_who_roams() -> None:
    kinds = np.full(WORLDS, SLOPE)
    course, free = 2.0 * chance(3) - 1.0, ranges().free
    course[truths()] = 0.0
    same_by_both(commands.set_free, kinds, chance(), 0.5, course, free, np.zeros(WORLDS, bool), asked())


def test_what_is_asked_first() -> None:
    draws = commands.Draws(
        speed=chance(), heading=chance(), free=chance(3), still=chance(), steps=RNG.integers(1, 9, WORLDS)
    )
    same_by_both(commands.ask, field().arrays.type, draws, ranges(), asked())


def test_what_is_asked_of_who_begins_in_motion() -> None:
    same_by_both(commands.go_on, field().arrays.type, 2.0 * chance() - 0.5, ranges().speed, asked())


def test_where_robots_are_put_down() -> None:
    onward, lateral = chance() * truths(), 0.4 * chance() - 0.2
    same_by_both(starts.put_down, truths(), truths(), onward, lateral, field().arrays, chance(3))


def test_what_pose_fits_a_place() -> None:
    ground, somewhere = field().arrays, chance()
    middle = ground.start + somewhere * ((ground.first_edge + ground.last_edge) / 2 - ground.start)
    around = [
        edges_near(ground.facets, ground.facet_count[i], i, middle[i] + 0.1, np.float32(0.0))
        for i in range(WORLDS)
    ]
    known = {"edges": np.array(around), "soles": 0.4 * chance(2, 2) - 0.2, "over": 0.7 + 0.1 * chance(2)}
    unused = np.zeros((1, 1))
    fields = {name: known.get(name, unused).astype(np.float32) for name in imitation.ReferenceTrack._fields}
    candidates = np.stack([RNG.permutation(WORLDS) for _ in range(WORLDS)])
    candidates[truths()] = -1
    position, frame = chance(3) - 0.5, np.full(WORLDS, -7)
    track = imitation.ReferenceTrack(**fields)
    arguments = (candidates, somewhere, np.zeros(WORLDS, bool), 0.95, ground, track)
    same_by_both(fitting.fit, *arguments, position, frame)
    fitting.fit(np.arange(WORLDS), *arguments, position, frame)
    some = candidates[:, 0] >= 0
    assert (frame[some] >= 0).mean() > 0.8, "one of the frames was seen 10 cm from each place"
    assert (frame[~some] == -1).all()
    taken = np.array(around)[frame]
    here = [edges_near(ground.facets, ground.facet_count[i], i, *position[i, :2]) for i in range(WORLDS)]
    apart = abs(np.array(here) - taken)[frame >= 0]
    assert apart[:, :2].max() < 0.05 and apart[:, 3:].max() < 0.09


def test_clocks_of_feet() -> None:
    whole = lambda *shape: RNG.integers(0, 9, (WORLDS, *shape))
    clocks = anything(
        gait.FootClocks, contact=chance(2) < 0.5, first_contact=chance(2) < 0.5, air_steps=whole(2),
        landed_air_steps=whole(2), since_single_support=whole(), falling_speed=chance(2),
        last_foot_speed=chance(2),
    )  # fmt: skip
    same_by_both(gait.restart, reading(), clocks)


def test_progress() -> None:
    flags = ("crossed", "omnidirectional", "fresh", "reached_top", "stalled")
    advance = anything(
        progress.Advance, level=RNG.integers(0, LEVELS, WORLDS), steps=RNG.integers(0, 9, WORLDS),
        **{name: truths() for name in flags},
    )  # fmt: skip
    same_by_both(progress.restart, reading(), field().arrays, advance, truths())


def test_levels() -> None:
    episodes = curriculum.Episodes(
        level=RNG.integers(0, LEVELS, WORLDS), crossed=truths(), progress=3.0 * chance(),
        commanded_distance=6.0 * chance(), first_reset=truths(), failed=truths(),
    )  # fmt: skip
    same_by_both(curriculum.next_level, RNG.integers(0, LEVELS, WORLDS), episodes)
