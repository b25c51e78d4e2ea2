"""Whatever follows the protocol is trained, saved, resumed and evaluated; the loop knows when to end."""

from dataclasses import replace

import pytest
import torch
from numba import njit
from safetensors.torch import load_file
from test_ppo import learner
from test_runs import same_bits
from toy import ToyWalker
from toy_algorithm import HillClimber

from ssr.cli.train import run as command
from ssr.errors import UserError
from ssr.evaluation import subject
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.trials import run_trials
from ssr.learning import checkpoint, presets, registry, runner, small_checkpoint, ssr_state, worlds
from ssr.learning.config import TrainConfig, WorldsConfig
from ssr.learning.counters import Counters
from ssr.learning.run_directory import SMALL, RunDirectory, read_metrics
from ssr.learning.style import style_reward
from ssr.learning.trainer import Trainer
from ssr.physics import engines
from ssr.physics.mujoco_engine import MujocoSimulator
from ssr.physics.world import PhysicsConfig


@pytest.fixture
def climbing(monkeypatch) -> list[str]:
    """The hill climber under a name of its own, and how a user asks for it."""
    monkeypatch.setitem(registry.ALGORITHMS, "climber", "toy_algorithm")
    return ["--preset", "smoke", "--algorithm", "climber", "--env.num-envs", "4"]


def test_another_algorithm_is_trained_resumed_bit_for_bit_and_evaluated(climbing, tmp_path):
    straight, halved = tmp_path / "straight", tmp_path / "halved"
    command([*climbing, "--run.iterations", "4", "--run.snapshot-iterations", "2", "--run", str(straight)])
    command([*climbing, "--run.iterations", "2", "--run", str(halved)])
    command(["--resume", str(halved), "--run.iterations", "4"])
    ends = [load_file(checkpoint.choose(run) / "rank0.safetensors") for run in (straight, halved)]
    assert ends[0].keys() == ends[1].keys()
    assert [name for name in ends[0] if not same_bits(ends[0][name], ends[1][name])] == []
    rows = [[row["earned"] for row in read_metrics(run)] for run in (straight, halved)]
    assert rows[0] == rows[1] and len(rows[0]) == 4
    assert [row["progress"] for row in read_metrics(straight)] == [0.0, 0.25, 0.5, 0.75]

    newest = subject.load(str(straight))
    best = load_file(straight / "snapshots" / "000004.safetensors")
    assert newest.iteration == 4 and newest.imagine is None
    assert torch.equal(newest.policy.weights()["reflex.weight"], best["reflex.weight"])
    small = subject.load(str(halved / SMALL)).policy.weights()
    assert torch.equal(small["reflex.weight"], best["reflex.weight"])
    trials = run_trials(newest, Course.of("flat"), Conditions(seconds=0.2), 0, 2, chunk=2)
    assert trials.count == 2

    more = tmp_path / "more"
    command(["--continue", str(straight / SMALL), "--run", str(more), "--run.iterations", "1"])
    assert len(read_metrics(more)) == 1


def test_the_engine_of_a_configuration_simulates_training_and_trials(monkeypatch, tiny):
    """Worlds beside networks on another device stay on the CPU if their engine can nothing else."""
    asked = []

    def another(robot, num_envs, *, config, device, **rest):
        asked.append((config.engine, device))
        return MujocoSimulator(robot, num_envs, config=config, **rest)

    with pytest.raises(UserError, match=r"^Unknown physics engine: 'bullet'\. Known: mujoco, warp, auto\.$"):
        replace(tiny, env=replace(tiny.env, engine="bullet"))
    monkeypatch.setitem(engines.ENGINES, "bullet", ("cpu",))
    monkeypatch.setattr("ssr.task.env.make_simulator", another)
    monkeypatch.setattr("ssr.learning.worlds.device_of", lambda config: "meta")
    monkeypatch.setattr("ssr.learning.ssr.SSR", lambda **given: None)
    config = replace(presets.preset("smoke"), env=WorldsConfig(num_envs=1, engine="bullet"))
    worlds.make(config)
    tried = replace(subject.load("scripted:stand"), physics=PhysicsConfig(engine="bullet"))
    run_trials(tried, Course.of("flat"), Conditions(seconds=0.1), 0, 1, chunk=1)
    assert asked == [("bullet", "cpu")] * 2
    stress = Conditions(seconds=0.1, engine="warp")
    run_trials(tried, Course.of("flat"), stress, 0, 1, chunk=1)
    assert asked[2:] == [("warp", "cpu")] and stress.label == "engine-warp"


def test_an_unknown_algorithm_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"^Unknown algorithm: 'dreamer'\. Known: ssr") as caught:
        command(["--preset", "smoke", "--algorithm", "dreamer", "--run", str(tmp_path / "run")])
    assert "\n" not in str(caught.value) and not (tmp_path / "run").exists()


# ---- when a run ends ------------------------------------------------------------------------------------


class Patience:
    """Ends when `most` has not risen for some iterations; it remembers."""

    def __init__(self, iterations: int) -> None:
        self.iterations, self.most, self.waited, self.told = iterations, float("-inf"), 0, []

    def __call__(self, metrics):
        self.told.append(metrics["iteration"])
        self.waited = 0 if metrics["most"] > self.most else self.waited + 1
        self.most = max(self.most, metrics["most"])
        return f"no better for {self.waited} iterations" if self.waited >= self.iterations else None


def trainer_of(seed: int = 0) -> Trainer:
    torch.manual_seed(seed)
    env = ToyWalker(num_envs=4, seed=seed)
    return Trainer(env, HillClimber(env.robot, 4))


def config_of(iterations: int) -> TrainConfig:
    config = TrainConfig(preset="toy")
    return replace(config, run=replace(config.run, iterations=iterations, checkpoint_minutes=0.0))


def test_a_run_ends_when_it_is_finished_and_says_why(tmp_path):
    trainer, config = trainer_of(), config_of(100)
    run = RunDirectory.create(tmp_path / "run", config)
    ending = trainer.train(run, config, Patience(3))
    assert ending.reason == "no better for 3 iterations" and not ending.interrupted
    most = [row["most"] for row in read_metrics(run.path)]
    assert len(most) == trainer.iteration < 100 and most[-4] == most[-1]
    assert checkpoint.load(checkpoint.choose(run.path))[0] == trainer.iteration, "it is saved"

    again = trainer_of(seed=1)
    again.load_state_dict(checkpoint.load(checkpoint.choose(run.path))[1])
    assert again.train(run, config, Patience(3)) == ending, "a finished run does not go on"
    assert len(read_metrics(run.path)) == trainer.iteration


def test_what_finishes_a_run_remembers_across_a_resume(tmp_path):
    config, reason = config_of(100), []
    for name, first in (("straight", None), ("resumed", 4)):
        run = RunDirectory.create(tmp_path / name, config)
        trainer = trainer_of()
        if first is not None:
            trainer.train(run, config_of(first), Patience(3))
            assert trainer.iteration == first
            trainer = trainer_of(seed=1)
            trainer.load_state_dict(checkpoint.load(checkpoint.choose(run.path))[1])
        patience = Patience(3)
        reason.append((trainer.train(run, config, patience), trainer.iteration))
        assert patience.told == list(range(1, trainer.iteration + 1))
    assert reason[0] == reason[1] and reason[0][1] > 4


def test_the_limit_ends_a_run_too(tmp_path):
    config = config_of(2)
    run = RunDirectory.create(tmp_path / "run", config)
    assert trainer_of().train(run, config).reason == "all 2 iterations are done"


def test_a_kernel_that_is_compiled_in_an_iteration_does_not_count_in_its_rate(tmp_path):
    config, trainer = config_of(2), trainer_of()
    run = RunDirectory.create(tmp_path / "run", config)
    kernel, step = njit(lambda x: x + 1.0), trainer.env.step
    trainer.env.step = lambda action: step(action * kernel(0.0))
    trainer.train(run, config)
    steps = trainer.total_steps / 2
    shares = [steps / row["steps_per_second"] / row["iteration_seconds"] for row in read_metrics(run.path)]
    assert shares[0] < 0.99, "the rate is that of the time in which nothing was compiled"
    assert shares[1] == pytest.approx(1.0, abs=1e-4)


# ---- how a run begins -----------------------------------------------------------------------------------


def test_frozen_networks_stay_bit_for_bit_while_others_learn(tiny):
    env, algorithm = learner(tiny)
    trainer = Trainer(env, algorithm)
    trainer.iterate()  # gives moments, which must not move them either
    algorithm.freeze(("encoder", "decoders", "estimator", "actor"))
    before = {k: v.clone() for k, v in algorithm.networks.state_dict().items()}
    trainer.iterate()
    changed = {k.split(".")[0] for k, v in algorithm.networks.state_dict().items() if not v.equal(before[k])}
    assert changed == {"critics", "discriminators", "imagination"}
    algorithm.freeze(())
    trainer.iterate()
    after = algorithm.networks.state_dict()
    assert not after["actor.std"].equal(before["actor.std"])
    with pytest.raises(UserError, match=r"Unknown network to freeze: 'eyes'\. Known: encoder, decoders"):
        algorithm.freeze(("eyes",))


def test_frozen_discriminators_keep_the_scale_of_their_motion(tiny):
    env, algorithm = learner(tiny)
    trainer = Trainer(env, algorithm)
    trainer.iterate()
    algorithm.freeze(("discriminators",))
    scale = algorithm.style.normalizer.mean.clone()
    trainer.iterate()
    assert torch.equal(algorithm.style.normalizer.mean, scale)
    algorithm.freeze(())
    trainer.iterate()
    assert not torch.equal(algorithm.style.normalizer.mean, scale)


def test_what_a_policy_was_paid_for_style_can_be_said_of_whatever_was_saved(tiny, tmp_path):
    env, algorithm = learner(tiny)
    trainer = Trainer(env, algorithm)
    trainer.iterate()
    run = RunDirectory.create(tmp_path / "run", tiny)
    run.snapshot(algorithm.policy(), 1, tiny)
    path = tmp_path / SMALL
    small_checkpoint.save(path, algorithm, tiny, Counters(iteration=1), trainer.levels())
    windows, terrain = torch.randn(6, 5, algorithm.vectors.amp.size), torch.tensor([0, 1, 2, 3, 4, 1])
    style = algorithm.style
    with torch.no_grad():
        paid = style_reward(algorithm.networks.discriminators.score(style._normalized(windows), terrain))
    for saved in (run.path, path):
        assert torch.equal(subject.load(str(saved)).style_judge.pay(windows, terrain), paid)


@pytest.mark.parametrize("moments", [True, False])
def test_a_start_from_a_small_checkpoint_keeps_or_forgets_moments(tiny, tmp_path, moments):
    env, algorithm = learner(tiny)
    trainer = Trainer(env, algorithm)
    trainer.iterate()
    path = tmp_path / SMALL
    small_checkpoint.save(path, algorithm, tiny, Counters(iteration=1), trainer.levels())
    _, other = learner(tiny, seed=1)
    fresh = {name: o.state_dict() for name, o in ssr_state.optimizers(other).items()}
    small_checkpoint.restore(other, small_checkpoint.load(path)[2], path, moments=moments)
    assert torch.equal(other.networks.actor.std, algorithm.networks.actor.std)
    for name, optimizer in ssr_state.optimizers(other).items():
        state = optimizer.state_dict()
        assert bool(state["square"].any()) == moments, name
        if not moments:
            assert state["learning_rate"] == fresh[name]["learning_rate"]


def test_every_rank_gets_frozen_networks_and_an_ending(climbing, tmp_path):
    """The whole of one rank's work, as a stage of several would call it."""
    path = tmp_path / "run"
    config = replace(config_of(3), algorithm="climber", env=replace(config_of(3).env, num_envs=2), ranks=1)
    run = RunDirectory.create(path, config)
    leg = runner.Leg(name="rest", steps=100, frozen=("reflex",), finished=lambda metrics: "enough")
    ending, counters = runner.launch(config, runner.train, run.path, config, runner.Origin(), leg)
    assert ending.reason == "enough" and len(read_metrics(path)) == counters.iteration == 1
    with pytest.raises(UserError, match="Unknown network to freeze"):
        runner.launch(config, runner.train, path, config, runner.Origin(), replace(leg, frozen=("eyes",)))


def test_the_encoder_learns_alone_from_walks_of_a_frozen_policy(tiny):
    """A stage that freezes everything else spends nothing on it, and its metrics say so."""
    env, algorithm = learner(tiny)
    algorithm.freeze(("actor", "critics", "discriminators", "imagination"))
    before = {k: v.clone() for k, v in algorithm.networks.state_dict().items()}
    metrics = Trainer(env, algorithm).iterate()
    changed = {k.split(".")[0] for k, v in algorithm.networks.state_dict().items() if not v.equal(before[k])}
    assert changed == {"encoder", "decoders", "estimator"}
    assert "encoder/base_map" in metrics and "kl" not in metrics and "discriminator_loss" not in metrics
