"""Labels of the imagination model on a scripted gait equal the true touchdowns."""

from dataclasses import replace

import torch
from toy import ToyWalker

from ssr.learning.footsteps import MAX_SWING_STEPS, FootstepRecorder, to_base, to_tile
from ssr.terrain.settings import TERRAIN_TYPES


def recorder(n):
    return FootstepRecorder(num_envs=n, input_size=2)


AIR, GROUND, BRUSHED = False, True, "brushed"
BRUSH = (80.0, 0.0, 10.0)  #: N, on a foot that touches a riser


class Script:
    """One world whose right foot follows a script of contacts; the base moves and turns."""

    def __init__(
        self,
        contacts,
        *,
        landing=(0.0, 0.0),
        force=(0.0, 0.0, 100.0),
        terrain="stairs",
        ended=(),
        since=0,
        until=None,
    ):
        self.env = ToyWalker(num_envs=1)
        self.env.reset()
        self.frame = self.env.step(torch.zeros(1, 21))
        self.contacts, self.landing, self.force, self.ended = contacts, landing, force, ended
        self.terrain = torch.tensor([TERRAIN_TYPES.index(terrain)])
        self.played = range(len(contacts))[since:until]

    def play(self, follow):
        """All labels as (step, foot, target), the steps found by their stored input."""
        labels = []
        for t in self.played:
            contact = self.contacts[t] is not AIR
            force = BRUSH if self.contacts[t] is BRUSHED else self.force
            place = (0.5, 0.1) if self.contacts[t] is BRUSHED else self.landing
            moved = replace(
                self.frame,
                base_position=torch.tensor([[0.1 * (t + 1), -0.05 * (t + 1), 0.7]]),
                base_yaw=torch.tensor([0.2 * (t + 1)]),
                terrain_type=self.terrain,
                truncated=torch.tensor([t in self.ended]),
                feet=replace(
                    self.frame.feet,
                    contact=torch.tensor([[contact, True]]),
                    force=torch.tensor([[force, self.force]]) * torch.tensor([[[contact], [1.0]]]),
                    position=torch.tensor([[[*place, 0.0], [0.0, 0.0, 0.0]]]),
                ),
            )
            follow.observe(torch.tensor([[float(t)]]), torch.zeros(1, 1), moved)
            got = follow.labels()
            labels += [
                (int(step), int(foot), target)
                for step, foot, target in zip(got.input[:, 0], got.foot, got.target, strict=True)
            ]
        return labels


SWING = [GROUND, GROUND, AIR, AIR, AIR, AIR, AIR, GROUND, GROUND]


def test_every_swing_step_gets_the_touchdown_in_its_own_frame():
    landing = (0.9, 0.3)
    labels = Script(SWING, landing=landing).play(recorder(1))
    assert sorted(step for step, _, _ in labels) == [2, 3, 4, 5, 6]
    assert {foot for _, foot, _ in labels} == {0}
    for step, _, target in labels:
        # before step t the base stood where step t - 1 left it
        position, yaw = torch.tensor([0.1 * step, -0.05 * step]), torch.tensor(0.2 * step)
        torch.testing.assert_close(target, to_base(torch.tensor(landing), position, yaw))
        torch.testing.assert_close(to_tile(target, position, yaw), torch.tensor(landing))


def test_short_hops_light_brushes_and_slanted_pushes_are_no_touchdowns():
    assert Script([GROUND, AIR, AIR, AIR, GROUND, GROUND]).play(recorder(1)) == []
    assert Script(SWING, force=(0.0, 0.0, 4.0)).play(recorder(1)) == []
    assert Script(SWING, force=(80.0, 0.0, 60.0)).play(recorder(1)) == []
    assert Script([*SWING[:-1], AIR]).play(recorder(1)) == [], "gone again one step later"


def test_a_swing_that_brushes_a_riser_is_labelled_with_the_landing_that_follows():
    landing = (0.9, 0.3)
    contacts = [GROUND, GROUND, *[AIR] * 5, BRUSHED, AIR, AIR, GROUND, GROUND]
    labels = Script(contacts, landing=landing).play(recorder(1))
    assert sorted(step for step, _, _ in labels) == [2, 3, 4, 5, 6, 8, 9], "in the air before and after"
    for step, _, target in labels:
        position, yaw = torch.tensor([0.1 * step, -0.05 * step]), torch.tensor(0.2 * step)
        torch.testing.assert_close(to_tile(target, position, yaw), torch.tensor(landing))


def test_a_foot_that_slides_off_a_riser_onto_the_tread_has_landed_on_the_tread():
    contacts = [GROUND, GROUND, *[AIR] * 5, BRUSHED, BRUSHED, GROUND, GROUND, GROUND, GROUND]
    labels = Script(contacts, landing=(0.9, 0.3)).play(recorder(1))
    assert sorted(step for step, _, _ in labels) == [2, 3, 4, 5, 6], "once"
    position, yaw = torch.tensor([0.2, -0.1]), torch.tensor(0.4)
    target = next(target for step, _, target in labels if step == 2)
    torch.testing.assert_close(to_tile(target, position, yaw), torch.tensor([0.9, 0.3]))


def test_a_contact_that_is_gone_at_once_leaves_the_swing_to_the_next():
    labels = Script([*SWING[:-1], AIR, GROUND, GROUND]).play(recorder(1))
    assert sorted(step for step, _, _ in labels) == [2, 3, 4, 5, 6, 8]


def test_a_swing_that_waits_after_a_brush_is_dropped_with_its_episode():
    contacts = [GROUND, GROUND, *[AIR] * 5, BRUSHED, AIR, AIR, GROUND, GROUND]
    assert Script(contacts, ended=(8,)).play(recorder(1)) == []


def test_steps_of_a_hop_do_not_add_up_to_a_swing():
    contacts = [GROUND, AIR, AIR, AIR, GROUND, GROUND, AIR, AIR, AIR, GROUND, GROUND]
    assert Script(contacts).play(recorder(1)) == []


def test_a_foot_that_slides_as_it_lands_on_a_slope_has_landed():
    assert len(Script(SWING, force=(80.0, 0.0, 60.0), terrain="slope").play(recorder(1))) == 5
    assert Script(SWING, force=(80.0, 0.0, 4.0), terrain="slope").play(recorder(1)) == []


def test_swings_cut_by_the_end_of_an_episode_are_dropped():
    assert Script(SWING, ended=(4,)).play(recorder(1)) == []
    assert Script(SWING, ended=(7,)).play(recorder(1)) == [], "the landing itself was the last step"
    assert len(Script(SWING, ended=(8,)).play(recorder(1))) == 5, "confirmed by the last step"


def test_a_long_swing_keeps_its_newest_steps():
    swing = MAX_SWING_STEPS + 14
    contacts = [GROUND, GROUND, *[AIR] * swing, GROUND, GROUND]
    labels = Script(contacts).play(recorder(1))
    assert sorted(step for step, _, _ in labels) == [*range(2 + 14, 2 + swing)]


def test_labels_of_a_walk_are_where_the_feet_really_came_down():
    """Five worlds, five cycles; what each foot does after each step is known from the toy itself."""
    n, steps, asked = 5, 100, 25
    follow = FootstepRecorder(num_envs=n, input_size=2, steps=asked)
    env = ToyWalker(num_envs=n, episode=10_000)
    env.reset()
    contact, place, pose, labels = [], [], [], []
    for t in range(steps):
        pose.append((env.position.clone(), env.yaw.clone()))
        transition = env.step(torch.randn(n, 21))
        numbered = torch.stack((torch.full((n,), float(t)), torch.arange(float(n))), -1)
        follow.observe(numbered[:, :1], numbered[:, 1:], transition)
        if t % asked == asked - 1:
            got = follow.labels()
            labels += list(zip(*got.input.T.tolist(), got.foot.tolist(), got.target, strict=True))
        contact.append(transition.feet.contact)
        place.append(transition.feet.position[..., :2])
        env.restart(transition.ended)

    expected = {}
    for world in range(n):
        for foot in range(2):
            for t in range(1, steps):  # before step 0 the base pose is not known yet
                landing = next((k for k in range(t, steps) if contact[k][world, foot]), None)
                if not contact[t][world, foot] and landing is not None and landing + 1 < steps:
                    expected[t, world, foot] = place[landing][world, foot]
    assert len(labels) == len(expected) > 5 * 70
    for t, world, foot, target in labels:
        position, yaw = pose[int(t)]
        truth = expected.pop((int(t), int(world), foot))
        torch.testing.assert_close(to_tile(target, position[int(world)], yaw[int(world)]), truth)
    assert not expected


def test_recorder_goes_on_from_its_saved_state():
    """Saved in mid-swing, the steps before the save still get their touchdown."""
    whole, first, second = recorder(1), recorder(1), recorder(1)
    expected = Script(SWING, landing=(0.9, 0.3)).play(whole)
    before = Script(SWING, landing=(0.9, 0.3), until=5).play(first)
    second.load_state_dict(first.state_dict())
    after = Script(SWING, landing=(0.9, 0.3), since=5).play(second)
    assert before == [] and len(after) == len(expected) == 5
    for mine, theirs in zip(after, expected, strict=True):
        assert mine[:2] == theirs[:2]
        torch.testing.assert_close(mine[2], theirs[2])
