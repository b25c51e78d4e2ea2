"""The robot's observation is the one the policy was trained on, number by number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import stand_ins
import torch

from ssr.deployment.contract import Contract
from ssr.deployment.messages import Header, Imu, JointState, Quaternion, Vector3, stamp
from ssr.deployment.proprioception import Proprioception
from ssr.deployment.robot_state import JointOrder, read_attitude
from ssr.robots import load
from ssr.task.config import RandomizationConfig
from ssr.task.env import TraversalEnv


def test_history_equals_that_of_the_training_environment(contract: Contract) -> None:
    """Random actions in a world of training; its joints, in another order, through deployment's code."""
    task = replace(
        stand_ins.smoke_config().task,
        noise=0.0,
        randomization=replace(RandomizationConfig(), action_delay=(0, 0), push_velocity=(0.0, 0.0)),
    )
    robot = load("x2")
    env = TraversalEnv(robot, 1, task, seed=3, threads=1)
    observed = env.reset()
    order, proprioception = JointOrder(contract), Proprioception(contract)
    shuffle = np.random.default_rng(0).permutation(len(robot.joints))
    names = tuple(robot.joint_names[i] for i in shuffle)
    action = torch.zeros(1, len(robot.joints))
    command = env.layouts.proprioception.slice("command")
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        state = env.simulator.state()
        w, x, y, z = (float(v) for v in state.base_quaternion[0])
        zero, header = np.zeros(9), Header(stamp(0), "")
        position, velocity = (
            v[0].double().numpy()[shuffle] for v in (state.joint_position, state.joint_velocity)
        )
        joints = order.read(JointState(header, names, position, velocity, velocity))
        attitude = read_attitude(
            Imu(
                header, Quaternion(x, y, z, w), zero, Vector3(*state.base_angular_velocity[0].tolist()),
                zero, Vector3(), zero,
            )
        )  # fmt: skip
        assert joints is not None and attitude is not None
        scale = np.array(contract.proprioception[2].scale)
        wanted = observed.history[0, -1, command].numpy() / scale
        history = proprioception.observe(joints, attitude, wanted, action[0].double().numpy())
        np.testing.assert_allclose(history, observed.history[0], atol=2e-5)
        action = 0.5 * torch.randn(1, len(robot.joints), generator=generator)
        transition = env.step(action)
        observed = env.restart(transition.terminated | transition.truncated)
        assert not bool(transition.terminated)


def test_contract_scales_are_those_of_the_layout(contract: Contract) -> None:
    layout = stand_ins.random_networks(stand_ins.smoke_config()).layouts.proprioception
    assert [(s.name, s.size) for s in contract.proprioception] == [(s.name, s.size) for s in layout]
    for mine, theirs in zip(contract.proprioception, layout, strict=True):
        np.testing.assert_allclose(mine.scale, np.broadcast_to(theirs.scale, theirs.size))
