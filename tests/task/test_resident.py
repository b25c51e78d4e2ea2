"""The task on a device is the task of the host: the same rules from the same states, restarts by mask."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from ssr.learning.references import ReferenceStarts
from ssr.motion.dataset import MotionDataset
from ssr.physics.warp_engine import PER_WORLD, PLACED, WarpSimulator
from ssr.physics.world import PhysicsConfig
from ssr.robots import load
from ssr.task.config import TaskConfig
from ssr.task.env import TraversalEnv
from ssr.task.resident_env import ResidentEnv
from ssr.task.tiles import VARIANTS
from ssr.terrain.settings import LEVELS
from ssr.vision.camera import CameraConfig

ROBOT = load("x2")
WORLDS = 14
CPU = torch.device("cpu")
QUIET = replace(TaskConfig(), noise=0.0, reference_starts=0.5)
FOLLOWING = replace(
    QUIET,
    bootstrap=replace(QUIET.bootstrap, imitation=1.0, stall_distance=0.3),
    terrain=replace(QUIET.terrain, falls_demote=True),
)


@pytest.fixture(scope="module")
def references() -> ReferenceStarts:
    return ReferenceStarts(MotionDataset.load(ROBOT))


@pytest.fixture(scope="module")
def host(references) -> TraversalEnv:
    engine = PhysicsConfig(engine="warp")
    env = TraversalEnv(
        ROBOT, WORLDS, FOLLOWING, camera=CameraConfig(period=2), seed=1, threads=1, physics=engine,
        references=references, scan=True,
    )  # fmt: skip
    env.levels.copy_(torch.arange(WORLDS) + 6)
    env.reset()
    return env


@pytest.fixture(scope="module")
def resident(references) -> ResidentEnv:
    return made(references)


def made(references) -> ResidentEnv:
    return ResidentEnv(
        ROBOT,
        WORLDS,
        FOLLOWING,
        camera=CameraConfig(period=2),
        seed=1,
        references=references.on(CPU),
        scan=True,
    )


def differences(one, other) -> dict[str, float]:
    """Largest distance of each tensor in two dataclasses alike; of numbers beyond 1 relative to them."""
    out = {}
    apart = lambda a, b: float(((a - b).abs() / b.abs().clamp(min=1.0)).max()) if a.numel() else 0.0
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, torch.Tensor):
            assert a.shape == b.shape and a.dtype == b.dtype, field.name
            out[field.name] = apart(a.double(), b.double())
        elif hasattr(a, "items"):
            assert set(a) == set(b)
            out |= {f"{field.name} {k}": apart(a[k], b[k]) for k in a}
        else:
            out |= {f"{field.name} {k}": v for k, v in differences(a, b).items()}
    return out


def test_a_walk_is_the_same_on_host_and_device(host, resident) -> None:
    resident.reset()
    host.steps_to_push.fill_(1000)
    resident.load_state_dict(resident.state_dict() | host.state_dict())
    generator = torch.Generator().manual_seed(0)
    nobody, ended = torch.zeros(WORLDS, dtype=torch.bool), 0
    for step in range(25):
        action = torch.randn(WORLDS, 21, generator=generator)
        if step == 3:
            action[2] = torch.nan
        one, other = host.step(action), resident.step(action)
        apart = differences(one, other)
        assert max(apart.values()) < 2e-4, (step, {k: v for k, v in apart.items() if v > 2e-4})
        assert one.valid.all() == (step != 3)
        ended += int(one.ended.sum())
        seen = differences(host.restart(nobody), resident.restart(nobody))
        assert max(seen.values()) < 2e-4, (step, seen)
    assert ended > 0, "some of them fell"
    assert resident.bad_actions == host.bad_actions == 1


def test_restarts_give_new_episodes_and_leave_the_others_alone(resident) -> None:
    resident.reset()
    resident.step(torch.zeros(WORLDS, 21))
    ended = torch.arange(WORLDS) % 3 == 0
    progress, before = resident.progress, {k: v.clone() for k, v in resident.state_dict().items()}
    progress.crossed.fill_(True)
    progress.fresh.fill_(False)
    level = progress.level.clone()
    resident.restart(ended)
    after, shared = resident.state_dict(), ("generator", "scalars", "turn", "progress.crossed")
    for name, value in after.items():
        moves = name.startswith(("own.history", "own._", "camera", "reserve")) or name in shared
        if not moves:
            assert torch.equal(value[~ended], before[name][~ended]), name
    promoted = level[ended] + 1 < LEVELS
    assert torch.equal(progress.level[ended][promoted], level[ended][promoted] + 1)
    assert not progress.crossed[ended].any() and progress.crossed[~ended].all()
    assert torch.equal(resident.field.level[ended].int(), progress.level[ended])
    assert (progress.steps[ended] == 0).all() and (progress.steps[~ended] == 1).all()
    ground = resident.field.heights(resident.simulator.renew().sole_position[..., :2])
    above = resident.simulator.renew().sole_position[..., 2] - ground
    assert above[ended].min() > -0.06


def test_tiles_and_robots_are_those_the_engine_is_given_on_the_host(resident) -> None:
    """Of a bank and a reserve on the device come the fields that `place` and `randomize` write."""
    resident.reset()
    told = WarpSimulator(ROBOT, WORLDS, pool=resident.field.pool)
    tiles = [
        next(
            tile
            for tile in resident.bank.tiles[resident.bank.kind_of(world), int(resident.levels[world])]
            if np.allclose(tile.rows(resident.field.pool), resident.field.boxes[world].numpy(), atol=1e-6)
        )
        for world in range(WORLDS)
    ]
    told.place(torch.arange(WORLDS), tiles)
    told.randomize(torch.arange(WORLDS), resident.dynamics)
    for name in PER_WORLD:
        assert torch.allclose(resident.simulator._own[name], told._own[name], rtol=1e-5, atol=1e-6), name
    for name in PLACED:
        mine, theirs = resident.simulator._now[name], told._now[name]
        assert torch.allclose(mine[:, told._terrain], theirs[:, told._terrain], atol=1e-6), name
    assert len({float(m) for m in resident.dynamics.friction}) == WORLDS
    assert VARIANTS * LEVELS * len(set(FOLLOWING.terrain.kinds)) == resident._bank.num_envs


def test_pushes_and_new_commands_come_when_they_are_due(resident) -> None:
    resident.reset()
    resident.set_ramp(1.0)
    resident.steps_to_push.fill_(1000)
    resident.steps_to_push[3] = 1
    resident.commands.steps_left.fill_(1000)
    resident.commands.steps_left[5] = 1
    heading, free = resident.commands.heading.clone(), resident.commands.free.clone()
    speed = resident.simulator._now["qvel"][:, :2].clone()
    resident._push()
    moved = (resident.simulator._now["qvel"][:, :2] - speed).abs().sum(-1) > 0
    assert moved.nonzero().tolist() == [[3]] and resident.steps_to_push[3] > 1
    resident.commands.tick(resident.field.type)
    asked = (resident.commands.heading != heading) & (resident.commands.free != free).any(-1)
    assert asked.nonzero().tolist() == [[5]] and resident.commands.steps_left[5] > 1


def test_a_saved_state_goes_on_bit_for_bit(resident, references) -> None:
    resident.reset()
    other = made(references)
    other.reset()
    other.load_state_dict(resident.state_dict())
    for step in range(4):
        action = torch.full((WORLDS, 21), 0.3 * (-1) ** step)
        one, two = resident.step(action), other.step(action)
        ended = torch.arange(WORLDS) == step
        seen = differences(resident.restart(ended), other.restart(ended))
        assert max((differences(one, two) | seen).values()) == 0.0
