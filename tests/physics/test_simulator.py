"""Whoever uses physics cannot tell which engine does it."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import ssr
from ssr.errors import UserError
from ssr.physics import engines
from ssr.physics.engines import make_simulator
from ssr.physics.readout import PhysicsState, Reading, State, shapes_of
from ssr.physics.simulator import ResetPose, Simulator
from ssr.physics.world import PhysicsConfig, build_world
from ssr.robots import load
from ssr.terrain.making import make_tile

ROBOT = load("x2")
DEFAULT = torch.tensor(ROBOT.values("default"), dtype=torch.float32)
WORLDS = 3
#: an engine's own things, and the engine itself
PRIVATE = re.compile(
    r"\.batch\b|\.awake\b|\b(simulator|sim)\.(qpos|qvel|ctrl|model)\b|(mujoco|warp)_(engine|readout|dynamics)"
)


@pytest.fixture(params=list(engines.ENGINES))
def simulator(request) -> Simulator:
    """Robots just above stairs."""
    made = make_simulator(ROBOT, WORLDS, pool=40, config=PhysicsConfig(engine=request.param), threads=1)
    everywhere, zero = torch.arange(WORLDS), torch.zeros(WORLDS, 3)
    rng = np.random.default_rng(0)
    made.place(everywhere, [make_tile("stairs_up", level, rng=rng) for level in range(WORLDS)])
    pose = ResetPose(
        base_position=torch.tensor([0.75, 0.0, ROBOT.standing_height + 0.02]).repeat(WORLDS, 1),
        base_quaternion=torch.tensor([1.0, 0.0, 0.0, 0.0]).repeat(WORLDS, 1),
        base_velocity=zero,
        base_angular_velocity=zero,
        joint_position=DEFAULT.repeat(WORLDS, 1),
        joint_velocity=torch.zeros(WORLDS, len(DEFAULT)),
    )
    made.reset(everywhere, pose)
    return made


def walk(simulator: Simulator, steps: int, seed: int = 0) -> torch.Tensor:
    """Where flailing leads, (n, nq)."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        simulator.step(DEFAULT + 0.3 * torch.randn(WORLDS, len(DEFAULT), generator=generator), 4)
    return simulator.configurations(torch.arange(WORLDS))


def test_nobody_outside_physics_reaches_into_an_engine() -> None:
    source = Path(ssr.__file__).parent
    reaching = [
        f"{path.relative_to(source)}:{number}: {line.strip()}"
        for path in sorted(source.rglob("*.py"))
        if path.relative_to(source).parts[0] != "physics"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if PRIVATE.search(line)
    ]
    assert not reaching, "\n".join(reaching)


def test_every_engine_is_a_simulator(simulator) -> None:
    assert isinstance(simulator, Simulator)


def test_an_unknown_engine_or_an_impossible_device_is_one_clear_line() -> None:
    with pytest.raises(UserError, match=r"^Unknown physics engine: 'bullet'\. Known: mujoco, warp, auto\.$"):
        make_simulator(ROBOT, 1, pool=1, config=PhysicsConfig(engine="bullet"))
    with pytest.raises(UserError, match=r"^The mujoco engine simulates on cpu, not on cuda\.$"):
        make_simulator(ROBOT, 1, pool=1, config=PhysicsConfig(engine="mujoco"), device="cuda")


def test_worlds_live_beside_the_learner_where_their_engine_can_and_else_on_the_cpu(monkeypatch) -> None:
    monkeypatch.setitem(engines.ENGINES, "flying", ("cuda",))
    assert [engines.device_beside(at, "mujoco") for at in ("cpu", "cuda")] == ["cpu", "cpu"]
    assert engines.device_beside("cuda", "flying") == "cuda"


def test_the_device_chooses_the_engine_unless_somebody_did() -> None:
    assert [engines.chosen("auto", at) for at in ("cpu", "cuda:1")] == ["mujoco", "warp"]
    assert engines.chosen("warp", "cpu") == "warp"
    assert [engines.device_beside(at, "auto") for at in ("cpu", "cuda:1")] == ["cpu", "cuda:1"]


def test_all_views_of_a_state_have_the_fields_of_the_one_table(simulator) -> None:
    walk(simulator, 2)
    state, reading = simulator.state(), simulator.read()
    assert PhysicsState._fields == Reading._fields == State._fields
    shapes = shapes_of(len(DEFAULT)) | {"finite": ()}
    for name in State._fields:
        tensor, array = getattr(state, name), getattr(reading, name)
        assert tensor.shape == array.shape == (WORLDS, *shapes[name]), name
        assert np.array_equal(tensor, array), name
    assert bool(state.finite.all())


def test_the_columns_of_the_table_say_what_the_reading_says(simulator) -> None:
    walk(simulator, 2)
    reading, readout = simulator.read(), simulator.readout
    assert sorted(k for s in readout.columns.values() for k in range(s.start, s.stop)) == list(
        range(readout.table.shape[1])
    )
    for name, where in readout.columns.items():
        assert np.array_equal(readout.table[:, where], getattr(reading, name).reshape(WORLDS, -1)), name


def test_a_world_at_rest_stands_still_while_its_neighbours_move(simulator) -> None:
    before = simulator.configurations(torch.arange(WORLDS))
    simulator.rest(torch.tensor([1]))
    moved = (walk(simulator, 3) != before).any(1)
    assert moved.tolist() == [True, False, True]
    simulator.rest(torch.empty(0, dtype=torch.long))
    assert bool((walk(simulator, 1) != before).any(1).all())


def test_worlds_put_back_go_the_same_way_again(simulator) -> None:
    walk(simulator, 5)
    start = simulator.snapshot()
    first = walk(simulator, 10, seed=1)
    simulator.restore(start)
    assert torch.equal(walk(simulator, 10, seed=1), first)


def test_one_world_can_be_put_back_alone(simulator) -> None:
    start, one = simulator.configurations(torch.arange(WORLDS)), torch.tensor([2])
    kept = simulator.snapshot(one)
    end = walk(simulator, 5)
    simulator.restore(kept, one)
    now = simulator.configurations(torch.arange(WORLDS))
    assert torch.equal(now[2], start[2]) and torch.equal(now[:2], end[:2])


def test_what_is_held_is_what_moves_the_joints(simulator) -> None:
    start, everywhere = simulator.snapshot(), torch.arange(WORLDS)
    targets = DEFAULT.repeat(WORLDS, 1) + 0.2
    simulator.step(targets, 4)
    stepped = simulator.configurations(everywhere)
    assert torch.equal(simulator.targets().float(), targets)
    simulator.restore(start)
    simulator.hold(targets)
    simulator.advance(4)
    assert torch.equal(simulator.configurations(everywhere), stepped)


def test_a_picture_can_be_taken_of_a_configuration(simulator) -> None:
    import mujoco

    walk(simulator, 5)
    model = build_world(ROBOT, 0).compile()
    data = mujoco.MjData(model)
    data.qpos[:] = simulator.configurations(torch.tensor([1]))[0]
    mujoco.mj_kinematics(model, data)
    shown = np.array([data.body(name).xpos for name in simulator.link_names])
    assert np.allclose(shown, simulator.link_poses()[0][1], atol=1e-5)
