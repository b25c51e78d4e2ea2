"""Every setting has somebody who sets it: a preset, a recipe, an ablation, or a user with a reason."""

from dataclasses import fields, is_dataclass
from fnmatch import fnmatch

import pytest

from ssr.learning import presets, recipe
from ssr.learning.config import TrainConfig

MOST = 136  #: a new setting is worth an old one

#: Settings that no preset and no recipe changes, and why a user would.
USERS_SET = {
    "preset": "names what the others start from",
    "seed": "another run",
    "device": "another machine",
    "env.threads": "machines with more cores than ranks",
    "task.control_period": "a robot whose controller runs at another rate",
    "task.commands.*_speed": "how fast it shall walk",
    "task.commands.yaw_rate": "how fast it shall turn",
    "task.rewards.*": "how it shall walk: the weights of Table 6(a)",
    "task.noise": "sensors better or worse than the paper's",
    "task.terrain.first_level": "tiles to step on from Python: `ssr.task.gym`",
    "task.randomization.*": "how different the real robot and its ground may be (Table 10)",
    "camera.randomization": "a mount that is better or worse than the paper's",
    "camera.sensor.*": "training for grass, sunlight and missing pixels",
    "network.mirror_averaged": "`pretrained/x2` was trained with it",
    "optimizer.*": "the first thing to try when learning is unstable",
    "ppo.steps": "the size of a batch, with env.num_envs",
    "ppo.minibatches": "the memory of a GPU",
    "ppo.clip": "PPO's own two numbers",
    "ppo.discount": "PPO's own two numbers",
    "imagination.gate_rmse": "how sure it must be of a foothold before it counts",
    "foothold.gate_level": "how hard the terrain must be before it counts",
    "streams.*": "how much footholds and style count",
    "ablation.*": "Sec. 4.1",
    "run.kept_checkpoints": "the size of a disk",
}


def settings(config: object, path: str = "") -> list[str]:
    """Every setting by its dotted name."""
    if not is_dataclass(config):
        return [path.rstrip(".")]
    return [s for f in fields(config) for s in settings(getattr(config, f.name), f"{path}{f.name}.")]


def changed_somewhere() -> set[str]:
    """Settings that a preset or a shipped recipe changes."""
    differences = [d for listed in presets.PRESETS.values() for d in listed]
    for name in recipe.shipped():
        for stage in recipe.read(recipe.text_of(name), name).stages:
            differences += stage.differences
    return {d.setting for d in differences}


ALL, CHANGED = settings(TrainConfig()), changed_somewhere()


@pytest.mark.parametrize("setting", ALL)
def test_somebody_sets_it(setting: str) -> None:
    by_users = [pattern for pattern in USERS_SET if fnmatch(setting, pattern)]
    assert setting in CHANGED or by_users, f"nobody sets {setting}: make it a constant"


@pytest.mark.parametrize("pattern", USERS_SET)
def test_no_reason_is_given_for_nothing(pattern: str) -> None:
    assert any(fnmatch(setting, pattern) and setting not in CHANGED for setting in ALL)


def test_there_are_not_more_of_them() -> None:
    assert len(ALL) <= MOST, f"{len(ALL)} settings: which one can go instead?"
