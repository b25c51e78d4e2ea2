"""The engines agree: from the same states, on every kind of terrain, under full randomization."""

from functools import cache
from typing import NamedTuple

import mujoco
import numpy as np
import torch
from poses import random_pose

from ssr.physics.mujoco_engine import MujocoSimulator
from ssr.physics.readout import PhysicsState
from ssr.physics.warp_engine import DERIVED_FIELDS, MOVING, WarpSimulator
from ssr.physics.world import PhysicsConfig
from ssr.robots import load
from ssr.task.config import RandomizationConfig
from ssr.task.randomization import draw_dynamics
from ssr.terrain.making import make_tile
from ssr.terrain.registry import all_kinds

ROBOT = load("x2")
DEFAULT = torch.tensor(ROBOT.values("default"), dtype=torch.float32)
WORLDS, POOL = 64, 64
SUBSTEPS = (1, 49)
AS_TRAINED = PhysicsConfig()
HASTY = PhysicsConfig(iterations=5, line_search_iterations=8)
EVERYWHERE = torch.arange(WORLDS)
KINDS = [kind.name for kind in all_kinds()]


class Course(NamedTuple):
    """Where the worlds are."""

    tiles: list
    dynamics: object
    start: dict[str, torch.Tensor]  #: among them robots that stand, stumble and lie
    targets: torch.Tensor
    contacts: np.ndarray  #: (n,) in the states they start from


@cache
def course() -> Course:
    generator, rng = torch.Generator().manual_seed(3), np.random.default_rng(5)
    kinds = [KINDS[i % len(KINDS)] for i in range(WORLDS)]
    tiles = [
        make_tile(kind, **({} if kind == "flat" else {"level": i * 20 // WORLDS}), rng=rng).at_rest()
        for i, kind in enumerate(kinds)
    ]
    simulator = MujocoSimulator(ROBOT, WORLDS, pool=POOL, threads=1)
    bodies = len(simulator.body_names)
    dynamics = draw_dynamics(WORLDS, bodies, len(DEFAULT), RandomizationConfig(), 1.0, generator)
    ground = torch.tensor([tile.heights(np.array([[1.5, 0.0]]))[0].clip(-0.2, 1.0) for tile in tiles])
    simulator.place(EVERYWHERE, tiles)
    simulator.randomize(EVERYWHERE, dynamics)
    simulator.reset(EVERYWHERE, random_pose(ROBOT, WORLDS, generator, ground))
    # Some are caught standing, others have thrashed until they fell.
    for step in range(40):
        noise = torch.randn(WORLDS, len(DEFAULT), generator=generator)
        simulator.step(DEFAULT + 0.3 * noise, 4)
        simulator.rest(EVERYWHERE[step > EVERYWHERE % 40])
    simulator.rest(EVERYWHERE[:0])
    start = {name: torch.from_numpy(simulator.batch.bind(name).copy()) for name in MOVING}
    contacts = simulator.batch.bind("ncon").copy().ravel()
    targets = DEFAULT + 0.2 * torch.randn(WORLDS, len(DEFAULT), generator=generator)
    return Course(tiles, dynamics, start, targets, contacts)


@cache
def expected(config: PhysicsConfig) -> list[PhysicsState]:
    """MuJoCo's states after so many `SUBSTEPS` each."""
    simulator = MujocoSimulator(ROBOT, WORLDS, pool=POOL, threads=1, config=config)
    simulator.place(EVERYWHERE, course().tiles)
    simulator.randomize(EVERYWHERE, course().dynamics)
    for name, values in course().start.items():
        simulator.batch.bind(name)[:] = values.numpy()
    states = []
    for substeps in SUBSTEPS:
        simulator.step(course().targets, substeps)
        states.append(simulator.state())
    return states


def prepared(config: PhysicsConfig = AS_TRAINED) -> WarpSimulator:
    simulator = WarpSimulator(ROBOT, WORLDS, pool=POOL, config=config)
    simulator.place(EVERYWHERE, course().tiles)
    simulator.randomize(EVERYWHERE, course().dynamics)
    for name, values in course().start.items():
        simulator._now[name].copy_(values.view(simulator._now[name].shape))
    return simulator


def contacts_of(simulator: WarpSimulator) -> np.ndarray:
    """(n,) contacts in the states from which the last substep began."""
    data = simulator._d
    return np.bincount(data.contact.worldid.numpy()[: data.nacon.numpy()[0]], minlength=WORLDS)


def apart(one, other) -> tuple[torch.Tensor, torch.Tensor]:
    """(n,) m between the bases and N between the forces on the soles."""
    metres = (one.base_position - other.base_position).norm(dim=-1)
    return metres, (one.foot_force - other.foot_force).norm(dim=-1).amax(-1)


def errors(simulator: WarpSimulator, config: PhysicsConfig = AS_TRAINED) -> tuple[torch.Tensor, ...]:
    """(n,) m and N after one substep, and m after fifty."""
    simulator.step(course().targets, SUBSTEPS[0])
    metres, newtons = apart(simulator.state(), expected(config)[0])
    simulator.step(course().targets, SUBSTEPS[1])
    return metres, newtons, apart(simulator.state(), expected(config)[1])[0]


def test_the_course_is_about_contact() -> None:
    assert (course().contacts > 0).mean() > 0.8 and course().contacts.max() > 5
    upright = expected(AS_TRAINED)[0].gravity[:, 2] < -0.9
    assert 0.3 < upright.float().mean() < 0.9


def test_the_engines_find_the_same_contacts() -> None:
    simulator = prepared()
    simulator.step(course().targets, 1)
    assert np.array_equal(contacts_of(simulator), course().contacts)


def test_the_engines_agree_as_trained() -> None:
    simulator = prepared()
    metres, newtons, later = errors(simulator)
    assert metres.max() < 1e-5 and newtons.max() < 5.0
    # Fifty substeps later a foot may have met an edge a substep earlier in one engine than in the other.
    assert later.median() < 1e-6 and (later < 1e-5).float().mean() > 0.95 and later.max() < 1e-3
    assert simulator.overflows == 0


def test_solvers_that_stop_early_would_be_noticed() -> None:
    """Five iterations leave the solvers of a robot that thrashes at different places on their way."""
    metres, newtons, _ = errors(prepared(HASTY), HASTY)
    assert metres.max() > 1e-5 or newtons.max() > 5.0


def test_terrain_moved_without_its_geoms_poses_would_be_noticed() -> None:
    simulator = prepared()
    for name in ("geom_xpos", "geom_xmat"):
        made = WarpSimulator(ROBOT, 1, pool=POOL)._now[name]
        simulator._now[name][:, simulator._terrain] = made[:, simulator._terrain]
    simulator.step(course().targets, 1)
    assert not np.array_equal(contacts_of(simulator), course().contacts)


def test_derived_fields_shared_by_all_worlds_would_be_noticed() -> None:
    simulator = prepared()
    for name in DERIVED_FIELDS:
        simulator._own[name][:] = simulator._own[name][:1].clone()
    metres, newtons, later = errors(simulator)
    assert metres.max() > 1e-5 or newtons.max() > 5.0 or later.max() > 1e-5


def test_boxes_taken_for_any_convex_shapes_would_be_noticed(monkeypatch) -> None:
    monkeypatch.setattr(mujoco.mjtDisableBit, "mjDSBL_NATIVECCD", 0, raising=False)
    simulator = prepared()
    simulator.step(course().targets, 1)
    assert not np.array_equal(contacts_of(simulator), course().contacts)


def test_too_little_room_is_counted() -> None:
    simulator = prepared(PhysicsConfig(constraints=16))
    simulator.step(course().targets, 1)
    assert 0 < simulator.overflows <= WORLDS
