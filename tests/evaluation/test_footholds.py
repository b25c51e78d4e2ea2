"""Footholds as they are counted: a walk on known places gives hand-worked support, SFR, MSR and forces."""

import numpy as np
import pytest
import torch
from handmade import handmade

from ssr.evaluation import store
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.footholds import FootRecorder
from ssr.evaluation.gait import settled
from ssr.evaluation.measures import measure
from ssr.evaluation.store import digest_of
from ssr.robots import load
from ssr.symmetry.vectors import layouts
from ssr.task.touchdowns import TouchdownRules
from ssr.task.transition import Feet, Transition
from ssr.terrain.field import TerrainField
from ssr.terrain.strip import STRIP_POOL, make_strip
from ssr.vision.heightmap import foot_map_points

ROBOT = load("x2")
PRIVILEGED = layouts(ROBOT).privileged
FLAT = Course.of("flat")
AIR, STANCE = 8, 10  #: control steps


class Walk:
    """One robot whose feet are put down by hand on a strip, in turn, right foot first."""

    def __init__(self, kind: str, *setting: float) -> None:
        self.field = TerrainField(1, STRIP_POOL)
        self.field.place([0], [make_strip(kind, setting)])
        self.recorder = FootRecorder(1, PRIVILEGED)
        self.position = torch.tensor([[[0.5, -0.1, 0.0], [0.5, 0.1, 0.0]]])

    def step(
        self,
        contact: tuple[bool, bool],
        force: tuple[float, float],
        *,
        ended: bool = False,
        sideways: float = 0.0,
    ) -> None:
        maps = self.field.heights(foot_map_points(self.position, torch.zeros(1, 2), ROBOT.sole))
        privileged = torch.zeros(1, PRIVILEGED.size)
        below_sole = (self.position[..., 2:] - maps).clamp(-1.0, 1.0)
        PRIVILEGED.get(privileged, "foot_height_maps")[:] = 5.0 * below_sole.flatten(1)
        up = torch.zeros(1, 2, 3)
        up[0, :, 2] = torch.tensor(force)
        up[0, :, 0] = sideways
        feet = Feet(
            contact=torch.tensor([contact]),
            force=up,
            position=self.position.clone(),
            yaw=torch.zeros(1, 2),
            touchdown=torch.zeros(1, 2, dtype=torch.bool),
        )
        nothing, no = torch.zeros(1), torch.zeros(1, dtype=torch.bool)
        transition = Transition(
            reward=nothing, terms={}, terminated=torch.tensor([ended]), truncated=no, valid=~no,
            privileged=privileged, proprioception=nothing, amp_frame=nothing, feet=feet,
            base_position=torch.zeros(1, 3), base_yaw=nothing, terrain_type=self.field.type, level=no.long(),
            among=no, omnidirectional=no, power=nothing,
        )  # fmt: skip
        self.recorder.observe(transition, torch.ones(1, dtype=torch.bool))

    def swing_and_stand(self, foot: int, x: float, peak: float = 500.0, stance: int = STANCE) -> None:
        """Lift one foot, put it down with its centre at x, and stand on it."""
        other = (foot == 1, foot == 0)
        for _ in range(AIR):
            self.step(other, (0.0, 300.0) if foot == 0 else (300.0, 0.0))
        self.position[0, foot, 0] = x
        self.position[0, foot, 2] = 0.0
        for k in range(stance):
            own = peak if k == 2 else 200.0
            self.step((True, True), (own, 100.0) if foot == 0 else (100.0, own))


def test_hand_worked_support_before_a_gap() -> None:
    # The gap begins at x = 1.5; the patch is 0.225 m long, ten rows 2.5 cm apart.
    walk = Walk("gap", 0.8)
    places = {1.0: 1.0, 1.40: 0.9, 1.45: 0.7, 1.50: 0.5, 1.20: 1.0, 0.3: 1.0}
    for k, x in enumerate(places):
        walk.swing_and_stand(k % 2, x)
    found = walk.recorder.footholds()
    assert found.foot.tolist() == [0, 1, 0, 1, 0, 1]
    assert found.position[:, 0] == pytest.approx(list(places), abs=1e-6)
    assert found.support == pytest.approx(list(places.values()), abs=1e-6)

    trials = handmade(
        1,
        first_edge=np.array([0.5], np.float32),  # so that only the landing at 0.3 m lies before
        foothold_trial=found.world,
        foothold_position=found.position,
        foothold_support=found.support,
    )
    measured = measure(FLAT, trials, Conditions())
    assert measured["sfr"].value == pytest.approx(3 / 5)  # 1.0 and 0.9 are safe, 0.7 and 0.5 are not
    assert measured["sfr_all"].value == pytest.approx(4 / 6)
    assert measured["msr"].value == pytest.approx((1.0 + 0.9 + 0.7 + 0.5 + 1.0) / 5)


TREAD, RISE = 0.32, 0.13  #: m


def stairs_support(kind: str, along: float, lifted: float = 0.0) -> float:
    """Of a landing with the sole's centre `along` m behind a tread's near edge, the sole `lifted` off it."""
    walk = Walk(kind, RISE, TREAD)
    tread = float(walk.field.first_edge) + 4 * TREAD
    for _ in range(AIR):
        walk.step((False, True), (0.0, 300.0))
    walk.position[0, 0, 0] = tread + along
    point = walk.position[:, :1, :2] + torch.tensor([1e-3, 0.0])
    walk.position[0, 0, 2] = float(walk.field.heights(point)) + lifted
    for _ in range(3):
        walk.step((True, True), (200.0, 100.0))
    return float(walk.recorder.footholds().support.item())


@pytest.mark.parametrize(("along", "safe"), [(TREAD / 2, 1.0), (0.0, 0.0)])
@pytest.mark.parametrize("kind", ["stairs_up", "stairs_down"])
def test_a_walk_on_tread_centres_is_all_safe_and_one_on_nosings_not_at_all(
    kind: str, along: float, safe: float
) -> None:
    """A scripted walk, foot by foot and tread by tread, through recorder and table."""
    walk = Walk(kind, RISE, TREAD)
    first = float(walk.field.first_edge)
    for step in range(8):
        foot, x = step % 2, first + (step + 1) * TREAD + along
        for _ in range(AIR):
            walk.step((foot == 1, foot == 0), (300.0 * foot, 300.0 * (1 - foot)))
        walk.position[0, foot, 0] = x
        point = walk.position[:, foot : foot + 1, :2] + torch.tensor([1e-3, 0.0])
        walk.position[0, foot, 2] = float(walk.field.heights(point))
        for _ in range(3):
            walk.step((True, True), (200.0, 200.0))
    found = walk.recorder.footholds()
    trials = handmade(
        1,
        first_edge=np.array([first], np.float32),
        foothold_trial=found.world,
        foothold_foot=found.foot,
        foothold_position=found.position,
        foothold_support=found.support,
    )
    measured = measure(Course.of(kind, RISE, TREAD), trials, Conditions())
    assert len(found.support) == 8 and measured["sfr"].value == safe


@pytest.mark.parametrize("kind", ["stairs_up", "stairs_down"])
def test_a_sole_in_the_middle_of_a_tread_is_safe(kind: str) -> None:
    assert stairs_support(kind, TREAD / 2) == 1.0


@pytest.mark.parametrize("lifted", [-RISE / 2, 0.0, 0.05])
@pytest.mark.parametrize("kind", ["stairs_up", "stairs_down"])
def test_a_sole_on_a_nosing_is_not_safe_however_the_foot_is_held(kind: str, lifted: float) -> None:
    assert stairs_support(kind, 0.0, lifted) <= 0.6


@pytest.mark.parametrize("lifted", [-RISE, -RISE / 2, 0.0])
def test_a_sole_that_bridges_two_treads_going_up_is_not_safe(lifted: float) -> None:
    assert stairs_support("stairs_up", -0.05, lifted) < 0.75


@pytest.mark.parametrize("lifted", [0.0, 0.04, 0.08])
def test_a_heel_strike_on_level_ground_is_safe(lifted: float) -> None:
    walk = Walk("flat")
    for _ in range(AIR):
        walk.step((False, True), (0.0, 300.0))
    walk.position[0, 0, 2] = lifted  # of the centre, while the heel touches
    for _ in range(3):
        walk.step((True, True), (200.0, 100.0))
    assert walk.recorder.footholds().support.tolist() == [1.0]


def test_every_landing_counts_however_the_foot_is_pressed() -> None:
    walk = Walk("gap", 0.8)
    for _ in range(AIR):
        walk.step((False, True), (0.0, 300.0))
    for _ in range(3):
        walk.step((True, True), (2.0, 100.0), sideways=60.0)
    assert len(walk.recorder.footholds().world) == 1


def test_support_is_that_of_the_contact_not_of_a_later_moment() -> None:
    walk = Walk("gap", 0.8)
    for _ in range(AIR):
        walk.step((False, True), (0.0, 300.0))
    walk.position[0, 0, 0] = 1.45
    walk.step((True, True), (200.0, 100.0))
    walk.position[0, 0, 0] = 1.30  # slides back onto the ground
    for _ in range(4):
        walk.step((True, True), (200.0, 100.0))
    found = walk.recorder.footholds()
    assert found.support.tolist() == pytest.approx([0.7])
    assert found.step.tolist() == [AIR]


@pytest.mark.parametrize("hop", [1, 2, 3])
def test_a_foot_that_bounces_lands_once_where_it_stays(hop: int) -> None:
    walk = Walk("flat")
    contacts = [False] * AIR + [True] + [False] * hop + [True] * STANCE
    for k, contact in enumerate(contacts):
        walk.position[0, 0, 0] = 0.01 * k
        walk.step((contact, True), (200.0 if contact else 0.0, 100.0))
    found = walk.recorder.footholds()
    assert found.step.tolist() == [AIR + 1 + hop]
    assert found.position[:, 0] == pytest.approx([0.01 * (AIR + 1 + hop)])
    steps = np.diff(settled(np.array([True, *contacts])).astype(int))
    assert (steps == 1).sum() == len(found.step), "cadence counts the same landings"


def test_a_brush_and_a_stumble_are_no_footholds() -> None:
    walk = Walk("flat")
    for contact in [False] * AIR + [True] + [False] * AIR:  # touches once and is gone
        walk.step((contact, True), (200.0 if contact else 0.0, 100.0))
    assert len(walk.recorder.footholds().world) == 0
    stumble = Walk("flat")
    for contact in [True] * STANCE + [False] * 3 + [True] * STANCE:
        stumble.step((contact, True), (200.0 if contact else 0.0, 100.0))
    assert len(stumble.recorder.footholds().world) == 0


def test_peak_force_is_taken_per_stance_and_averaged() -> None:
    walk = Walk("flat")
    for foot, peak in ((0, 400.0), (1, 600.0), (0, 500.0), (1, 300.0)):
        walk.swing_and_stand(foot, 1.0, peak)
    walk.swing_and_stand(0, 1.0, 900.0)  # its stance does not end
    stances = walk.recorder.stances()
    # The left foot's last stance has not ended either: only a lift-off ends one.
    assert stances.peak.tolist() == pytest.approx([400.0, 600.0, 500.0])
    trials = handmade(1, stance_trial=stances.world, stance_peak=stances.peak)
    assert measure(FLAT, trials, Conditions())["pfcf"].value == pytest.approx(500.0)


def test_standing_from_the_start_is_no_foothold() -> None:
    walk = Walk("flat")
    for _ in range(50):
        walk.step((True, True), (200.0, 200.0))
    assert len(walk.recorder.footholds().world) == 0
    assert len(walk.recorder.stances().world) == 0


def test_footholds_of_a_fallen_trial_do_not_count_on() -> None:
    walk = Walk("flat")
    walk.swing_and_stand(0, 1.0)
    for _ in range(AIR):
        walk.step((True, False), (300.0, 0.0))
    walk.step((True, True), (200.0, 200.0), ended=True)
    walk.step((True, True), (200.0, 200.0))
    assert np.array_equal(walk.recorder.footholds().foot, [0])


def test_stored_trials_of_other_touchdown_rules_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = digest_of("policy", Conditions(), 4)
    monkeypatch.setattr(store, "TouchdownRules", lambda: TouchdownRules(min_air_steps=5))
    assert digest_of("policy", Conditions(), 4) != usual
