"""Trials: scripted policies get what they deserve, and a trial's course depends on nothing but its number."""

from dataclasses import fields, replace
from math import atan2, cos, sin
from pathlib import Path

import numpy as np
import pytest
import torch

from ssr.evaluation import subject
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.directions import Paths, commands, mirror_partners, walk
from ssr.evaluation.measures import measure
from ssr.evaluation.trials import FELL, Trials, run_trials
from ssr.evaluation.worlds import TrialWorlds, strips_for
from ssr.rehearsal.trial import steer
from ssr.task import starts
from ssr.task.config import BootstrapConfig, RandomizationConfig, TaskConfig, TerminationConfig

FLAT = Course.of("flat")


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def assert_same(one: Trials, other: Trials) -> None:
    for f in fields(Trials):
        assert np.array_equal(getattr(one, f.name), getattr(other, f.name)), f.name


def test_standing_succeeds_but_traverses_nothing() -> None:
    conditions = Conditions(seconds=4.0)
    trials = run_trials(subject.load("scripted:stand"), FLAT, conditions, 0, 4, chunk=4)
    measured = measure(FLAT, trials, conditions)
    assert measured["success"].value == 1.0
    assert measured["traversal"].value == 0.0
    assert abs(measured["distance"].value) < 0.1
    assert len(trials.foothold_trial) == 0


def test_falling_fails_early() -> None:
    trials = run_trials(subject.load("scripted:fall"), FLAT, Conditions(), 0, 4, chunk=4)
    assert measure(FLAT, trials, Conditions())["success"].value == 0.0
    assert (trials.ending == FELL).all()
    assert (trials.seconds < 3.0).all()


def test_marching_on_flat_ground_gives_supported_footholds_of_both_feet() -> None:
    trials = run_trials(subject.load("scripted:stepper"), FLAT, Conditions(seconds=3.0), 0, 4, chunk=4)
    assert set(trials.foothold_foot.tolist()) == {0, 1}
    assert len(trials.foothold_trial) > 20
    assert trials.foothold_support.mean() > 0.9
    weight = 9.81 * 39.0
    assert 0.5 * weight < trials.stance_peak.mean() < 3.0 * weight


@pytest.mark.parametrize("who", ["stepper", "fall"])
def test_who_never_reaches_the_stairs_has_no_rate_of_safe_footholds_there(who: str) -> None:
    stairs, conditions = Course.of("stairs_down", 0.15, 0.30), Conditions(seconds=3.0)
    trials = run_trials(subject.load(f"scripted:{who}"), stairs, conditions, 0, 4, chunk=4)
    measured = measure(stairs, trials, conditions)
    assert np.isnan([measured[name].value for name in ("sfr", "msr", "scatter")]).all()
    assert np.isnan(measured["sfr_all"].value) or measured["sfr_all"].value > 0.9, "level ground is safe"


@pytest.mark.parametrize("who", ["stepper", "network"])
def test_a_trial_does_not_depend_on_which_others_are_run(who: str, run: Path) -> None:
    tried = subject.load(str(run) if who == "network" else f"scripted:{who}")
    course, conditions = Course.of("discrete", 0.1), Conditions(seconds=1.2, seed=3)
    some = lambda first, count: run_trials(tried, course, conditions, first, count, chunk=20)
    whole = some(20, 20)
    parts = [some(first, count) for first, count in ((20, 1), (21, 3), (24, 16))]
    assert_same(whole, Trials.joined(parts))
    assert_same(whole.first(4), Trials.joined(parts[:2]))
    other = run_trials(tried, course, replace(conditions, seed=4), 20, 4, chunk=20)
    assert not np.array_equal(whole.distance[:4], other.distance)
    with pytest.raises(ValueError, match="chunk"):
        some(15, 10)


def test_sensor_noise_belongs_to_the_trial_too(run: Path) -> None:
    tried, course = subject.load(str(run)), Course.of("gap", 0.4)
    conditions = Conditions(seconds=0.6, sensor=True)
    some = lambda first, count: run_trials(tried, course, conditions, first, count, chunk=4)
    whole = some(0, 3)
    assert_same(whole, Trials.joined([some(first, 1) for first in range(3)]))
    clean = run_trials(tried, course, replace(conditions, sensor=False), 0, 3, chunk=4)
    assert not np.array_equal(whole.power, clean.power)


def make_worlds(conditions: Conditions, run: Path, count: int = 3) -> TrialWorlds:
    tried = subject.load(str(run))
    strips = strips_for(Course.of("stairs_down", 0.15, 0.30), range(count))
    return TrialWorlds(tried.robot, tried.task, tried.camera, strips, range(count), conditions)


def test_stress_reaches_the_worlds(run: Path) -> None:
    conditions = Conditions(push=1.5, friction=0.35, payload=8.0)
    env = make_worlds(conditions, run).env
    env.reset()
    assert env.dynamics is not None
    assert env.dynamics.friction.tolist() == pytest.approx([0.35] * 3)
    assert env.dynamics.base_added_mass.tolist() == pytest.approx([8.0] * 3)
    assert env.config.randomization.push_velocity == (-1.5, 1.5)
    assert conditions.label == "push-1.5_friction-0.35_payload-8"


def test_without_stress_worlds_are_randomized_as_in_training(run: Path) -> None:
    worlds = make_worlds(Conditions(), run, count=40)
    worlds.begin()
    env = worlds.env
    trained = subject.load(str(run)).task.randomization
    assert env.dynamics is not None
    low, high = trained.added_mass
    mass = env.dynamics.base_added_mass
    assert float(mass.min()) < low + 0.2 * (high - low) and float(mass.max()) > high - 0.2 * (high - low)
    assert set(env.delay.tolist()) == {0, 1, 2}
    assert env.commands.speed.tolist() == [1.0] * 40 and not bool(env.commands.still.any())


def test_the_nominal_robot_is_as_built(run: Path) -> None:
    conditions = Conditions(nominal=True, speed=0.5)
    env = make_worlds(conditions, run, count=20).env
    env.reset()
    assert env.dynamics is not None
    assert not env.dynamics.base_added_mass.any() and not env.delay.any()
    assert env.dynamics.friction.tolist() == [1.0] * 20
    assert env.dynamics.motor_strength.unique().tolist() == [1.0]
    assert env.config.randomization.push_velocity == (0.0, 0.0)
    assert env.commands.speed.tolist() == [0.5] * 20
    assert conditions.label == "speed-0.5_nominal"


def test_standing_still_ends_no_trial() -> None:
    tried = subject.load("scripted:stand")
    impatient = replace(tried.task, bootstrap=BootstrapConfig(stall_distance=0.2))
    conditions = Conditions(seconds=1.0, nominal=True)
    worlds = TrialWorlds(tried.robot, impatient, None, strips_for(FLAT, [0]), [0], conditions)
    actor = tried.actor()
    actor.begin(1)
    observation = worlds.begin()
    for _ in range(45):
        worlds.step(actor.act(observation))
        observation = worlds.observe()
    assert worlds.running.all()


def test_nobody_is_tried_by_a_beginners_rules(run: Path) -> None:
    """What is paid or ended beyond the paper's rules, be it to the end of training, ends no trial."""
    assert subject.load(str(run)).task.bootstrap == BootstrapConfig()


def test_the_operator_leads_a_robot_back_to_the_middle(run: Path) -> None:
    held, straight = (make_worlds(Conditions(look_ahead=a), run, count=1).env for a in (3.0, 0.0))
    aside, ahead = np.array([1.5], np.float32), np.zeros(1, np.float32)
    forward, left, turn = held.commands.current(ahead, aside, held.progress.omnidirectional)[0]
    way = -atan2(1.5, 3.0)
    assert (forward, left, turn) == pytest.approx((cos(way), sin(way), 0.0), abs=1e-6)
    assert steer(0.2, 1.5, 1.0) == pytest.approx(
        held.commands.current(ahead + 0.2, aside, held.progress.omnidirectional)[0], abs=1e-6
    )
    assert straight.commands.current(ahead, aside, straight.progress.omnidirectional)[0].tolist() == [1, 0, 0]


def test_nobody_steers_unless_asked_to_and_drifting_ends_no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """A robot set down far beside the middle line is told to walk straight on, and its trial goes on."""
    tried = subject.load("scripted:stand")
    conditions = Conditions(seconds=1.0, nominal=True)
    monkeypatch.setattr(starts, "LATERAL", 12.0)
    worlds = TrialWorlds(tried.robot, tried.task, None, strips_for(FLAT, range(4)), range(4), conditions)
    worlds.begin()
    lateral = worlds.env.simulator.state().base_position[:, 1]
    assert float(lateral.abs().max()) > 2.0
    actor = tried.actor()
    actor.begin(4)
    worlds.step(actor.act(worlds.observe()))
    assert worlds.running.all()
    assert np.abs(worlds.env.commands.now[:, 0] - 1.0).max() < 0.03  # heads within 0.2 rad of the strip
    toward = worlds.env.commands.now[:, 1] * lateral.numpy()
    assert np.abs(worlds.env.commands.now[:, 1]).max() < 0.25 and not (toward < -0.5).any()


def test_friction_can_be_read_both_ways(run: Path) -> None:
    trained = subject.load(str(run)).task
    assert Conditions().task(trained).randomization.friction_rule == "average"
    printed = Conditions(friction_rule="direct")
    assert printed.task(trained).randomization.friction_rule == "direct"
    assert printed.label == "friction-rule-direct"


def test_a_frozen_camera_shows_its_last_image(run: Path) -> None:
    worlds = make_worlds(Conditions(freeze_depth=0.2), run)
    observation = worlds.begin()
    seen = [observation.depth]
    for _ in range(30):
        worlds.step(torch.zeros(3, 21))
        observation = worlds.observe()
        seen.append(observation.depth)
        assert observation.depth_fresh.any() == (worlds.steps % 5 == 0 and worlds.steps < 10)
    assert not torch.equal(seen[0], seen[9])
    assert torch.equal(seen[9], seen[30])


def test_a_world_rests_once_its_trial_is_over() -> None:
    tried = subject.load("scripted:fall")
    worlds = TrialWorlds(tried.robot, tried.task, None, strips_for(FLAT, [0, 1]), [0, 1], Conditions())
    actor = tried.actor()
    actor.begin(2)
    observation = worlds.begin()
    while worlds.running.any():
        worlds.step(actor.act(observation))
        observation = worlds.observe()
    before = worlds.env.simulator.qpos.copy()
    worlds.step(actor.act(observation))
    assert np.array_equal(before, worlds.env.simulator.qpos)
    assert worlds.steps < 200


def test_commands_in_all_directions_come_in_mirrored_pairs() -> None:
    asked = np.array(commands())
    mirrored = asked * np.array([1.0, -1.0, -1.0])
    assert asked[mirror_partners()] == pytest.approx(mirrored, abs=1e-12)
    assert np.abs(asked[:, 0]).max() <= 1.0 and np.abs(asked[:, 1]).max() <= 0.4


def test_standing_still_is_symmetric_and_far_from_where_it_was_sent(monkeypatch) -> None:
    monkeypatch.setattr("ssr.evaluation.directions.SECONDS", 1.0)
    monkeypatch.setattr("ssr.evaluation.directions.REPEATS", 1)
    paths = walk(subject.load("scripted:stand"), 0)
    assert paths.lasted.all()
    assert paths.asymmetry().max() < 0.05
    assert paths.end_error()[0] == pytest.approx(0.6, abs=0.05)
    assert paths.end_error()[8] < 0.05, "on the spot it is where it was sent"
    assert paths.turned_share()[0] is None and not paths.falls().any()
    assert paths.turned_share()[8:] == pytest.approx([0.0, 0.0], abs=0.05), "but it has not turned"


def test_turns_count_by_what_was_asked_and_falls_are_told() -> None:
    turned = np.zeros((10, 1), dtype=np.float32)
    turned[8:, 0] = 6.4, -3.2
    paths = Paths(position=np.zeros((10, 1, 5, 2)), turned=turned, lasted=np.arange(10)[:, None] != 9)
    assert paths.turned_share()[8:] == pytest.approx([1.0, 0.5])
    assert paths.falls().tolist() == [0.0] * 9 + [1.0]


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"seed": -1}, "seed"),
        ({"friction": 0.0}, "friction"),
        ({"push": -1.0}, "push"),
        ({"payload": 100.0}, "payload"),
        ({"freeze_depth": -1.0}, "freeze-depth"),
    ],
)
def test_impossible_conditions_are_refused(given: dict, word: str) -> None:
    from ssr.errors import UserError

    with pytest.raises(UserError, match=word):
        Conditions(**given)


def test_a_trial_goes_on_behind_the_last_obstacle() -> None:
    trained = TaskConfig(termination=TerminationConfig(once_crossed=True))
    assert not Conditions().task(trained).termination.once_crossed


def test_a_trial_draws_its_delay() -> None:
    trained = TaskConfig(randomization=RandomizationConfig(delays_in_turn=(0, 2)))
    for conditions in (Conditions(), Conditions(nominal=True)):
        assert not conditions.task(trained).randomization.delays_in_turn


def test_a_policy_gone_mad_in_one_world_costs_its_neighbours_not_a_bit() -> None:
    class Mad:
        def __init__(self, sound, step: int) -> None:
            self.sound, self.step, self.asked = sound, step, 0

        def __getattr__(self, name: str):
            return getattr(self.sound, name)

        def act(self, *arguments, **more):
            action = self.sound.act(*arguments, **more).clone()
            self.asked += 1
            if self.asked == self.step:
                action[1] = float("nan")
            return action

    stepper = subject.load("scripted:stepper")
    conditions = Conditions(seconds=1.5)
    sound = run_trials(stepper, FLAT, conditions, 0, 4, chunk=4)
    mad = replace(stepper, actor=lambda *arguments: Mad(stepper.actor(*arguments), 20))
    spoilt = run_trials(mad, FLAT, conditions, 0, 4, chunk=4)
    others = [0, 2, 3]
    assert spoilt.ending[1] == FELL and spoilt.seconds[1] < 0.5
    for name in ("ending", "seconds", "distance", "power"):
        assert np.array_equal(getattr(sound, name)[others], getattr(spoilt, name)[others]), name
    for name in ("foothold_support", "foothold_foot"):
        steps = [getattr(t, name)[np.isin(t.foothold_trial, others)] for t in (sound, spoilt)]
        assert np.array_equal(*steps), name
