"""Facts about the world that hold in every engine."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from poses import standing

from ssr.physics.engines import ENGINES, make_simulator
from ssr.physics.simulator import Simulator
from ssr.physics.world import PhysicsConfig
from ssr.robots import load
from ssr.task.config import RandomizationConfig
from ssr.task.randomization import draw_dynamics
from ssr.terrain.making import TILE_POOL, make_tile
from ssr.terrain.tile import Tile

ROBOT = load("x2")
DEFAULT = torch.tensor(ROBOT.values("default"), dtype=torch.float32)


@pytest.fixture(params=list(ENGINES))
def make(request):
    def simulator(count: int, tile: Tile | None = None) -> Simulator:
        tile, config = tile or make_tile("flat"), PhysicsConfig(engine=request.param)
        made = make_simulator(ROBOT, count, pool=TILE_POOL, config=config, threads=1, loose=tile.loose)
        made.place(torch.arange(count), [tile] * count)
        made.reset(torch.arange(count), standing(ROBOT, count))
        return made

    return simulator


def hold(simulator: Simulator, steps: int) -> None:
    for _ in range(steps):
        simulator.step(DEFAULT.repeat(simulator.num_envs, 1), 4)


def neutral(simulator: Simulator, count: int):
    bodies = len(simulator.body_names)
    return draw_dynamics(count, bodies, len(DEFAULT), RandomizationConfig(), 0.0, torch.Generator())


def test_standing_feet_carry_the_weight_and_what_was_loaded_on_top(make) -> None:
    simulator = make(2)
    loaded = replace(neutral(simulator, 1), base_added_mass=torch.tensor([5.0]))
    simulator.randomize(torch.tensor([1]), loaded)
    forces = []
    for _ in range(40):
        hold(simulator, 1)
        forces.append(simulator.state().foot_force[:, :, 2].sum(-1))
    plain, heavy = torch.stack(forces[20:]).mean(0).tolist()
    assert plain == pytest.approx(9.81 * sum(simulator.model.body_mass), rel=0.05)
    assert heavy - plain == pytest.approx(9.81 * 5.0, rel=0.2)


def test_a_slippery_slope_lets_the_robot_slide(make) -> None:
    simulator, ids = make(2), torch.arange(2)
    simulator.place(ids, [make_tile("slope", setting=(20.0,))] * 2)
    simulator.randomize(ids, replace(neutral(simulator, 2), friction=torch.tensor([0.1, 1.0])))
    simulator.reset(ids, standing(ROBOT, 2, x=4.0, ground=4.0 * math.tan(math.radians(20.0)) + 0.01))
    hold(simulator, 30)
    slid, held = (4.0382 - simulator.state().sole_position[:, :, 0].mean(-1)).tolist()
    assert slid > held + 0.1


def test_a_poisoned_world_is_reported_and_its_neighbours_do_not_notice(make) -> None:
    healthy, poisoned = make(5), make(5)
    state = poisoned.snapshot(torch.tensor([2]))
    poisoned.restore(torch.full_like(state, math.nan), torch.tensor([2]))
    others = torch.tensor([0, 1, 3, 4])
    for simulator in (healthy, poisoned):
        hold(simulator, 5)
    assert torch.equal(healthy.configurations(others), poisoned.configurations(others))
    state = poisoned.state()
    assert state.finite.tolist() == [True, True, False, True, True]
    assert state.base_quaternion[2].tolist() == [1.0, 0.0, 0.0, 0.0] and not state.foot_force[2].any()
    poisoned.reset(torch.tensor([2]), standing(ROBOT, 1))
    hold(poisoned, 5)
    assert bool(poisoned.state().finite.all())


def test_soles_rest_at_the_queried_height_after_tiles_were_replaced(make) -> None:
    """Geoms that stayed where they were, or stale bounds, would let robots fall through or hang in air."""
    count, rng = 10, np.random.default_rng(1)
    simulator, ids = make(count), torch.arange(count)
    for _ in range(2):
        kinds = ("stairs_up", "stairs_down", "discrete", "gap", "platform")
        tiles = [make_tile(kinds[i % 5], level=int(rng.integers(20)), rng=rng) for i in range(count)]
        simulator.place(ids, tiles)
        behind = [tile.length + 1.0 for tile in tiles]
        poses = standing(ROBOT, count)
        ground = np.array(
            [tile.heights(np.array([[x, 0.0]]))[0] for tile, x in zip(tiles, behind, strict=True)]
        )
        assert np.ptp(ground) > 0.5
        poses.base_position[:, 0] = torch.tensor(behind)
        poses.base_position[:, 2] += torch.from_numpy(ground).float()
        simulator.reset(ids, poses)
        hold(simulator, 20)
        soles = simulator.state().sole_position[..., 2].mean(-1).numpy()
        assert np.abs(soles - ground).max() < 5e-3


def test_saved_worlds_go_on_as_if_nothing_had_happened(make) -> None:
    one, other, ids = make(3), make(3), torch.arange(3)
    generator = torch.Generator().manual_seed(0)
    drawn = draw_dynamics(3, len(one.body_names), len(DEFAULT), RandomizationConfig(), 1.0, generator)
    one.place(ids, [make_tile("stairs_up", level, rng=np.random.default_rng(0)) for level in range(3)])
    one.randomize(ids, drawn)
    hold(one, 10)
    other.load_state_dict(one.state_dict())
    for simulator in (one, other):
        hold(simulator, 10)
    assert torch.equal(one.configurations(ids), other.configurations(ids))


def test_a_robot_lying_on_stairs_fits_into_the_room_for_contacts(make) -> None:
    simulator, ids = make(4), torch.arange(4)
    simulator.place(
        ids, [make_tile("stairs_up", 5 * level, rng=np.random.default_rng(0)) for level in range(4)]
    )
    simulator.reset(ids, standing(ROBOT, 4, x=2.0, ground=0.3))
    generator, before = torch.Generator().manual_seed(0), simulator.overflows
    for _ in range(60):
        simulator.step(DEFAULT + torch.randn(4, len(DEFAULT), generator=generator), 4)
    assert (simulator.state().gravity[:, 2] > -0.7).any(), "somebody must have fallen"
    assert simulator.overflows == before


def test_a_pallet_lies_where_its_tile_has_it_until_a_robot_is_in_its_way(make) -> None:
    tile = make_tile("pallets", setting=(0.1, 0.3), rng=np.random.default_rng(0))
    simulator = make(2, tile)
    ids, first = torch.arange(2), tile.loose[0].box.center
    simulator.reset(ids, standing(ROBOT, 2))
    hold(simulator, 10)
    lying = simulator.link_poses()[0][:, simulator.link_names.index("loose_0")]
    assert torch.allclose(lying, torch.tensor(first).repeat(2, 1).float(), atol=5e-3)
    pose = standing(ROBOT, 2)
    pose.base_position[1, 0], pose.base_velocity[1, 0] = first[0] - 0.75, 3.0
    simulator.reset(ids, pose)
    hold(simulator, 20)
    left, pushed = simulator.link_poses()[0][:, simulator.link_names.index("loose_0"), 0].tolist()
    assert left == pytest.approx(first[0], abs=5e-3) and pushed > first[0] + 0.01


def test_boxes_with_a_friction_of_their_own_keep_it(make) -> None:
    """On a slope of one's own ice a robot slides, whatever friction its world drew."""
    icy = make_tile("slope", setting=(20.0,))
    icy = replace(icy, boxes=tuple(replace(box, friction=0.1) for box in icy.boxes))
    simulator, ids = make(2), torch.arange(2)
    simulator.place(ids, [icy, make_tile("slope", setting=(20.0,))])
    simulator.randomize(ids, neutral(simulator, 2))
    simulator.reset(ids, standing(ROBOT, 2, x=4.0, ground=4.0 * math.tan(math.radians(20.0)) + 0.01))
    hold(simulator, 30)
    slid, held = (4.0382 - simulator.state().sole_position[:, :, 0].mean(-1)).tolist()
    assert slid > held + 0.1
