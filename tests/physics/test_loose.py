"""Loose bodies: they move as physics has it, cameras see them where they are, and so do heights."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest
import torch

from ssr import robots
from ssr.evaluation.worlds import GivenTiles
from ssr.physics.engines import make_simulator
from ssr.physics.simulator import ResetPose
from ssr.task.env import TraversalEnv
from ssr.terrain.field import TerrainField
from ssr.terrain.strip import make_strip
from ssr.terrain.tile import Box, LooseBox, Tile
from ssr.vision.camera import CameraConfig

X2 = robots.load("x2")
FAR = torch.tensor([[0.0, 0.0, 60.0]])


def tile_with(*loose: LooseBox, friction: float | None = None) -> Tile:
    ground = Box.spanning((-3.0, 12.0), (-5.0, 5.0), (-1.0, 0.0))
    return Tile(
        kind="flat", setting=(), boxes=(Box(ground.center, ground.half, friction=friction),), length=9.0,
        half_width=4.0, start=0.0, first_edge=1.0, last_edge=8.0, end_height=0.0, loose=loose,
    )  # fmt: skip


def pallet(x: float, sliding: float = 0.3, mass: float = 25.0) -> LooseBox:
    return LooseBox(box=Box((x, 0.0, 0.072), (0.4, 0.6, 0.072)), mass=mass, sliding=sliding)


def world_of(tile: Tile):
    """One world, its robot out of the way, high up."""
    simulator = make_simulator(X2, 1, pool=len(tile.boxes), threads=1, loose=tile.loose)
    world = torch.tensor([0])
    simulator.place(world, [tile])
    count = len(X2.joints)
    simulator.reset(
        world,
        ResetPose(
            base_position=FAR, base_quaternion=torch.tensor([[1.0, 0.0, 0.0, 0.0]]),
            base_velocity=torch.zeros(1, 3), base_angular_velocity=torch.zeros(1, 3),
            joint_position=torch.zeros(1, count), joint_velocity=torch.zeros(1, count),
        ),
    )  # fmt: skip
    return simulator


def test_a_push_between_two_pallets_conserves_momentum() -> None:
    """Where almost nothing rubs, one that slides into another hands on momentum, none is lost."""
    heavy, light = pallet(3.0, sliding=0.001, mass=25.0), pallet(4.2, sliding=0.001, mass=10.0)
    simulator = world_of(tile_with(heavy, light))
    velocity = simulator.qvel[0, -12:].reshape(2, 6)
    hold = simulator.targets()
    for _ in range(10):  # comes to rest
        simulator.step(hold, 4)
    velocity[0, 0] = 1.0
    before = 25.0 * velocity[0, 0] + 10.0 * velocity[1, 0]
    for _ in range(40):
        simulator.step(hold, 4)
    assert velocity[1, 0] > 0.5, "they met"
    assert 25.0 * velocity[0, 0] + 10.0 * velocity[1, 0] == pytest.approx(before, rel=0.01)
    assert np.abs(velocity[:, [1, 5]]).max() < 1e-3, "nothing turned aside"


def momentum_of(simulator) -> np.ndarray:
    """(3,) kg m/s of robot and pallets together, worked out by MuJoCo from the state."""
    model = simulator.model
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = simulator.qpos[0], simulator.qvel[0]
    mujoco.mj_forward(model, data)
    mujoco.mj_subtreeVel(model, data)
    moving = [body for body in range(1, model.nbody) if model.body_parentid[body] == 0]
    return sum(model.body_subtreemass[body] * data.subtree_linvel[body] for body in moving)


def test_in_the_air_a_hit_leaves_momentum_as_it_was() -> None:
    """Nothing to lean on: what one pallet loses the other gains, to the last digits, askew as they meet."""
    simulator = world_of(tile_with(pallet(3.0, mass=25.0), pallet(4.0, mass=10.0)))
    simulator.qpos[0, -14:].reshape(2, 7)[:, 2] += 30.0
    velocity = simulator.qvel[0, -12:].reshape(2, 6)
    velocity[0, :2] = (1.0, 0.2)
    masses, seconds = np.array([25.0, 10.0]), 40 * 4 * 0.005
    before = masses @ velocity[:, :3]
    for _ in range(40):
        simulator.step(simulator.targets(), 4)
    assert velocity[1, 0] > 0.3, "they met"
    weight = np.array([0.0, 0.0, -35.0 * 9.81 * seconds])
    np.testing.assert_allclose(masses @ velocity[:, :3] - before - weight, 0.0, atol=1e-9)


def test_a_pallet_that_hits_a_robot_in_the_air_gives_what_it_loses() -> None:
    simulator = world_of(tile_with(pallet(3.0)))
    place, velocity = simulator.qpos[0, -7:], simulator.qvel[0, -6:]
    place[:3] = (-0.7, 0.0, 60.0)
    velocity[0] = 2.0
    before = momentum_of(simulator)
    for _ in range(20):
        simulator.step(simulator.targets(), 4)
    assert velocity[0] < 1.5, "they met"
    mass = simulator.model.body_subtreemass[0]
    gained = momentum_of(simulator) - before - np.array([0.0, 0.0, -mass * 9.81 * 20 * 4 * 0.005])
    np.testing.assert_allclose(gained, 0.0, atol=0.05)  # of 50 kg m/s


def test_friction_below_is_its_own() -> None:
    """μ g decelerates: a pallet pushed at 1 m/s slides 1 / (2 μ g) m."""
    simulator = world_of(tile_with(pallet(3.0, sliding=0.3)))
    hold = simulator.targets()
    for _ in range(10):
        simulator.step(hold, 4)
    start, velocity = float(simulator.qpos[0, -7]), simulator.qvel[0, -6:]
    velocity[0] = 1.0
    for _ in range(60):
        simulator.step(hold, 4)
    assert abs(velocity[0]) < 1e-2
    assert float(simulator.qpos[0, -7]) - start == pytest.approx(1 / (2 * 0.3 * 9.81), rel=0.05)


def test_boxes_with_a_friction_of_their_own_keep_it() -> None:
    tile = tile_with(friction=0.25)
    env = TraversalEnv(X2, 2, pool=1, threads=1, bank=GivenTiles([tile, tile_with()]))
    env.reset()
    friction = env.simulator.batch.expand("geom_friction")[:, env.simulator._terrain[0], 0]
    assert friction[0] == 0.25
    assert friction[1] == pytest.approx(float(env.dynamics.friction[1]))


def test_camera_and_heights_find_a_moved_pallet_within_one_frame() -> None:
    tile = tile_with(pallet(0.9))
    env = TraversalEnv(
        X2,
        1,
        camera=CameraConfig(randomization=0.0),
        pool=1,
        threads=1,
        bank=GivenTiles([tile]),
        loose=tile.loose,
    )
    env.commands.fix(0.5)
    env.reset()
    under = torch.tensor([[[0.8, 0.0], [1.6, 0.0]]])
    assert env.field.heights(under)[0].tolist() == pytest.approx([0.144, 0.0], abs=2e-3)
    before = env.observation().depth.clone()
    env.simulator.qpos[0, -7] = 1.5
    standing = torch.zeros(1, len(X2.joints))
    env.step(standing)
    after = env.restart(torch.zeros(1, dtype=torch.bool)).depth
    assert env.field.heights(under)[0].tolist() == pytest.approx([0.0, 0.144], abs=2e-3)
    nearer, farther = (after < before - 0.02).float().mean(), (after > before + 0.02).float().mean()
    assert nearer > 0.02 and farther > 0.02, "it has gone from here and lies there"
    # The same image as if it had always been part of the ground where it lies now.
    position, quaternion = (poses.clone() for poses in env.simulator.link_poses())
    x, y, z = position[0, -1].tolist()
    position[0, -1, 2] = -1000.0
    ground = TerrainField(1, 2)
    ground.place([0], [replace(tile, boxes=(*tile.boxes, Box((x, y, z), tile.loose[0].box.half)), loose=())])
    laid = env.camera._take(torch.tensor([0]), ground, position, quaternion)
    assert ((laid - after).abs() > 1e-3).float().mean() < 2e-3  # but for its edges


def test_a_strip_of_pallets_begins_with_each_where_the_tile_has_it() -> None:
    tiles = [make_strip("pallets", (0.144, 0.3), rng=np.random.default_rng(k)) for k in range(2)]
    env = TraversalEnv(X2, 2, pool=1, threads=1, bank=GivenTiles(tiles), loose=tiles[0].loose)
    env.reset()
    for world, tile in enumerate(tiles):
        middles = np.array([item.box.center[:2] for item in tile.loose])
        found = env.field.heights(torch.tensor(np.stack([middles, middles])))[world].numpy()
        np.testing.assert_allclose(found, 0.144, atol=2e-3)
        places = tile.at_rest().heights(middles)
        np.testing.assert_allclose(found, places, atol=2e-3)
