"""What every baseline must be able to do."""

from __future__ import annotations

from safetensors.torch import load_file

from ssr.cli.train import run as command
from ssr.evaluation import subject
from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import Course
from ssr.evaluation.trials import run_trials
from ssr.learning import checkpoint, metric_names
from ssr.learning.run_directory import SMALL, read_metrics


def collect(env, algorithm, observation=None):
    """One rollout in the toy's worlds; what is seen after it."""
    observation = env.reset() if observation is None else observation
    for _ in range(algorithm.steps):
        transition = env.step(algorithm.act(observation))
        algorithm.observe(transition)
        observation = env.restart(transition.ended)
    return observation


def trained_twice(folder, algorithm, options):
    """A run of three iterations in real worlds, and that it is the same with a stop in between."""
    straight, halved = folder / "straight", folder / "halved"
    asked = ["--preset", "smoke", "--algorithm", algorithm, "--env.num-envs", "4", *options]
    command([*asked, "--run.iterations", "3", "--run.snapshot-iterations", "3", "--run", str(straight)])
    command([*asked, "--run.iterations", "2", "--run", str(halved)])
    command(["--resume", str(halved), "--run.iterations", "3"])
    ends = [load_file(checkpoint.choose(run) / "rank0.safetensors") for run in (straight, halved)]
    assert ends[0].keys() == ends[1].keys()
    assert [name for name in ends[0] if not ends[0][name].equal(ends[1][name])] == []
    expected = metric_names.measured(subject.saved.load(straight).config)
    for row in read_metrics(straight):
        assert row.keys() <= expected.keys() <= metric_names.metrics().keys()
        assert not [name for name in row if "style" in name or "foothold_rmse" in name]
    newest, small = subject.load(str(straight)), subject.load(str(straight / SMALL))
    assert newest.digest == small.digest and newest.iteration == 3
    trials = run_trials(newest, Course.of("stairs_up", 0.1, 0.3), Conditions(seconds=0.2), 0, 2, chunk=2)
    again = run_trials(small, Course.of("stairs_up", 0.1, 0.3), Conditions(seconds=0.2), 0, 2, chunk=2)
    assert trials.count == 2 and (trials.distance == again.distance).all()
    return straight
