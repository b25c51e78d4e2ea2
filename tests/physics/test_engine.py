"""Worlds are independent, repeatable, and hold what was put into them."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
import torch
from mujoco.batch import Batch
from poses import standing

from ssr.physics.mujoco_engine import MujocoSimulator
from ssr.physics.world import build_world, randomize
from ssr.robots import load
from ssr.task.config import RandomizationConfig
from ssr.task.randomization import draw_dynamics, effective_friction
from ssr.terrain.making import TILE_POOL, make_tile
from ssr.terrain.tile import Box, Tile

ROBOT = load("x2")
DEFAULT = torch.tensor(ROBOT.values("default"))


def simulator(count: int, threads: int = 1) -> MujocoSimulator:
    sim = MujocoSimulator(ROBOT, count, pool=TILE_POOL, threads=threads, dtype=torch.float64)
    rng = np.random.default_rng(0)
    kinds = ("stairs_up", "gap", "platform", "slope")
    sim.place(torch.arange(count), [make_tile(kinds[i % 4], level=i % 20, rng=rng) for i in range(count)])
    sim.reset(torch.arange(count), standing(ROBOT, count))
    return sim


def roll(sim: MujocoSimulator, steps: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        noise = torch.randn(sim.num_envs, len(DEFAULT), generator=generator, dtype=torch.float64)
        sim.step(DEFAULT + 0.2 * noise, 4)
    return torch.from_numpy(sim.qpos.copy())


def test_same_trajectory_at_any_thread_count() -> None:
    assert torch.equal(roll(simulator(12, threads=1), 25), roll(simulator(12, threads=3), 25))


def test_each_randomization_reaches_the_model() -> None:
    sim = simulator(3)
    generator = torch.Generator().manual_seed(1)
    bodies = len(sim.body_names)
    drawn = draw_dynamics(2, bodies, len(DEFAULT), RandomizationConfig(), 1.0, generator)
    sim.randomize(torch.tensor([0, 2]), drawn)
    plain, model = sim.batch.get_model(1), sim.batch.get_model(2)
    base = 1
    mass = plain.body_mass[base] * drawn.link_mass_scale[1, 0].item() + drawn.base_added_mass[1].item()
    assert model.body_mass[base] == pytest.approx(mass, rel=1e-6)
    assert np.allclose(
        model.body_mass[2:], plain.body_mass[2:] * drawn.link_mass_scale[1, 1:].numpy(), rtol=1e-6
    )
    offset = (drawn.base_com_offset[1] + drawn.link_com_offset[1, 0]).numpy()
    assert np.allclose(model.body_ipos[base], plain.body_ipos[base] + offset, atol=1e-6)
    assert np.allclose(
        model.body_ipos[2:], plain.body_ipos[2:] + drawn.link_com_offset[1, 1:].numpy(), atol=1e-6
    )
    gain = ROBOT.values("kp") * (drawn.kp_scale[1] * drawn.motor_strength[1]).numpy()
    assert np.allclose(model.actuator_gainprm[:, 0], gain, rtol=1e-5)
    damping = ROBOT.values("kd") * (drawn.kd_scale[1] * drawn.motor_strength[1]).numpy()
    assert np.allclose(model.actuator_biasprm[:, 2], -damping, rtol=1e-5)
    assert np.allclose(model.geom_friction[sim._terrain, 0], drawn.friction[1].item(), rtol=1e-6)
    assert np.allclose(model.body_subtreemass[1], model.body_mass[1:].sum()), "derived constants must follow"
    assert np.allclose(plain.body_mass, sim.model.body_mass), "the world in between was not asked to change"


def test_a_robot_simulated_alone_gets_the_bodies_and_ground_of_a_world_that_drew_the_same() -> None:
    sim = simulator(1)
    generator = torch.Generator().manual_seed(1)
    drawn = draw_dynamics(1, len(sim.body_names), len(DEFAULT), RandomizationConfig(), 1.0, generator)
    sim.randomize(torch.tensor([0]), drawn)
    alone, world = build_world(ROBOT, TILE_POOL).compile(), sim.batch.get_model(0)
    assert not np.allclose(alone.body_mass, world.body_mass)
    randomize(alone, drawn)
    for field in ("body_mass", "body_inertia", "body_ipos", "body_subtreemass", "geom_friction"):
        assert np.array_equal(getattr(alone, field), getattr(world, field)), field


def test_friction_rules() -> None:
    drawn = torch.tensor([0.2, 1.25])
    assert torch.allclose(effective_friction(drawn, "average"), torch.tensor([0.6, 1.125]))
    assert torch.equal(effective_friction(drawn, "direct"), drawn)


def test_the_drawn_friction_wins_over_the_robots_own() -> None:
    sim = simulator(2)
    soles = [sim.model.geom(f"{side}_foot").id for side in ("right", "left")]
    assert sim.model.geom_priority[sim._terrain].min() > sim.model.geom_priority[soles].max()


def balls(count: int) -> MujocoSimulator:
    """The engine with a ball of 2 cm instead of a robot."""
    spec = mujoco.MjSpec()
    for index in range(TILE_POOL):
        spec.worldbody.add_geom(
            name=f"terrain_{index}", type=mujoco.mjtGeom.mjGEOM_BOX, size=(0.01, 0.01, 0.01), pos=(0, 0, -100)
        )
    ball = spec.worldbody.add_body(name="ball")
    ball.add_freejoint()
    ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=(0.02, 0, 0), mass=0.1)
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_MIDPHASE
    sim = MujocoSimulator.__new__(MujocoSimulator)
    sim.model, sim.pool, sim.num_envs = spec.compile(), TILE_POOL, count
    sim.model.geom_sameframe[:TILE_POOL] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE.value
    sim.batch = Batch(sim.model, count, nthread=1, persistent=True)
    sim._box_range, sim._box_friction = np.zeros((count, TILE_POOL, 2)), np.zeros((count, TILE_POOL))
    sim.loose = ()
    sim._terrain = np.array([sim.model.geom(f"terrain_{i}").id for i in range(TILE_POOL)])
    return sim


def check_rest(sim: MujocoSimulator, tiles: list[Tile], points: np.ndarray) -> None:
    """Balls dropped on points (n, 2) of the tiles rest at the queried height, edges left out."""
    sim.place(torch.arange(sim.num_envs), tiles)
    around = 0.03 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    ground = np.array([tile.heights(p[None])[0] for tile, p in zip(tiles, points, strict=True)])
    level = [np.ptp(tile.heights(p + around)) < 1e-9 for tile, p in zip(tiles, points, strict=True)]
    qpos, qvel = sim.batch.bind("qpos"), sim.batch.bind("qvel")
    qpos[:] = 0.0
    qpos[:, :2], qpos[:, 2], qpos[:, 3] = points, ground + 0.05, 1.0
    qvel[:] = 0.0
    sim.batch.step(nstep=400)
    assert sum(level) > 40
    assert np.abs(qpos[level, 2] - ground[level] - 0.02).max() < 2e-3


def test_balls_rest_at_the_queried_height_after_tiles_were_replaced() -> None:
    """Stale collision bounds would let them fall through or hang in the air."""
    count, rng = 60, np.random.default_rng(1)
    sim = balls(count)
    kinds = ("stairs_up", "stairs_down", "discrete", "gap", "platform")
    for _ in range(2):
        tiles = [make_tile(kinds[i % 5], level=int(rng.integers(20)), rng=rng) for i in range(count)]
        check_rest(sim, tiles, np.stack([rng.uniform(0.0, 8.0, count), rng.uniform(-1.5, 1.5, count)], -1))


def test_balls_rest_on_turned_blocks() -> None:
    """Each world has one block, longer than wide, and a ball near one of its ends."""
    count, rng = 60, np.random.default_rng(2)
    sim = balls(count)
    for _ in range(2):
        yaw = rng.uniform(-np.pi, np.pi, count)
        ends = rng.choice([-0.6, 0.6], count)[:, None] * np.stack([np.cos(yaw), np.sin(yaw)], axis=-1)
        turned = [Box((3.0, 0.5, 0.1), (0.7, 0.1, 0.2), 0.0, float(angle)) for angle in yaw]
        flat = make_tile("flat")
        tiles = [replace(flat, boxes=(*flat.boxes, box)) for box in turned]
        places = np.array([3.0, 0.5]) + ends
        assert all(
            abs(tile.heights(at[None])[0] - 0.3) < 1e-9 for tile, at in zip(tiles, places, strict=True)
        )
        check_rest(sim, tiles, places)


def test_the_model_names_what_the_engine_needs() -> None:
    model = build_world(ROBOT, 3).compile()
    assert model.opt.timestep == 0.005
    assert [model.actuator(i).name for i in range(model.nu)] == list(ROBOT.joint_names)


def test_local_quantities_are_the_world_ones_in_the_base_frame() -> None:
    sim = simulator(6)
    roll(sim, 8)
    state = sim.state()
    rotation = torch.from_numpy(np.stack([_matrix(q) for q in state.base_quaternion.numpy()]))
    turn = lambda v: torch.einsum("nji,nkj->nki", rotation, v)
    offset = lambda points: turn(points - state.base_position[:, None])
    assert torch.allclose(state.local_velocity, turn(state.base_velocity[:, None])[:, 0])
    assert torch.allclose(state.local_foot_velocity, turn(state.foot_velocity))
    assert torch.allclose(state.local_hand_position, offset(state.hand_position))
    assert torch.allclose(state.local_sole_position, offset(state.sole_position))
    assert torch.allclose(state.gravity, -rotation[:, 2])
    assert torch.allclose(state.yaw, torch.atan2(rotation[:, 1, 0], rotation[:, 0, 0]))


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    out = np.empty(9)
    mujoco.mju_quat2Mat(out, quaternion)
    return out.reshape(3, 3)
