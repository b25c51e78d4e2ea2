"""The simulated world has no handedness: mirrored causes have mirrored effects."""

import numpy as np
import pytest
import torch
from poses import random_pose

from ssr.physics.mujoco_engine import MujocoSimulator
from ssr.physics.simulator import QUATERNION, PhysicsState
from ssr.robots import load
from ssr.symmetry.layout import AXIAL, POLAR, apply
from ssr.task.config import RandomizationConfig
from ssr.task.randomization import draw_dynamics
from ssr.terrain.making import TILE_POOL, make_tile

KINDS = ("slope", "stairs_up", "stairs_down", "discrete", "gap", "platform", "flat")


def mirrored_state(state: PhysicsState, robot) -> dict[str, torch.Tensor]:
    swap = lambda x: apply(POLAR, x.flip(1))
    joint = lambda x: apply(robot.joint_mirror, x)
    return {
        "base_position": apply(POLAR, state.base_position),
        "base_quaternion": apply(QUATERNION, state.base_quaternion),
        "base_velocity": apply(POLAR, state.base_velocity),
        "base_angular_velocity": apply(AXIAL, state.base_angular_velocity),
        "joint_position": joint(state.joint_position),
        "joint_velocity": joint(state.joint_velocity),
        "sole_position": swap(state.sole_position),
        "foot_velocity": swap(state.foot_velocity),
        "hand_position": swap(state.hand_position),
        "foot_force": swap(state.foot_force),
        "gravity": apply(POLAR, state.gravity),
        "yaw": -state.yaw,
        "sole_yaw": -state.sole_yaw.flip(1),
        "local_velocity": apply(POLAR, state.local_velocity),
        "local_foot_velocity": swap(state.local_foot_velocity),
        "local_hand_position": swap(state.local_hand_position),
        "local_sole_position": swap(state.local_sole_position),
    }


@pytest.mark.parametrize("name", ["x2", "dr02", "g1"])
def test_mirrored_state_dynamics_and_action_give_the_mirrored_next_state(name: str) -> None:
    robot, count = load(name), 42
    generator = torch.Generator().manual_seed(3)
    rng = np.random.default_rng(5)
    tiles = [
        make_tile(KINDS[i % 7], **({"level": 3 * (i % 7)} if i % 7 < 6 else {}), rng=rng)
        for i in range(count)
    ]
    ids = torch.arange(count)
    simulators = [
        MujocoSimulator(robot, count, pool=TILE_POOL, threads=2, dtype=torch.float64) for _ in range(2)
    ]
    one, other = simulators
    dynamics = draw_dynamics(
        count, len(one.body_names), len(robot.joints), RandomizationConfig(), 1.0, generator
    )
    ground = torch.tensor([tile.heights(np.array([[1.5, 0.0]]))[0].clip(-0.2, 1.0) for tile in tiles])
    pose = random_pose(robot, count, generator, ground)
    one.place(ids, tiles)
    other.place(ids, [tile.mirrored() for tile in tiles])
    one.randomize(ids, dynamics)
    other.randomize(ids, dynamics.mirrored(robot, one.body_mirror))
    one.reset(ids, pose)
    other.reset(ids, pose.mirrored(robot))
    touched = torch.zeros(count, dtype=torch.bool)
    for step in range(10):
        target = torch.tensor(robot.values("default")) + 0.3 * torch.randn(
            count, len(robot.joints), generator=generator, dtype=torch.float64
        )
        if step == 4:
            push = 0.4 * torch.randn(count, 3, generator=generator, dtype=torch.float64)
            one.push(ids, push)
            other.push(ids, apply(POLAR, push))
        one.step(target, 4)
        other.step(apply(robot.joint_mirror, target), 4)
        seen, expected = other.state(), mirrored_state(one.state(), robot)
        touched |= (one.state().foot_force.norm(dim=-1) > 1.0).any(-1)
        for field, value in expected.items():
            error = (getattr(seen, field) - value).abs().amax()
            tolerance = 1e-6 if field == "foot_force" else 1e-9  # newtons, of hundreds
            assert error < tolerance, f"{field} differs by {error:.2e} after {step + 1} steps"
    assert touched.float().mean() > 0.8, "the test must be about contact, not about flight"
