"""The task as a whole: repeatable, mirror-symmetric, robust, and its curriculum follows the rule."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
import torch

from ssr.errors import UserError
from ssr.physics.world import PhysicsConfig
from ssr.robots import load
from ssr.symmetry.layout import POLAR, apply
from ssr.task.commands import ZERO_THRESHOLD
from ssr.task.config import (
    BootstrapConfig,
    CommandConfig,
    RandomizationConfig,
    RewardConfig,
    TaskConfig,
    TerminationConfig,
    TerrainConfig,
)
from ssr.task.env import TraversalEnv
from ssr.task.payment import weights_of
from ssr.task.rewards import ROWS
from ssr.vision.camera import CameraConfig


def make(
    count: int, *, seed: int = 0, threads: int = 1, config: TaskConfig | None = None, **kwargs
) -> TraversalEnv:
    return TraversalEnv(load("x2"), count, config, seed=seed, threads=threads, **kwargs)


def roll(env: TraversalEnv, steps: int, scale: float = 0.4, seed: int = 1) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    seen = []
    for _ in range(steps):
        transition = env.step(scale * torch.randn(env.num_envs, env.layouts.action.size, generator=generator))
        observation = env.restart(transition.ended)
        seen += [transition.reward, observation.history.clone(), observation.privileged.clone()]
    return seen


def test_same_seed_same_trajectory_at_any_thread_count() -> None:
    runs = []
    for threads in (1, 2):
        env = make(20, threads=threads, camera=CameraConfig(period=5))
        env.reset()
        runs.append(roll(env, 40))
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))


def test_saved_and_loaded_it_goes_on_bit_for_bit() -> None:
    one, other = (make(20, camera=CameraConfig(period=5)) for _ in range(2))
    one.reset()
    other.reset()
    roll(one, 30)
    other.load_state_dict(one.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(roll(one, 30, seed=2), roll(other, 30, seed=2), strict=True))


def test_shapes_and_dimensions() -> None:
    env = make(6)
    observation = env.reset()
    assert observation.history.shape == (6, 10, 72)
    assert observation.privileged.shape == (6, 375)
    transition = env.step(torch.zeros(6, 21))
    assert transition.amp_frame.shape == (6, 63)
    assert transition.proprioception.shape == (6, 72)


def mirror_into(one: TraversalEnv, other: TraversalEnv, tiles: list) -> None:
    """Put `other` into the mirror image of `one`, which stands on `tiles`."""
    ids = torch.arange(one.num_envs)
    robot = one.robot
    other.place(ids, [tile.mirrored() for tile in tiles])
    other.commands.load_state_dict(one.commands.state_dict())
    other.commands.heading.neg_()
    other.commands.free.mul_(torch.tensor([1.0, -1.0, -1.0]))
    other.randomize(ids, one.dynamics.mirrored(robot, one.simulator.body_mirror))
    other.delay.copy_(one.delay)
    other.steps_to_push.fill_(1000)
    one.steps_to_push.fill_(1000)


@pytest.mark.parametrize("name", ["x2", "dr02", "g1"])
def test_mirrored_worlds_see_mirrored_things_and_earn_the_same(name: str) -> None:
    config = TaskConfig(noise=0.0)
    camera = CameraConfig(period=1)
    one, other = (TraversalEnv(load(name), 20, config, seed=0, threads=1, camera=camera) for _ in range(2))
    one.progress.level.copy_(torch.arange(20))
    one.reset()
    other.reset()
    other.progress.level.copy_(one.progress.level)
    generator = torch.Generator().manual_seed(4)
    tiles = one.bank.draw(torch.arange(20), one.levels, generator)
    one.place(torch.arange(20), tiles)
    mirror_into(one, other, tiles)
    pose = one._start_pose(torch.arange(20))
    one.start(torch.arange(20), pose)
    other.start(torch.arange(20), pose.mirrored(one.robot))
    other.camera.set_offsets(one.camera.offsets.mirrored())
    layouts = one.layouts
    for _ in range(10):
        action = 0.5 * torch.randn(20, len(one.robot.joints), generator=generator)
        a, b = one.step(action), other.step(layouts.action.mirror(action))
        for row in a.terms:
            assert torch.allclose(a.terms[row], b.terms[row], atol=1e-5), row
        assert torch.allclose(layouts.privileged.mirror(a.privileged), b.privileged, atol=1e-5)
        assert torch.allclose(layouts.proprioception.mirror(a.proprioception), b.proprioception, atol=1e-5)
        assert torch.allclose(layouts.amp.mirror(a.amp_frame), b.amp_frame, atol=1e-5)
        assert torch.allclose(apply(POLAR, a.base_position), b.base_position, atol=1e-5)
        assert torch.equal(a.terminated, b.terminated)
        nobody = torch.zeros(20, dtype=torch.bool)
        seen, mirrored = one.restart(nobody), other.restart(nobody)
        same = (seen.depth.flip(-1) - mirrored.depth).abs() < 1e-4
        assert same.float().mean() > 0.999


def test_first_reset_moves_no_level_and_later_ones_follow_the_rule() -> None:
    config = TaskConfig(terrain=TerrainConfig(kinds=("flat",), first_level=5))
    env = make(4, config=config)
    env.reset()
    assert env.levels.tolist() == [5, 5, 5, 5]
    progress = env.progress
    progress.crossed[0] = True  # promoted
    progress.commanded[1], progress.covered[1] = 4.0, 1.0  # too slow: demoted
    progress.commanded[2], progress.covered[2] = 0.9, 0.0  # asked for too little to judge
    progress.commanded[3], progress.covered[3] = 4.0, 2.5  # fast enough
    env.restart(torch.ones(4, dtype=torch.bool))
    assert env.levels.tolist() == [6, 4, 5, 5]


@pytest.mark.parametrize(("kind", "falls_demote", "after"), [
    ("gap", False, 5), ("gap", True, 4), ("slope", True, 4)
])  # fmt: skip
def test_falls_may_cost_a_level(kind: str, falls_demote: bool, after: int) -> None:
    terrain = TerrainConfig(kinds=(kind,), first_level=5, falls_demote=falls_demote)
    env = make(2, config=TaskConfig(terrain=terrain))
    env.reset()
    env.progress.crossed[1] = True  # fell behind the last obstacle: promoted all the same
    env.commands.direction.fill_(1.0)
    env.progress.commanded.fill_(2.0)
    env.progress.start_x -= 2.0  # all of the way asked for was done
    env.simulator.qpos[:, 3:7] = torch.tensor([0.0, 1.0, 0.0, 0.0])  # upside down
    transition = env.step(torch.zeros(2, 21))
    assert transition.terminated.all()
    env.restart(transition.ended)
    assert env.levels.tolist() == [after, 6]
    env.restart(transition.ended)  # what has been judged is not judged again
    assert env.levels.tolist() == [after, 6]


def test_who_tumbles_over_a_tile_loses_a_level() -> None:
    terrain = TerrainConfig(kinds=("stairs_down",), first_level=5, falls_demote=True)
    env = make(3, config=TaskConfig(terrain=terrain))
    env.reset()
    env.commands.direction.fill_(1.0)
    env.progress.commanded.fill_(4.0)
    for world, came in enumerate((4.0, 5.0, 5.5)):  # m, of the 4 that were asked for
        env.simulator.qpos[world, 0] = 7.0
        env.progress.start_x[world] = 7.0 - came
    assert not env.step(torch.zeros(3, 21)).terminated.any()
    env.restart(torch.ones(3, dtype=torch.bool))
    assert env.levels.tolist() == [6, 6, 4]


def test_a_fall_at_the_very_start_costs_nothing() -> None:
    env = make(1, config=TaskConfig(terrain=TerrainConfig(kinds=("gap",), first_level=5, falls_demote=True)))
    env.reset()
    env.simulator.qpos[:, 3:7] = torch.tensor([0.0, 1.0, 0.0, 0.0])
    env.restart(env.step(torch.zeros(1, 21)).ended)
    assert env.levels.tolist() == [5]


def test_leaving_a_crossed_tile_is_a_time_out_and_promotes() -> None:
    env = make(2, config=TaskConfig(terrain=TerrainConfig(kinds=("platform",))))
    env.reset()
    env.simulator.qpos[0, 0] = 8.2
    transition = env.step(torch.zeros(2, 21))
    assert transition.truncated.tolist() == [True, False]
    assert transition.terminated.tolist() == [False, False]
    env.restart(transition.ended)
    assert env.levels.tolist() == [1, 0]


@pytest.mark.parametrize(("kind", "level", "x", "over"), [
    ("platform", 3, 6.1, True), ("platform", 3, 2.0, False), ("platform", 19, 6.1, False),
    ("slope", 3, 7.4, False),
])  # fmt: skip
def test_a_tile_may_end_where_its_obstacles_do(kind: str, level: int, x: float, over: bool) -> None:
    """Half a metre past the last edge, 5.5 m at most; but the hardest tile leads on to the apron, and slopes
    have no edge before the far end."""
    terrain = TerrainConfig(kinds=(kind,), first_level=level)
    for once_crossed in (False, True):
        config = TaskConfig(terrain=terrain, termination=TerminationConfig(once_crossed=once_crossed))
        env = make(1, config=config)
        env.reset()
        env.commands.direction.fill_(1.0)
        env.simulator.qpos[0, 0] = x
        env.simulator.qpos[0, 2] += 1.0  # above any ground there
        transition = env.step(torch.zeros(1, 21))
        assert bool(transition.truncated[0]) == (over and once_crossed)
        assert not transition.terminated[0]
        env.restart(transition.ended)
        assert env.levels.tolist() == [level + (over and once_crossed)]


def test_behind_the_hardest_tile_any_direction_may_be_asked_for() -> None:
    env = make(2, config=TaskConfig(terrain=TerrainConfig(kinds=("platform",), first_level=19)))
    env.reset()
    env.simulator.qpos[0, 0] = 9.0
    transition = env.step(torch.zeros(2, 21))
    assert transition.omnidirectional.tolist() == [True, False]
    assert not transition.ended[0]
    env.commands.still.fill_(False)
    env.commands.free[0] = torch.tensor([0.1, -0.3, 1.1])
    middle = np.zeros(2, np.float32)
    asked = env.commands.current(middle, middle, env.progress.omnidirectional)
    assert np.allclose(asked[0], [0.1, -0.3, 1.1])


@pytest.mark.parametrize(
    ("kind", "index", "value"),
    [("flat", 1, 2.1), ("gap", 2, 0.2), ("platform", 0, -1.5)],
    ids=["beside the tile", "a foot in the gap", "back behind the start"],
)
def test_terminations(kind: str, index: int, value: float) -> None:
    env = make(2, config=TaskConfig(terrain=TerrainConfig(kinds=(kind,), first_level=19)))
    env.reset()
    if kind == "gap":
        env.simulator.qpos[0, 0] = (env.field.first_edge[0] + 0.3).item()
    env.simulator.qpos[0, index] = value
    assert env.step(torch.zeros(2, 21)).terminated.tolist() == [True, False]


def test_a_fallen_robot_and_an_old_episode_end() -> None:
    env = make(3, config=TaskConfig(terrain=TerrainConfig(kinds=("flat",))))
    env.reset()
    env.simulator.qpos[0, 3:7] = [np.cos(0.6), 0.0, np.sin(0.6), 0.0]
    env.progress.steps[1] = 999
    transition = env.step(torch.zeros(3, 21))
    assert transition.terminated.tolist() == [True, False, False]
    assert transition.truncated.tolist() == [False, True, False]


def test_actions_arrive_late_by_the_drawn_delay() -> None:
    env = make(3)
    env.reset()
    env.delay.copy_(torch.tensor([0, 1, 2]))
    targets = []
    for step in range(4):
        env.step(torch.full((3, 21), float(step + 1)))
        targets.append(
            (env.simulator.ctrl[:, 0] - env.robot.values("default")[0]) / env.robot.values("action_scale")[0]
        )
    assert np.allclose(np.stack(targets).T, [[1, 2, 3, 4], [0, 1, 2, 3], [0, 0, 1, 2]], atol=1e-5)


def test_pushes_change_the_base_velocity_every_twelve_seconds() -> None:
    env = make(2)
    env.reset()
    env.steps_to_push.copy_(torch.tensor([1, 100]))
    before = env.simulator.qvel[:, :2].copy()
    env._push()
    moved = np.abs(env.simulator.qvel[:, :2] - before).max(1)
    assert 0.0 < moved[0] <= 0.4 and moved[1] == 0.0
    assert env.steps_to_push.tolist() == [600, 99]


def test_a_poisoned_world_is_masked_restarted_and_counted() -> None:
    healthy, poisoned = make(5), make(5)
    healthy.reset()
    poisoned.reset()
    poisoned.simulator.qvel[2, 3] = np.nan
    action = torch.zeros(5, 21)
    a, b = healthy.step(action), poisoned.step(action)
    others = torch.tensor([0, 1, 3, 4])
    assert b.valid.tolist() == [True, True, False, True, True]
    assert b.terminated[2] and b.reward[2] == 0.0
    for field in fields(a):
        value = getattr(b, field.name)
        if isinstance(value, torch.Tensor):
            assert torch.isfinite(value.float()).all(), field.name
            assert torch.equal(getattr(a, field.name)[others], value[others]), field.name
    poisoned.restart(b.ended)
    assert poisoned.bad_worlds == 1
    assert bool(poisoned.step(action).valid.all())


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_an_action_that_is_not_finite_is_not_done_and_costs_no_other_world_a_bit(number: float) -> None:
    healthy, poisoned = make(5), make(5)
    healthy.reset()
    poisoned.reset()
    action = torch.full((5, 21), 0.1)
    hostile = action.clone()
    hostile[2, 7] = number
    a, b = healthy.step(action), poisoned.step(hostile)
    others = torch.tensor([0, 1, 3, 4])
    assert b.valid.tolist() == [True, True, False, True, True] and poisoned.bad_actions == 1
    assert b.terminated[2] and b.reward[2] == 0.0
    for field in fields(a):
        value = getattr(b, field.name)
        if isinstance(value, torch.Tensor):
            assert torch.isfinite(value.float()).all(), field.name
            assert torch.equal(getattr(a, field.name)[others], value[others]), field.name
    observation = poisoned.restart(b.ended)
    assert all(torch.isfinite(value.float()).all() for value in vars(observation).values())
    assert bool(poisoned.step(action).valid.all())


def test_random_actions_on_the_hardest_levels_never_leave_a_bad_number() -> None:
    """20,000 world-steps of violent actions."""
    env = make(100, config=TaskConfig(terrain=TerrainConfig(first_level=19)), camera=CameraConfig(period=5))
    env.reset()
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        transition = env.step(3.0 * torch.randn(100, 21, generator=generator))
        observation = env.restart(transition.ended)
        for value in (transition.reward, transition.amp_frame, *vars(observation).values()):
            assert torch.isfinite(value.float()).all()


def test_observations_belong_to_the_caller() -> None:
    env = make(2)
    observation = env.reset()
    kept = observation.history.clone()
    roll(env, 3)
    assert torch.equal(observation.history, kept)


def test_noise_is_on_the_policys_proprioception_only() -> None:
    env = make(50)
    observation = env.reset()
    clean = env.layouts.privileged.size - 303
    newest = observation.history[:, -1]
    parts = env.layouts.proprioception
    difference = (newest - observation.privileged[:, :clean]).abs()
    assert parts.get(difference, "joint_velocity").max() <= 1.0 * 0.1 + 1e-6
    assert parts.get(difference, "joint_velocity").max() > 0.05
    assert parts.get(difference, "command").max() == 0.0


def test_a_beginner_is_asked_to_walk_briskly_straight_ahead() -> None:
    env = make(200, config=TaskConfig(terrain=TerrainConfig(kinds=("slope",))))
    env.set_ramp(0.0)
    env.reset()
    assert env.commands.speed.min() >= 0.4 and env.commands.heading.abs().max() <= 0.4 * 1.4
    assert not env.commands.still.any()
    env.set_ramp(0.34)  # commands are broad long before randomization is
    env.reset()
    assert env.commands.speed.min() < -0.9 and env.commands.heading.abs().max() > 1.3
    assert 0.1 < env.commands.still.float().mean() < 0.3


def test_some_episodes_roam_the_apron_and_end_for_standing_still() -> None:
    """On slopes alone; who is asked to go sideways for a metre and stands is stopped, who turns is not."""
    lasting = BootstrapConfig(lasting_progress=0.5, stall_distance=0.4)
    commands = CommandConfig(roaming_fraction=1.0, zero_fraction=0.0)
    kinds = TerrainConfig(kinds=("flat", "gap"))
    env = make(4, config=TaskConfig(bootstrap=lasting, commands=commands, terrain=kinds))
    env.set_bootstrap(0.0)
    env.reset()
    assert env.progress.omnidirectional.tolist() == [True, False] * 2
    assert torch.equal(env.progress.start_x > env.field.length, env.progress.omnidirectional)
    env.commands.free[0] = torch.tensor([0.0, 0.4, 0.0])
    env.commands.free[2] = torch.tensor([0.0, 0.0, 0.8])
    still = torch.zeros(4, env.layouts.action.size)
    ended = torch.zeros(4, dtype=torch.bool)
    for _ in range(60):  # 1.2 s at 0.4 m/s: 0.48 m asked for
        ended |= env.step(still).terminated
    assert ended[0] and not ended[2]


def test_some_commands_ask_for_one_thing_alone() -> None:
    commands = CommandConfig(roaming_fraction=1.0, alone_fraction=0.5, zero_fraction=0.0)
    terrain = TerrainConfig(kinds=("flat",))
    env = make(400, config=TaskConfig(commands=commands, terrain=terrain, reference_starts=0.0))
    env.reset()
    asked = (env.commands.free != 0.0).int() @ torch.tensor([1, 2, 4], dtype=torch.int32)
    shares = torch.bincount(asked, minlength=8) / 400
    for ways in (1, 2, 3, 4):  # ahead or back, aside, obliquely, a turn
        assert 0.07 < shares[ways] < 0.18
    assert 0.4 < shares[7] < 0.6 and shares[[0, 5, 6]].sum() == 0.0
    alone = asked < 7
    assert (env.commands.free[alone].norm(dim=1) > ZERO_THRESHOLD).all(), "none of them asks to stand"


def test_lasting_progress_is_all_that_stays_beyond_table_6() -> None:
    paid = lambda **weights: weights_of(RewardConfig(), BootstrapConfig(**weights), 0.0).values
    beyond = np.flatnonzero(paid(progress=2.0, imitation=3.0, lasting_progress=0.5) != paid())
    assert [list(ROWS)[k] for k in beyond] == ["progress"]
    assert np.isclose(paid(lasting_progress=0.5)[beyond], 0.5)


def test_worlds_that_begin_in_motion_are_asked_to_go_on() -> None:
    env = make(3, config=TaskConfig(terrain=TerrainConfig(kinds=("slope", "gap", "gap"))))
    env.reset()
    env.commands.follow(torch.arange(3), torch.tensor([-0.7, 1.5, -0.5]), env.field.type)
    assert torch.allclose(env.commands.speed[:2], torch.tensor([-0.7, 1.2]))
    assert env.commands.direction[:2].tolist() == [-1.0, 1.0]
    assert env.commands.speed[2] >= 0.0, "a gap is never walked backwards"


def test_fast_episodes_ask_for_nothing_but_a_fast_walk_straight_on() -> None:
    commands = CommandConfig(fast_fraction=0.5)
    env = make(400, config=TaskConfig(commands=commands, terrain=TerrainConfig(kinds=("slope", "gap"))))
    env.reset()
    fast, speed, asked = env.commands.fast, env.commands.speed, env.commands
    assert 0.4 < fast.float().mean() < 0.6
    top = torch.where(env.field.type == env.field.type[0], 1.0, 1.2)
    widest = torch.where(env.field.type == env.field.type[0], 80.0, 15.0).deg2rad()
    for _ in range(2):
        assert (speed[fast] >= 0.75 * top[fast]).all() and (speed[fast] <= top[fast]).all()
        assert (asked.heading[fast].abs() <= 0.2 * widest[fast]).all() and not asked.still[fast].any()
        asked.resample(torch.arange(400), env.field.type)
    assert speed.min() < -0.9 and asked.heading[~fast].abs().max() > 1.3, "all others are of Table 4"
    drawn = speed.clone()
    asked.follow(torch.arange(400), torch.full((400,), 0.3), env.field.type)
    assert torch.equal(speed[fast], drawn[fast]) and (speed[~fast] == 0.3).all()
    env.set_ramp(0.0)
    env.reset()
    assert not fast.any(), "beginners have enough to do"


def test_worlds_may_keep_their_delays() -> None:
    """Every kind has every delay, and a world has the same one in every episode."""
    luck, kinds = RandomizationConfig(delays_in_turn=(0, 2, 2)), TerrainConfig(kinds=("slope", "gap"))
    env = make(12, config=TaskConfig(randomization=luck, terrain=kinds))
    env.reset()
    assert env.delay.tolist() == [0, 2, 2, 2, 2, 0] * 2
    env.restart(torch.arange(12) % 5 == 0)
    assert env.delay.tolist() == [0, 2, 2, 2, 2, 0] * 2
    env.set_ramp(0.7)
    env.reset()
    assert env.delay.tolist() == [0, 1, 1, 1, 1, 0] * 2, "beginners have short delays"


def test_delays_in_turn_are_delays() -> None:
    with pytest.raises(UserError, match="holds 3: expected 0 to 2"):
        RandomizationConfig(delays_in_turn=(0, 3))


def test_a_new_command_is_seen_before_it_counts() -> None:
    env = make(4, config=TaskConfig(terrain=TerrainConfig(kinds=("flat",)), noise=0.0))
    env.reset()
    env.commands.steps_left.fill_(1)
    transition = env.step(torch.zeros(4, 21))
    seen = env.restart(transition.ended)
    parts = env.layouts.proprioception
    yaw, lateral = transition.base_yaw.numpy(), transition.base_position[:, 1].numpy()
    asked = torch.from_numpy(env.commands.current(yaw, lateral, env.progress.omnidirectional))
    scale = 2.0
    assert torch.allclose(parts.get(seen.history[:, -1], "command"), asked * scale, atol=1e-5)
    assert torch.allclose(parts.get(transition.privileged[:, :72], "command"), asked * scale, atol=1e-5)


def test_walking_off_the_apron_as_told_is_no_failure() -> None:
    env = make(2, config=TaskConfig(terrain=TerrainConfig(kinds=("platform",), first_level=19)))
    env.reset()
    env.simulator.qpos[0, 0] = 9.0
    env.step(torch.zeros(2, 21))
    env.simulator.qpos[0, 1] = 4.2
    transition = env.step(torch.zeros(2, 21))
    assert transition.truncated.tolist() == [True, False] and not transition.terminated.any()


def test_clocks_that_do_not_match_are_refused_in_one_line() -> None:
    with pytest.raises(UserError, match=r"expected a multiple of 0\.003 s") as error:
        make(1, physics=PhysicsConfig(timestep=0.003))
    assert len(str(error.value).splitlines()) == 1


def test_who_restarts_leaves_what_others_see_and_what_was_reported_as_it_was() -> None:
    env = make(6)
    env.reset()
    transition = env.step(torch.zeros(6, 21))
    reported, contact = transition.privileged.clone(), transition.feet.contact.clone()
    ended = torch.tensor([False, True, False, False, True, False])
    seen = env.restart(ended)
    assert torch.equal(transition.privileged, reported) and torch.equal(transition.feet.contact, contact)
    assert torch.equal(seen.privileged[~ended], reported[~ended])
    assert not torch.isclose(seen.privileged[ended], reported[ended]).all(-1).any()


def _copies(report: object) -> dict[str, torch.Tensor]:
    """Every tensor of a transition or observation, copied, by its place."""
    found: dict[str, torch.Tensor] = {}
    for f in fields(report):  # type: ignore[arg-type]
        value = getattr(report, f.name)
        if isinstance(value, torch.Tensor):
            found[f.name] = value.clone()
        elif isinstance(value, Mapping):
            found |= {f"{f.name}.{k}": v.clone() for k, v in value.items()}
        elif is_dataclass(value):
            found |= {f"{f.name}.{k}": v for k, v in _copies(value).items()}
    return found


def test_what_was_reported_stays_as_it_was() -> None:
    env = make(4)
    seen = env.reset()
    transition = env.step(0.3 * torch.randn(4, 21))
    before = [_copies(seen), _copies(transition)]
    for _ in range(3):
        env.restart(torch.tensor([True, False, False, True]))
        env.step(0.3 * torch.randn(4, 21))
    for old, new in zip(before, [_copies(seen), _copies(transition)], strict=True):
        assert old and [k for k in old if not torch.equal(old[k], new[k])] == []


@pytest.mark.parametrize("wrong", [{"kinds": ("lava",)}, {"kinds": ()}, {"first_level": 25}])
def test_impossible_terrain_is_refused_in_one_line(wrong: dict) -> None:
    with pytest.raises(UserError) as error:
        TerrainConfig(**wrong)
    assert len(str(error.value).splitlines()) == 1


def test_standing_still_ends_an_episode_only_while_the_bootstrap_lasts() -> None:
    base = TaskConfig(terrain=TerrainConfig(kinds=("flat",)))
    config = replace(base, bootstrap=replace(base.bootstrap, stall_distance=1.0))
    env = make(3, config=config)
    env.reset()
    env.progress.commanded.copy_(torch.tensor([2.0, 0.5, 2.0]))
    env.progress.start_x[2] -= 0.6 * env.commands.direction[2]
    assert env.step(torch.zeros(3, 21)).terminated.tolist() == [True, False, False]
    env.progress.commanded[2] += 1.5
    assert env.step(torch.zeros(3, 21)).terminated[2], "what was covered before excuses no standing"
    env.set_bootstrap(0.0)
    assert not env.step(torch.zeros(3, 21)).terminated.any()


def test_bootstrap_terms_fade_to_table_6() -> None:
    base = TaskConfig()
    config = replace(base, bootstrap=replace(base.bootstrap, progress=1.0, stepping=1.0, posture_relief=0.6))
    env = make(4, config=config)
    env.reset()
    full = env.step(torch.zeros(4, 21)).terms
    assert "progress" in full
    env.set_bootstrap(0.0)
    assert set(env.step(torch.zeros(4, 21)).terms) == set(full) - {"progress", "stepping"}


def test_the_task_is_the_same_in_every_engine() -> None:
    """One step from the same start: the engines differ in digits, the task in nothing."""
    rows, actions = {}, 0.2 * torch.randn(6, 21, generator=torch.Generator().manual_seed(0))
    for engine in ("mujoco", "warp"):
        env = make(6, seed=3, physics=PhysicsConfig(engine=engine))
        env.reset()
        transition = env.step(actions)
        seen = env.restart(torch.tensor([True, False] * 3))
        rows[engine] = (transition.reward, transition.privileged, seen.history, seen.privileged)
    for one, other in zip(rows["mujoco"], rows["warp"], strict=True):
        assert torch.allclose(one, other, atol=2e-3)


@pytest.mark.parametrize("kind", ["stairs_up", "stairs_down", "gap", "platform"])
def test_some_episodes_begin_among_the_obstacles_with_half_of_them_ahead(kind: str) -> None:
    terrain = TerrainConfig(kinds=(kind,), first_level=12, midway_starts=0.5)
    env = make(64, config=TaskConfig(terrain=terrain, reference_starts=0.0))
    env.reset()
    x, field = env.simulator.state().base_position[:, 0], env.field
    among = x > field.start + 1e-3
    assert 0.2 < among.float().mean() < 0.7
    assert len(x[among].unique()) == int(among.sum())
    assert (x <= (field.first_edge + field.last_edge) / 2 + 1e-3).all()
    env.step(torch.zeros(64, len(env.robot.joints)))
    assert env.simulator.state().sole_position[..., 2].min() > (-0.1 if kind == "gap" else -2.0)


@pytest.mark.parametrize("how", ["midway", "roaming"])
def test_who_does_not_begin_at_the_start_is_neither_promoted_nor_demoted(how: str) -> None:
    kind = "stairs_up" if how == "midway" else "slope"
    terrain = TerrainConfig(kinds=(kind,), first_level=19, midway_starts=float(how == "midway"))
    commands = CommandConfig(roaming_fraction=float(how == "roaming"))
    env = make(32, config=TaskConfig(terrain=terrain, commands=commands, reference_starts=0.0))
    env.reset()
    elsewhere = env.simulator.state().base_position[:, 0] > env.field.start + 0.1
    assert elsewhere.float().mean() > 0.8
    env.simulator.qpos[:, 0] = env.field.length + 0.2
    env.step(torch.zeros(32, len(env.robot.joints)))
    assert env.progress.crossed.all() and not env.reached_top[elsewhere].any()
    assert env.reached_top[~elsewhere].all()
    env.restart(torch.ones(32, dtype=torch.bool))
    assert (env.levels[elsewhere] == 19).all()
