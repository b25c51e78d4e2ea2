"""Checkpoints come back as they were, and damaged ones are refused in one line that says what to do."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from test_ppo import learner

from ssr.errors import UserError
from ssr.learning import checkpoint, config_file, presets, small_checkpoint, ssr_state
from ssr.learning.counters import Counters
from ssr.learning.packing import pack, unpack
from ssr.learning.ranks import Ranks
from ssr.learning.trainer import Trainer

STATE = {
    "tensor": torch.arange(6.0).view(2, 3),
    "empty": torch.zeros(0, 4),
    "flags": torch.tensor([True, False]),
    "array": np.arange(4, dtype=np.int64),
    "nested": {"list": [1, 2.5, None, "x"], "tuple": (3, {"deep": torch.ones(1)}), "big": 2**100},
    "odd": [float("inf"), float("nan")],
}


def test_packing_gives_back_what_it_got():
    back = unpack(*pack(STATE))
    assert torch.equal(back["tensor"], STATE["tensor"]) and back["empty"].shape == (0, 4)
    assert back["flags"].dtype == torch.bool and back["array"].dtype == np.int64
    assert back["nested"]["list"] == [1, 2.5, None, "x"] and back["nested"]["big"] == 2**100
    assert isinstance(back["nested"]["tuple"], tuple)
    assert back["odd"][0] == float("inf") and back["odd"][1] != back["odd"][1]


def test_packing_refuses_what_it_cannot_bring_back():
    with pytest.raises(TypeError, match="/thing"):
        pack({"thing": object()})


def test_newest_is_chosen_and_older_ones_go(tmp_path):
    for iteration in (10, 20, 30):
        checkpoint.save(tmp_path, iteration, STATE | {"n": iteration}, kept=2)
    assert [p.name for p in checkpoint.checkpoints(tmp_path)] == ["000020", "000030"]
    iteration, state = checkpoint.load(checkpoint.choose(tmp_path))
    assert iteration == state["n"] == 30
    assert checkpoint.load(checkpoint.choose(tmp_path, 20))[0] == 20
    with pytest.raises(UserError, match=r"holds no checkpoint of iteration 10\. It holds: 20, 30"):
        checkpoint.choose(tmp_path, 10)


def damage(path, how):
    content = bytearray(path.read_bytes())
    if how == "truncated":
        content = content[: len(content) // 2]
    elif how == "altered":
        content[-3] ^= 0xFF
    elif how == "emptied":
        content = bytearray()
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("how", ["truncated", "altered", "emptied"])
@pytest.mark.parametrize("name", ["rank0.safetensors", "rank0.json", "state.json"])
def test_damage_is_refused_and_the_one_before_offered(tmp_path, how, name):
    for iteration in (1, 2):
        checkpoint.save(tmp_path, iteration, STATE)
    newest = checkpoint.choose(tmp_path)
    damage(newest / name, how)
    with pytest.raises(UserError) as caught:
        checkpoint.load(newest)
    assert "damaged" in str(caught.value) and "--iteration 1" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert checkpoint.load(checkpoint.choose(tmp_path, 1))[0] == 1


def test_a_changed_iteration_is_damage_too(tmp_path):
    checkpoint.save(tmp_path, 1, STATE)
    path = checkpoint.choose(tmp_path) / "state.json"
    path.write_text(path.read_text().replace('"iteration": 1', '"iteration": 7'))
    with pytest.raises(UserError, match="damaged"):
        checkpoint.load(path.parent)


def test_half_written_checkpoints_do_not_count(tmp_path):
    checkpoint.save(tmp_path, 1, STATE)
    half = tmp_path / "checkpoints" / ".000002.partial"
    half.mkdir()
    (half / "state.json").write_text("{}")
    assert checkpoint.choose(tmp_path).name == "000001"


def test_another_number_of_ranks_is_refused(tmp_path):
    checkpoint.save(tmp_path, 1, STATE)
    with pytest.raises(UserError, match="written by 1 ranks, not 2"):
        checkpoint.load(checkpoint.choose(tmp_path), Ranks(rank=0, size=2))


def test_configuration_survives_the_file(tmp_path):
    for name in presets.PRESETS:
        config = presets.preset(name)
        config_file.save(tmp_path / "config.json", config)
        assert config_file.load(tmp_path / "config.json") == config
    (tmp_path / "config.json").write_text('{"ppo": {"epoch": 3}}')
    with pytest.raises(UserError, match="epoch"):
        config_file.load(tmp_path / "config.json")


def test_small_checkpoint_goes_on_with_weights_moments_and_levels(tiny, tmp_path):
    tiny = replace(tiny, schedule=replace(tiny.schedule, bootstrap=(1.0, 0.0)))
    env, algorithm = learner(tiny)
    trainer = Trainer(env, algorithm)
    for _ in range(2):
        trainer.iterate()
    algorithm.schedule.bootstrap = 0.25
    path = tmp_path / "small.safetensors"
    small_checkpoint.save(path, algorithm, tiny, Counters(iteration=2), trainer.levels())
    iteration, config, state = small_checkpoint.load(path)
    assert iteration == 2 and config == tiny and state["levels"]["stairs"] == [10, 10]

    other_env, other = learner(tiny, seed=1)
    small_checkpoint.restore(other, state, path)
    for a, b in zip(algorithm.networks.parameters(), other.networks.parameters(), strict=True):
        assert torch.equal(a, b)
    for name, optimizer in ssr_state.optimizers(other).items():
        mine = ssr_state.optimizers(algorithm)[name].state_dict()
        assert optimizer.learning_rate == mine["learning_rate"]
        # bfloat16 keeps eight bits of each moment
        torch.testing.assert_close(optimizer.state_dict()["square"], mine["square"], rtol=1e-2, atol=0.0)
    assert other.schedule.bootstrap == 0.25
    assert torch.equal(other.style.normalizer.mean, algorithm.style.normalizer.mean)
    other_env.levels.zero_()
    follower = Trainer(other_env, other)
    follower.assign_levels(state["levels"])
    assert follower.env.levels.tolist() == [10] * 8
    follower.iterate()


def test_small_checkpoint_of_the_cpu_preset_is_small():
    from ssr.learning.ssr_policy import network_config
    from ssr.networks.build import Networks
    from ssr.robots import load

    networks = Networks(load("x2"), network_config(presets.preset("cpu")))
    counts = networks.parameter_counts()
    averaged = sum(counts[name] for name in ("encoder", "estimator", "actor"))
    size = sum(counts.values()) * (4 + 2 + 2) + averaged * 4
    assert size < 11.8e6, "float32 weights, two bfloat16 moments and the policy's float32 average"


@pytest.mark.parametrize("how", ["truncated", "altered", "emptied"])
def test_damaged_small_checkpoint_is_refused(tiny, tmp_path, how):
    _, algorithm = learner(tiny)
    path = tmp_path / "small.safetensors"
    small_checkpoint.save(path, algorithm, tiny, Counters(iteration=0), {"slope": [0]})
    damage(path, how)
    with pytest.raises(UserError, match=r"damaged|altered"):
        small_checkpoint.load(path)


def test_small_checkpoint_of_other_networks_is_refused(tiny, tmp_path):
    _, algorithm = learner(tiny)
    path = tmp_path / "small.safetensors"
    small_checkpoint.save(path, algorithm, tiny, Counters(iteration=0), {"slope": [0]})
    wider = replace(tiny, network=replace(tiny.network, expert_hidden=(40, 32)))
    _, other = learner(wider)
    with pytest.raises(UserError, match="other networks"):
        small_checkpoint.restore(other, small_checkpoint.load(path)[2], path)
