"""Each row of Table 6(a) on a state whose value can be worked out by hand."""

import math
from collections.abc import Iterator
from dataclasses import fields

import numpy as np
import pytest

from ssr.ranges import settings
from ssr.task.config import BootstrapConfig, RewardConfig, Weight
from ssr.task.moment import Moment
from ssr.task.payment import Weights, paid, weighted_terms, weights_of
from ssr.task.rewards import ROWS, Limits, row

CONFIG = RewardConfig()
UNWEIGHTED = Weights(dict.fromkeys(ROWS, 1.0))
TABLE = weights_of(CONFIG, BootstrapConfig(), 0.0)
J = 4
F = np.float32


def array(values: list) -> np.ndarray:
    made = np.array(values)
    return made if made.dtype == bool else made.astype(F)


LIMITS = Limits(
    default_position=array([0.1, -0.2, 0.0, 0.3]),
    lower=np.full(J, -1.0, F),
    upper=np.full(J, 1.0, F),
    max_velocity=np.full(J, 10.0, F),
    max_torque=np.full(J, 50.0, F),
    base_height_target=0.68,
    min_foot_distance=0.22,
)
REST = Moment(
    velocity=np.zeros((1, 2), F),
    angular_velocity=np.zeros((1, 3), F),
    gravity=array([[0.0, 0.0, -1.0]]),
    command=array([[1.0, 0.0, 0.0]]),
    standing=array([False]),
    base_height=array([0.68]),
    action=np.zeros((1, J), F),
    previous_action=np.zeros((1, J), F),
    earlier_action=np.zeros((1, J), F),
    joint_position=LIMITS.default_position[None].copy(),
    joint_velocity=np.zeros((1, J), F),
    torque=np.zeros((1, J), F),
    contact=array([[True, True]]),
    first_contact=np.zeros((1, 2), bool),
    air_time=np.zeros((1, 2), F),
    foot_velocity=np.zeros((1, 2, 3), F),
    falling_speed=np.zeros((1, 2), F),
    foot_force=array([[[0.0, 0.0, 190.0], [0.0, 0.0, 190.0]]]),
    foot_distance=array([0.25]),
    recent_single_support=array([False]),
    reference_position=LIMITS.default_position[None].copy(),
)

# row, what differs from REST, the value worked out by hand
CASES = [
    ("linear_velocity_tracking", {"velocity": [[0.5, 0.3]]}, math.exp(-(0.25 + 0.09) / 0.25)),
    ("angular_velocity_tracking", {"angular_velocity": [[0, 0, 0.5]]}, math.exp(-0.25 / 0.25)),
    ("orientation", {"gravity": [[0.06, 0.08, -0.99]]}, math.exp(-0.01 / 0.01)),
    ("angular_velocity_xy", {"angular_velocity": [[0.3, 0.4, 7.0]]}, math.exp(-0.25 / 0.25)),
    ("base_height", {"base_height": [0.58]}, math.exp(-0.01 / 0.01)),
    ("action_rate", {"action": [[1.0, 2.0, 0, 0]], "previous_action": [[0, 1.0, 0, 1.0]]}, 3 / 4),
    ("smoothness", {"action": [[1.0, 0, 0, 0]], "previous_action": [[1.0, 1.0, 0, 0]],
                    "earlier_action": [[0, 0, 0, 2.0]]}, (1 + 4 + 4) / 4),
    ("dof_velocity", {"joint_velocity": [[10.0, 5.0, 0, 0]]}, (1 + 0.25) / 4),
    ("dof_torque", {"torque": [[100.0, 25.0, 0, 0]]}, (4 + 0.25) / 4),
    ("dof_deviation", {"joint_position": [[0.2, -0.4, 0.0, 0.3]]}, 0.3 / 4),
    ("dof_position_limits", {"joint_position": [[1.2, -1.1, 0.0, 0.3]]}, 0.5),
    ("dof_velocity_limits", {"joint_velocity": [[-10.5, 9.9, 0, 0]]}, 0.25),
    ("dof_torque_limits", {"torque": [[51.0, -51.0, 49.0, 0]]}, 0.5),
    ("stand_still", {"joint_position": [[0.2, -0.4, 0.0, 0.3]], "standing": [True]}, 0.3 / 4),
    ("stand_still", {"joint_position": [[0.2, -0.4, 0.0, 0.3]]}, 0.0),
    ("single_support", {}, 0.0),
    ("single_support", {"standing": [True]}, 1.0),
    ("single_support", {"recent_single_support": [True]}, 1.0),
    ("impact_velocity", {"falling_speed": [[-0.5, -2.0]], "contact": [[True, False]]}, 0.25),
    ("contact_slippage", {"foot_velocity": [[[0.3, 0.4, 9], [1, 1, 1]]], "contact": [[True, False]]}, 0.25),
    ("feet_air_time", {"air_time": [[0.7, 0.9]], "first_contact": [[True, False]]}, 0.3),
    ("feet_air_time", {"air_time": [[0.3, 0.2]], "first_contact": [[True, True]]}, 0.0),
    ("feet_stumble", {"foot_force": [[[31.0, 0, 10.0], [29.0, 0, 10.0]]]}, 1.0),
    ("feet_lateral_distance", {"foot_distance": [0.19]}, math.exp(-0.03 / 0.03)),
    ("feet_lateral_distance", {"foot_distance": [0.30]}, 1.0),
]  # fmt: skip


def moment(changes: dict) -> Moment:
    return REST._replace(**{k: np.array(v, dtype=getattr(REST, k).dtype) for k, v in changes.items()})


def value_of(row: str, changes: dict) -> float:
    terms, _ = weighted_terms(moment(changes), LIMITS, UNWEIGHTED)
    return terms[row].item()


@pytest.mark.parametrize(("row", "changes", "expected"), CASES)
def test_row_has_the_value_worked_out_by_hand(row: str, changes: dict, expected: float) -> None:
    assert value_of(row, changes) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_every_row_of_the_table_is_covered_and_weighted() -> None:
    names = {f.name for f in fields(RewardConfig)}
    assert set(ROWS) - {"progress", "stepping", "imitation"} == names == {case[0] for case in CASES}
    terms, total = weighted_terms(REST, LIMITS, TABLE)
    assert set(terms) == names
    assert terms["orientation"].item() == pytest.approx(0.5)
    assert total.item() == pytest.approx(sum(term.item() for term in terms.values()))


@settings("task.rewards")
class RewardsWithClapping(RewardConfig):
    clapping: Weight = 3.0


@pytest.fixture
def clapping() -> Iterator[None]:
    def clapping(m, limits, c, i):
        return 2.0 * m.contact[i, 0] + m.command[i, 0]

    row(clapping)
    yield
    del ROWS["clapping"]


def test_a_new_row_is_paid_by_the_weight_of_its_name(clapping: None) -> None:
    weights = weights_of(RewardsWithClapping(), BootstrapConfig(), 0.0)
    terms, total = weighted_terms(REST, LIMITS, weights)
    before = sum(term.item() for name, term in terms.items() if name != "clapping")
    assert terms["clapping"].item() == pytest.approx(9.0)
    assert total.item() == pytest.approx(before + 9.0)


def test_a_row_without_a_weight_is_named(clapping: None) -> None:
    with pytest.raises(AttributeError, match="clapping"):
        weights_of(CONFIG, BootstrapConfig(), 0.0)


def test_rows_beyond_the_table_are_paid_their_share_of_the_bootstrap() -> None:
    bootstrap = BootstrapConfig(progress=2.0, stepping=4.0)
    half, none = (weights_of(CONFIG, bootstrap, share) for share in (0.5, 0.0))
    assert [half.values[half.places[name]] for name in ("progress", "stepping")] == [1.0, 2.0]
    assert not {"progress", "stepping"} & none.places.keys()


def test_reward_is_paid_per_step_never_negative_and_never_to_a_world_that_has_blown_up() -> None:
    total = array([2.0, -1.0, 5.0])
    paid(np.arange(3), total, array([True, True, False]), 0.02)
    assert total.tolist() == pytest.approx([0.04, 0.0, 0.0])


def test_weights_are_those_of_table_6() -> None:
    printed = {
        "linear_velocity_tracking": 1.0, "angular_velocity_tracking": 0.8, "orientation": 0.5,
        "angular_velocity_xy": 0.25, "base_height": 0.4, "action_rate": -0.12, "smoothness": -0.06,
        "dof_velocity": -0.96, "dof_torque": -0.6, "dof_deviation": -1.8, "dof_position_limits": -1.5,
        "dof_velocity_limits": -6.0, "dof_torque_limits": -6.0, "stand_still": -0.12, "single_support": 0.2,
        "impact_velocity": -1.3, "contact_slippage": -0.2, "feet_air_time": -2.0, "feet_stumble": -2.0,
        "feet_lateral_distance": 0.08,
    }  # fmt: skip
    assert {f.name: getattr(CONFIG, f.name) for f in fields(CONFIG)} == printed


def test_progress_is_the_share_of_the_command_that_is_done() -> None:
    assert value_of("progress", {"velocity": [[0.5, 5.0]]}) == pytest.approx(0.5)
    assert value_of("progress", {"velocity": [[-3.0, 0]]}) == pytest.approx(-3.0)
    assert value_of("progress", {"velocity": [[-9.0, 0]]}) == pytest.approx(-4.0)
    assert value_of("progress", {"command": [[0.0, 0, 0.0]], "velocity": [[1.0, 0]]}) == 0.0
    aside = {"command": [[0.0, 0.4, 0.0]]}
    assert value_of("progress", {**aside, "velocity": [[0.8, 0.2]]}) == pytest.approx(0.5)
    turn = {"command": [[0.0, 0.0, -0.8]]}
    assert value_of("progress", {**turn, "angular_velocity": [[0, 0, -0.2]]}) == pytest.approx(0.25)


def test_hurry_in_one_part_of_a_command_pays_for_no_other() -> None:
    both = {"command": [[0.4, 0.0, 0.8]]}  # as much of the one as of the other
    assert value_of("progress", {**both, "velocity": [[0.4, 0.0]]}) == pytest.approx(0.5)
    assert value_of("progress", {**both, "velocity": [[0.48, 0.0]]}) == pytest.approx(0.5)
    assert value_of("progress", {**both, "velocity": [[2.0, 0.0]]}) == pytest.approx(-1.4)
    done = {**both, "velocity": [[0.4, 0.0]], "angular_velocity": [[0, 0, 0.8]]}
    assert value_of("progress", done) == pytest.approx(1.0)


def test_who_hurries_has_done_less() -> None:
    ahead = {"command": [[1.0, 0.0, 0.0]]}
    done = [value_of("progress", {**ahead, "velocity": [[speed, 0.0]]}) for speed in (1.0, 1.2, 1.7, 9.0)]
    assert done == pytest.approx([1.0, 1.0, 0.5, -4.0])


def test_stepping_pays_for_swings_beyond_a_shuffle_up_to_the_target() -> None:
    landed = {"first_contact": [[True, True]], "air_time": [[0.3, 0.9]]}
    assert value_of("stepping", landed) == pytest.approx(0.2 + 0.3)
    assert value_of("stepping", landed | {"standing": [True]}) == 0.0
    assert value_of("stepping", landed | {"air_time": [[0.0, 0.0]]}) == 0.0


def test_imitation_pays_for_the_reference_pose_as_far_as_the_robot_gets_ahead() -> None:
    ahead = {"velocity": [[0.5, 0.0]]}
    assert value_of("imitation", ahead) == pytest.approx(0.5)
    apart = ahead | {"reference_position": [[0.3, -0.2, 0.2, 0.3]]}
    assert value_of("imitation", apart) == pytest.approx(0.5 * math.exp(-0.02 / 0.04))
    assert value_of("imitation", {}) == 0.0  # stands where walking is asked for
    assert value_of("imitation", {"standing": [True], "command": [[0.0, 0, 0]]}) == pytest.approx(1.0)
