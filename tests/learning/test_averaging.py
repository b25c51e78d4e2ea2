"""The averaged policy: what is evaluated and shipped, apart from what learns."""

from dataclasses import replace

import torch
from safetensors.torch import load_file
from test_ppo import learner

from ssr.evaluation import subject
from ssr.learning import small_checkpoint
from ssr.learning.averaging import ACTING, AveragedPolicy
from ssr.learning.counters import Counters
from ssr.learning.run_directory import SMALL, RunDirectory
from ssr.learning.ssr_policy import NORMALIZER, shipped
from ssr.learning.trainer import Trainer

NAME = "actor.std"


def test_young_it_is_the_mean_and_later_it_forgets(tiny):
    _, algorithm = learner(tiny)
    average = AveragedPolicy(algorithm.networks, kept=0.75)
    std = algorithm.networks.actor.std
    for value, expected in ((1.0, 1.0), (2.0, 1.5), (6.0, 3.0), (7.0, 4.0), (8.0, 5.0), (9.0, 6.0)):
        with torch.no_grad():
            std.fill_(value)
        average.take_in()
        torch.testing.assert_close(average.weights[NAME], torch.full_like(std, expected))
    assert all(name.startswith(ACTING) for name in average.weights)
    assert {name.split(".")[0] for name in average.weights} == {"actor", "encoder", "estimator"}


def test_snapshots_and_small_checkpoints_ship_the_average_and_learn_on_with_the_newest(tiny, tmp_path):
    env, algorithm = learner(tiny)
    trainer = Trainer(env, algorithm)
    for _ in range(3):
        trainer.iterate()
    average = algorithm.average.weights
    newest = algorithm.networks.state_dict() | algorithm.style.normalizer.state_dict(prefix=NORMALIZER)
    changed = [name for name in average if not torch.equal(average[name], newest[name])]
    assert NAME in changed and any(name.startswith("encoder.") for name in changed)

    run = RunDirectory.create(tmp_path / "run", tiny)
    snapshot = load_file(str(run.snapshot(algorithm.policy(), 3, tiny)))
    path = tmp_path / "small.safetensors"
    small_checkpoint.save(path, algorithm, tiny, Counters(iteration=3), trainer.levels())
    _, _, state = small_checkpoint.load(path)
    for weights in (snapshot, shipped(state)):
        assert weights.keys() == newest.keys()
        for name, value in weights.items():
            assert torch.equal(value, average.get(name, newest[name])), name
    _, other = learner(tiny, seed=1)
    small_checkpoint.restore(other, state, path)
    assert torch.equal(other.networks.actor.std, algorithm.networks.actor.std)
    assert torch.equal(other.average.weights[NAME], average[NAME]) and other.average.count == 3

    folder = run.path
    small_checkpoint.save(folder / SMALL, algorithm, tiny, Counters(iteration=4), trainer.levels())
    for source in (folder, folder / SMALL):
        weights = subject.load(str(source)).policy.weights()
        assert torch.equal(weights[NAME], average[NAME]), source


def test_a_checkpoint_without_an_average_begins_one_with_its_weights(tiny, tmp_path):
    _, algorithm = learner(replace(tiny, ppo=replace(tiny.ppo, average=0.0)))
    path = tmp_path / "small.safetensors"
    small_checkpoint.save(path, algorithm, tiny, Counters(iteration=0), {})
    _, other = learner(tiny, seed=1)
    small_checkpoint.restore(other, small_checkpoint.load(path)[2], path)
    mine = algorithm.networks.state_dict()
    assert all(torch.equal(v, mine[k]) for k, v in other.average.weights.items())


def test_without_averaging_the_newest_are_shipped(tiny):
    env, algorithm = learner(replace(tiny, ppo=replace(tiny.ppo, average=0.0)))
    Trainer(env, algorithm).iterate()
    newest = algorithm.networks.state_dict() | algorithm.style.normalizer.state_dict(prefix=NORMALIZER)
    assert algorithm.average is None and "average" not in algorithm.state_dict()
    assert all(torch.equal(v, newest[k]) for k, v in algorithm.policy().weights().items())
