"""One robot, steered by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ssr.errors import UserError
from ssr.evaluation import subject
from ssr.evaluation.stress.kind import ONSET, Trouble
from ssr.evaluation.stress.registry import stress_named, stress_names
from ssr.evaluation.subject import Subject
from ssr.robots import load as load_robot
from ssr.terrain.making import make_tile
from ssr.terrain.registry import all_kinds
from ssr.terrain.route import Piece
from ssr.viewer.footprints import footprint
from ssr.viewer.ground import Ground
from ssr.viewer.world import AFTERMATH, PlayWorld


def world_of(played: Subject, kind: str = "flat", level: int = 0, **options: bool) -> PlayWorld:
    return PlayWorld(played, Ground.of(kind, level), **options)


def move_to(world: PlayWorld, x: float, y: float) -> None:
    world.env.simulator.qpos[0, :2] = (x, y)


def test_a_robot_that_stands_still_stands(standing: Subject) -> None:
    world = world_of(standing)
    before = world.moment.base_position
    for _ in range(50):
        moment = world.step()
    assert moment.seconds == pytest.approx(1.0)
    assert np.linalg.norm(moment.base_position - before) < 0.05
    assert moment.contact.all()
    assert not world.tally


def test_the_policy_is_told_the_command(untrained: Subject) -> None:
    world = world_of(untrained)
    layout = world.env.layouts.proprioception
    world.command = (0.3, -0.2, 0.5)
    world.step()
    heard = layout.get(world.observation.history[0, -1], "command")
    assert heard.tolist() == pytest.approx([2 * 0.3, 2 * -0.2, 2 * 0.5])


def test_the_command_stays_when_the_robot_turns(standing: Subject) -> None:
    """It is given in the robot's frame, not along the tile."""
    world = world_of(standing)
    world.command = (0.6, 0.0, 0.0)
    half = torch.tensor(0.6)
    world.env.simulator.qpos[0, 3:7] = (half.cos(), 0.0, 0.0, half.sin())
    world.step()
    heard = world.env.layouts.proprioception.get(world.env.proprioception[0], "command")
    assert heard.tolist() == pytest.approx([1.2, 0.0, 0.0])


def test_a_fall_is_counted_watched_and_followed_by_a_new_start() -> None:
    world = world_of(subject.load("scripted:fall"))
    while not world.tally and world.steps < 200:
        world.step()
    assert world.tally["fell"] == 1
    fallen = world.steps
    for _ in range(world.env.config.control_steps(AFTERMATH)):
        world.step()
    assert world.steps == fallen + world.env.config.control_steps(AFTERMATH)
    assert world.step().seconds == pytest.approx(0.02)
    assert world.tally["fell"] == 1
    assert world.moment.base_position[2] > 0.9 * world.env.robot.standing_height


@pytest.mark.parametrize(("side", "outcome"), [(0.0, "crossed"), (1.0, "strayed")])
def test_leaving_the_ground_begins_anew(standing: Subject, side: float, outcome: str) -> None:
    world = world_of(standing, "pallets", 3)
    tile = world.tile
    move_to(world, tile.length + 0.1 if side == 0.0 else 3.0, side * (tile.half_width + 0.1))
    world.step()
    assert dict(world.tally) == {outcome: 1}
    world.step()
    assert world.moment.base_position[0] == pytest.approx(world.tile.start, abs=0.02)
    assert world.tile is not tile


def test_a_world_that_blows_up_begins_anew(standing: Subject) -> None:
    world = world_of(standing)
    world.step()
    world.env.simulator.qpos[0, 2] = np.nan
    moment = world.step()
    assert world.tally["fell"] == 1
    assert np.isfinite(moment.link_position).all()


def test_a_push_adds_its_speed(standing: Subject) -> None:
    world = world_of(standing)
    world.step()
    before = world.env.simulator.qvel[0, :3].copy()
    world.push(0.8)
    kick = world.env.simulator.qvel[0, :3] - before
    assert np.linalg.norm(kick) == pytest.approx(0.8)
    assert kick[2] == 0.0


def test_dynamics_are_nominal_unless_randomized(untrained: Subject) -> None:
    world = world_of(untrained)
    assert float(world.env.dynamics.friction) == 1.0
    assert float(world.env.dynamics.base_added_mass) == 0.0
    world.randomize(True)
    assert float(world.env.dynamics.base_added_mass) != 0.0
    assert not world.env.config.randomization.delays_in_turn, "the only world would never have another delay"


def test_a_script_keeps_the_stiffness_it_needs(standing: Subject) -> None:
    assert float(world_of(standing).env.dynamics.kp_scale.min()) > 1.0


def test_imagined_footholds_lie_where_the_model_says(untrained: Subject) -> None:
    """Half a metre ahead of a base that looks along +y is half a metre along +y."""
    world = world_of(untrained)
    ahead = torch.tensor([[[0.5, -0.1], [0.5, 0.1]]])
    world.imagine = lambda state, action: (ahead, torch.tensor([[0.03, 0.05]]))
    half = torch.tensor(torch.pi / 4)
    world.env.simulator.qpos[0, 3:7] = (half.cos(), 0.0, 0.0, half.sin())
    world.step()
    base = world.base[:2]
    imagined = world.step().imagined
    assert imagined is not None
    np.testing.assert_allclose(imagined[:, 2], [0.03, 0.05])
    np.testing.assert_allclose(imagined[:, :2] - base, [[0.1, 0.5], [-0.1, 0.5]], atol=0.1)


def test_a_blind_script_sees_and_imagines_nothing(standing: Subject) -> None:
    moment = world_of(standing).step()
    assert moment.depth is None
    assert moment.imagined is None


def test_the_eye_shows_what_the_policy_sees(untrained: Subject) -> None:
    world = world_of(untrained)
    assert world.moment.depth is not None
    np.testing.assert_array_equal(world.moment.depth, world.observation.depth[0])
    period = untrained.camera.period if untrained.camera else 0
    seen = [world.step().depth is not None for _ in range(2 * period)]
    assert 2 <= sum(seen) <= 3


def test_another_subject_may_take_over(run: object, untrained: Subject) -> None:
    world = world_of(untrained)
    renewed = subject.load(str(run))
    world.adopt(renewed)
    assert world.subject is renewed
    with pytest.raises(UserError, match="start `ssr play` again"):
        world.adopt(replace(renewed, camera=None))


def test_footprints_tell_how_much_ground_is_under_the_sole() -> None:
    sole = load_robot("x2").sole
    tile = make_tile("platform", setting=(0.3,))
    edge = tile.first_edge
    full = footprint(sole, tile, np.array([0.5, 0.0, 0.0]), yaw=0.3, inclined=False)
    half = footprint(sole, tile, np.array([edge, 0.0, 0.3]), yaw=0.0, inclined=False)
    assert full.support == 1.0
    assert half.support == pytest.approx(0.5)
    assert half.position[2] == pytest.approx(0.3)


def test_footprints_are_where_the_feet_came_down() -> None:
    """A robot that marches leaves prints under its own feet."""
    world = world_of(subject.load("scripted:stepper"))
    while not world.footprints and world.steps < 100:
        world.step()
    newest = world.footprints[-1].position
    soles = world.env.simulator.state().sole_position[0].numpy() + world.origin
    assert np.abs(soles - newest).max(axis=1).min() < 0.03


def march(world: PlayWorld, metres: float, y: float = 0.0) -> None:
    """Carried on in small steps, as if it had walked."""
    x = world.walk.place[0]
    for k in range(1, round(metres / 0.5) + 1):
        place = np.array([x + 0.5 * k, y])
        height = world.walk.stream.height(*place) + world.env.robot.standing_height
        upright = (1.0, 0.0, 0.0, 0.0)
        world.env.simulator.qpos[0, :7] = (*(place - world.origin[:2]), height - world.origin[2], *upright)
        world.env.simulator.qvel[0] = 0.0
        world.step()


@pytest.mark.parametrize("kind", ["flat", "stairs_up", "discrete"])
def test_it_walks_on_from_piece_to_piece(standing: Subject, kind: str) -> None:
    world = world_of(standing, kind, 3)
    march(world, 60.0)
    assert world.starts == 1 and world.tally["fell"] == 0
    assert world.moment.base_position[0] == pytest.approx(60.5, abs=0.2)
    assert abs(world.state.base_position[0]).max() < 40.0, "the frame has come along"
    assert world.tally["crossed"] == (0 if kind == "flat" else sum(p.end < 60.0 for p in pieces(world)))
    names = set(world.scenery())
    march(world, 30.0)
    assert names - set(world.scenery()), "what was left behind is no longer shown"
    under = [tile.heights(world.base[None, :2])[0] for tile in world.scenery().values()]
    assert world.base[2] - max(under) == pytest.approx(world.env.robot.standing_height, abs=0.1)


def pieces(world: PlayWorld) -> tuple[Piece, ...]:
    return world.walk.trail.route.pieces


def test_who_falls_stands_up_where_it_fell_and_behind_what_it_always_falls_over() -> None:
    world = world_of(subject.load("scripted:fall"), "gap", 5)
    places = []
    for falls in range(1, 4):
        while world.tally["fell"] < falls and world.steps < 400:
            world.step()
        while world.ending is not None:
            world.step()
        places.append(world.walk.done)
    assert world.starts == 1
    assert max(places[:2]) < 2.5
    assert places[2] == pytest.approx(pieces(world)[0].end, abs=0.2)


def test_beside_the_lane_it_has_strayed(standing: Subject) -> None:
    world = world_of(standing, "platform", 3)
    world.env.simulator.qpos[0, 1] = 2.6
    world.step()
    assert dict(world.tally) == {"strayed": 1}
    world.step()
    assert abs(world.moment.base_position[1]) < 0.05


def test_it_is_led_along_the_way_only_if_asked(standing: Subject) -> None:
    world = world_of(standing, "course", 5)
    world.command = (0.5, 0.0, 0.0)
    world.walk.yaw = 0.6
    assert world._told()[2] < -0.3 and 0.0 < world._told()[0] < 0.5
    world.led = False
    assert world._told() == (0.5, 0.0, 0.0)


def test_a_level_off_the_scale_is_an_error() -> None:
    with pytest.raises(UserError, match="Level 20: expected 0 to 19"):
        Ground.of("gap", 20)
    with pytest.raises(UserError, match="Unknown terrain kind"):
        Ground.of("lava", 2)


@pytest.mark.parametrize("kind", [kind.name for kind in all_kinds() if not kind.trained])
def test_every_unseen_terrain_can_be_chosen_and_left_again(untrained: Subject, kind: str) -> None:
    world = PlayWorld(untrained, Ground.of("flat", 0))
    world.choose(Ground.of(kind, 12))
    for _ in range(3):
        moment = world.step()
    assert world.tile.kind == kind or world.walk.piece
    assert len(moment.loose_position) == len(world.tile.loose)
    seen = world.env.shown.count.item() - world.env.field.count.item()
    assert seen == len(world.tile.sights)
    world.choose(Ground.of("flat", 0))
    assert len(world.step().loose_position) == 0


@pytest.mark.parametrize("stress", stress_names())
def test_every_stress_can_be_chosen_and_left_again(untrained: Subject, stress: str) -> None:
    world = world_of(untrained)
    world.worry(stress, stress_named(stress).doses[-1])
    world.steps = world.env.config.control_steps(ONSET) - 1
    for _ in range(3):
        moment = world.step()
    assert np.isfinite(moment.base_position).all()
    world.worry("", 0.0)
    assert type(world.trouble) is Trouble


def test_a_dose_out_of_range_is_refused(untrained: Subject) -> None:
    with pytest.raises(UserError, match="expected 0 to"):
        world_of(untrained).worry("shove", 99.0)
