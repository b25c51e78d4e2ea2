"""The `paper` preset is the paper; every difference of the others is listed once, with its reason."""

from dataclasses import fields, is_dataclass
from math import inf
from pathlib import Path

import pytest

from ssr.errors import UserError
from ssr.learning import encoder_update, presets, style
from ssr.learning.config import PPOConfig, ScheduleConfig, TrainConfig
from ssr.learning.ppo import VALUE_COEFFICIENT
from ssr.learning.ssr_policy import network_config
from ssr.networks.config import CNN_KERNELS, CNN_STRIDES
from ssr.task.config import CommandConfig, RandomizationConfig
from ssr.vision.support import TOLERANCE

TABLE_9 = {
    "optimizer.learning_rate": 5e-4,
    "schedule.entropy": (0.005, 0.005),
    "schedule.desired_kl": (0.01, 0.01),
    "schedule.min_std": (0.2, 0.2),
    "ppo.trace": 0.95,
    "ppo.max_advantage": inf,
    "ppo.same_spread": False,
    "ppo.average": 0.0,
    "ppo.discount": 0.99,
    "env.num_envs": 4096,
    "ppo.steps": 24,
    "ppo.epochs": 5,
    "ppo.minibatches": 4,
    "encoder.divergence": 1.0,
}
TABLE_6 = {
    "streams.locomotion": 1.0,
    "streams.foothold": 0.25,
    "streams.style": 0.2,
    "foothold.sigma": 0.0625,
    "task.commands.fast_fraction": 0.0,
    "task.randomization.delays_in_turn": (),
    "task.bootstrap.progress": 0.0,
    "task.bootstrap.stepping": 0.0,
    "task.bootstrap.posture_relief": 0.0,
}
TABLE_8 = {
    "network.expert_hidden": (1024, 512, 128),
    "network.gate_hidden": (128,),
    "network.critic_hidden": (512, 256, 128),
    "network.encoder_hidden": (512, 256, 128),
    "network.proprioception_embedding": 128,
    "network.cnn_channels": (32, 64, 128),
    "network.gru_hidden": 256,
    "network.imagination_hidden": (256, 128),
    "network.discriminator_hidden": (512, 256, 128),
}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ScheduleConfig(max_std=(1.0, -1.0)),
        lambda: CommandConfig(fast_fraction=1.5),
        lambda: CommandConfig(zero_fraction=-0.1),
        lambda: RandomizationConfig(action_delay=(2, 1)),
        lambda: PPOConfig(max_advantage=0.0),
        lambda: PPOConfig(average=1.0),
        lambda: ScheduleConfig(bootstrap=(2.0, 0.0)),
    ],
)
def test_impossible_numbers_are_refused_in_one_line(wrong):
    with pytest.raises(UserError, match="expected") as error:
        wrong()
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("setting, value", [*TABLE_6.items(), *TABLE_8.items(), *TABLE_9.items()])
def test_paper_preset_is_the_paper(setting, value):
    assert presets.get(presets.preset("paper"), setting) == value


def test_what_is_no_setting_is_the_papers_too():
    assert encoder_update.WEIGHTS == {
        "base_map": 2.0,
        "foot_maps": 1.0,
        "next_proprioception": 5.0,
        "velocity": 2.0,
    }
    assert (style.WEIGHT_DECAY, style.GRADIENT_PENALTY, VALUE_COEFFICIENT) == (1e-4, 20.0, 1.0)
    networks = network_config(presets.preset("paper"))
    assert (networks.experts, networks.fusion_embedding, networks.latent) == (5, 48, 16)
    assert (CNN_KERNELS, CNN_STRIDES) == ((8, 4, 3), (4, 2, 2))
    assert TOLERANCE == 0.03


def test_paper_preset_starts_and_randomizes_as_the_paper():
    paper = presets.preset("paper")
    assert paper.schedule.bootstrap == (0.0, 0.0) and paper.schedule.ramp == (1.0, 1.0)
    assert paper.task.reference_starts == 0.0
    assert network_config(paper).discriminators == 5
    assert paper.run.iterations == 20_000 and paper.camera.period == 1


def flat(config, path=""):
    if not is_dataclass(config):
        return {path.rstrip("."): config}
    return {
        k: v for f in fields(config) for k, v in flat(getattr(config, f.name), f"{path}{f.name}.").items()
    }


@pytest.mark.parametrize("name", ["cpu", "smoke"])
def test_every_difference_is_listed_once_with_a_reason(name):
    paper, mine = flat(TrainConfig()), flat(presets.preset(name))
    changed = {k for k in paper if paper[k] != mine[k]} - {"preset"}
    listed = {d.setting for d in presets.PRESETS[name]}
    assert changed == listed, "a listed difference that changes nothing, or a change that is not listed"
    assert all(d.reason for d in presets.PRESETS[name])
    if name == "cpu":
        assert len(presets.PRESETS[name]) == len(listed)


def test_the_document_says_what_the_presets_are():
    path = Path(__file__).parents[2] / "docs" / "presets.md"
    assert path.read_text() == presets.document(), (
        "write it anew: python -m ssr.learning.presets > docs/presets.md"
    )


def test_unknown_preset_is_one_line():
    with pytest.raises(UserError, match=r"Unknown preset: 'gpu'. Known: paper, cpu, smoke."):
        presets.preset("gpu")
