"""A gait that is known exactly is measured exactly."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from handmade import handmade

from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.gait import WARM_UP, GaitRecorder, gait_of, settled
from ssr.evaluation.measures import measure
from ssr.evaluation.places import scatter

PERIOD = 0.02
FIRST = round(WARM_UP / PERIOD)


def stepper(stance: int, air: int, strides: int, speed: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Contacts (t, 1, 2) and ways (t, 1) of one robot that stands for the warm-up, then walks by the clock.

    Its feet do the same half a stride apart; a stride is `stance` steps on the ground and `air` off it.
    """
    stride = stance + air
    clock = np.arange(stride * strides)
    walking = np.stack([(clock + shift) % stride < stance for shift in (0, stride // 2)], axis=-1)
    contact = np.concatenate([np.ones((FIRST, 2), dtype=bool), walking])
    x = np.concatenate([np.zeros(FIRST), speed * PERIOD * (clock + 1)])
    return contact[:, None], x[:, None]


def test_a_walk_is_measured_exactly() -> None:
    # 30 steps on the ground, 20 off it: strides of 1 s, two steps each, 20 % on both feet.
    contact, x = stepper(stance=30, air=20, strides=10, speed=0.5)
    gait = gait_of(contact, x, np.array([len(x)]), PERIOD)
    assert gait.seconds == pytest.approx([10.0])
    assert gait.distance == pytest.approx([5.0])
    # Each swing that is over by the end is a step; the first foot's tenth is not.
    assert gait.steps.tolist() == [19]
    assert gait.air == pytest.approx([2 * 10 * 20 * PERIOD])
    assert gait.double_support == pytest.approx([2.0])
    assert gait.flight == pytest.approx([0.0])


def test_a_run_is_in_flight_as_long_as_it_is() -> None:
    # 10 steps on the ground, 15 off it: for 5 of every 25 steps nobody touches anything.
    contact, x = stepper(stance=10, air=15, strides=40)
    gait = gait_of(contact, x, np.array([len(x)]), PERIOD)
    shift = 25 // 2
    clock = np.arange(25)
    both_off = ((clock % 25 >= 10) & ((clock + shift) % 25 >= 10)).sum()
    assert gait.flight == pytest.approx([40 * both_off * PERIOD])
    assert gait.double_support == pytest.approx([0.0])
    assert gait.steps[0] / gait.seconds[0] == pytest.approx(2 / (25 * PERIOD), rel=0.02)


def test_the_measures_of_a_walk_follow_from_its_sums() -> None:
    contact, x = stepper(stance=30, air=20, strides=10, speed=0.5)
    gait = gait_of(contact, x, np.array([len(x)]), PERIOD)
    walk = {f"walk_{name}": values for name, values in vars(gait).items()}
    found = measure(Course.of("flat"), handmade(1, **walk), Conditions(speed=1.0))
    assert found["cadence"].value == pytest.approx(1.9)
    assert found["step_length"].value == pytest.approx(5.0 / 19)
    assert found["speed_share"].value == pytest.approx(0.5)
    assert found["double_support"].value == pytest.approx(0.2)
    assert found["flight"].value == 0.0
    assert found["air_time"].value + found["stance_time"].value == pytest.approx(20.0 / 19)


def test_neither_chatter_nor_brushes_are_steps() -> None:
    on, off = [True], [False]
    chatter = np.array(20 * on + 3 * off + 20 * on)
    assert settled(chatter).all()
    brush = np.array(20 * on + 8 * off + 1 * on + 8 * off + 20 * on)
    assert settled(brush).tolist() == 20 * on + 17 * off + 20 * on
    bounce = np.array(20 * on + 10 * off + 1 * on + 2 * off + 20 * on)
    assert settled(bounce).tolist() == 20 * on + 10 * off + 23 * on, "the landing is its first touch"


def test_what_comes_after_a_fall_does_not_count_and_a_short_trial_says_nothing() -> None:
    contact, x = stepper(stance=30, air=20, strides=10)
    two = gait_of(np.repeat(contact, 2, axis=1), np.repeat(x, 2, axis=1), np.array([FIRST + 200, 60]), PERIOD)
    assert two.seconds == pytest.approx([4.0, 0.0])
    assert two.steps.tolist() == [7, 0]
    walk = {f"walk_{name}": values[1:] for name, values in vars(two).items()}
    found = measure(Course.of("flat"), handmade(1, **walk), Conditions())
    assert np.isnan(found["cadence"].value)


def test_a_broken_world_says_nothing_about_the_walk() -> None:
    contact, x = stepper(stance=30, air=20, strides=4, speed=0.5)
    sound, broken = GaitRecorder(1), GaitRecorder(1)
    for k in range(len(x)):
        now = step(contact[k], x[k], valid=True)
        sound.observe(now)
        broken.observe(now)
    sound.observe(step(contact[-1], x[-1], valid=True))
    broken.observe(step(~contact[-1], np.array([np.nan]), valid=False))
    whole = torch.tensor([len(x) + 1])
    for name, values in vars(broken.gait(whole, PERIOD)).items():
        assert values == pytest.approx(getattr(sound.gait(whole, PERIOD), name)), name
    assert broken.drift(whole) == pytest.approx([0.0])


def step(contact: np.ndarray, x: np.ndarray, valid: bool) -> Any:
    """What a recorder looks at of one control step of one robot."""
    return SimpleNamespace(
        feet=SimpleNamespace(contact=torch.from_numpy(contact)),
        base_position=torch.tensor([[float(x[0]), 0.0, 0.8]]),
        valid=torch.tensor([valid]),
    )


def test_drift_is_metres_to_the_side_per_ten_metres() -> None:
    trials = handmade(2, distance=np.array([20.0, 10.0]), drift=np.array([1.0, -0.5], dtype=np.float32))
    assert measure(Course.of("flat"), trials, Conditions())["drift"].value == pytest.approx(0.5)


def test_scatter_is_a_standard_deviation_around_the_tread() -> None:
    rng, tread = np.random.default_rng(0), 0.32
    for spread in (0.02, 0.05):
        places = (0.01 + rng.normal(0.0, spread, 40_000)) % tread  # across the edge between two treads
        assert scatter(places, tread) == pytest.approx(spread, rel=0.02)
    assert scatter(rng.uniform(0.0, tread, 40_000), tread) > 0.4 * tread
    assert scatter(np.full(10, 0.1), tread) == pytest.approx(0.0, abs=1e-6)
