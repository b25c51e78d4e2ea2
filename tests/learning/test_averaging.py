"""The averaged policy: what is evaluated and shipped, apart from what learns."""

from dataclasses import replace

import torch
from safetensors.torch import load_file
from test_ppo import learner

from ssr.learning import small_checkpoint
from ssr.learning.averaging import ACTING, AveragedPolicy, shipped
from ssr.learning.run_directory import RunDirectory
from ssr.learning.trainer import Trainer

NAME = "actor.std"


def test_young_it_is_the_mean_and_later_it_forgets(tiny):
    _, algorithm = learner(tiny)
    average = AveragedPolicy(algorithm.networks, kept=0.5)
    std = algorithm.networks.actor.std
    for value, expected in ((1.0, 1.0), (2.0, 1.5), (3.0, 2.25), (3.0, 2.625)):
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
    average, newest = algorithm.average.weights, algorithm.networks.state_dict()
    changed = [name for name in average if not torch.equal(average[name], newest[name])]
    assert NAME in changed and any(name.startswith("encoder.") for name in changed)

    run = RunDirectory.create(tmp_path / "run", tiny)
    snapshot = load_file(str(run.snapshot(algorithm, 3)))
    path = tmp_path / "small.safetensors"
    small_checkpoint.save(path, algorithm, tiny, 3, trainer.levels())
    _, _, state = small_checkpoint.load(path)
    for weights in (snapshot, shipped(state)):
        assert weights.keys() == newest.keys()
        for name, value in weights.items():
            assert torch.equal(value, average.get(name, newest[name])), name
    _, other = learner(tiny, seed=1)
    small_checkpoint.restore(other, state, path)
    assert torch.equal(other.networks.actor.std, algorithm.networks.actor.std)
    assert torch.equal(other.average.weights[NAME], average[NAME]) and other.average.count == 3


def test_without_averaging_the_newest_are_shipped(tiny):
    env, algorithm = learner(replace(tiny, ppo=replace(tiny.ppo, average=0.0)))
    Trainer(env, algorithm).iterate()
    newest = algorithm.networks.state_dict()
    assert algorithm.average is None and "average" not in algorithm.state_dict()
    assert all(torch.equal(v, newest[k]) for k, v in algorithm.acting_weights().items())
