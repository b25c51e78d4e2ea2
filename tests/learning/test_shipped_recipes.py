"""A shipped policy is what its recipe makes: its settings are those of the last stage on record."""

from dataclasses import replace
from pathlib import Path

import pytest

from ssr.cli.train import run as command
from ssr.learning import recipe, small_checkpoint, stages
from ssr.learning.run_directory import SMALL
from ssr.learning.schedule import Schedule

PRETRAINED = Path(__file__).parents[2] / "pretrained"
#: x2: before there were recipes, its successor replaces it; x2-probe: to try things on. What comes of the
#: recipe is x2-next.
BY_HAND = {"x2", "x2-probe"}


def settings_agree(run: Path, followed: recipe.Recipe) -> bool:
    """Whether a run's weights were trained with the settings of the stage that its record ends with.

    How many ranks and iterations it took is the run's own affair.
    """
    _, config, _ = small_checkpoint.load(run / SMALL)
    stage = followed.stages[followed.position(stages.record(run)[-1].name)]
    return replace(config, ranks=stage.config.ranks, run=stage.config.run) == stage.config


@pytest.mark.parametrize("run", sorted(p for p in PRETRAINED.iterdir() if p.is_dir()), ids=lambda p: p.name)
def test_a_shipped_policy_has_the_settings_of_its_recipes_last_stage(run):
    if run.name in BY_HAND:
        assert not stages.is_recipe_run(run), "take it off the list"
        return
    text = (run / stages.RECIPE).read_text()
    assert settings_agree(run, recipe.read(text, run.name))


def test_another_setting_would_be_noticed(tmp_path):
    text = recipe.text_of("smoke").replace("steps = 768", "steps = 192").replace("held = 4", "held = 1")
    file, run = tmp_path / "mine.toml", tmp_path / "run"
    file.write_text(text)
    command(["--recipe", str(file), "--run", str(run)])
    assert settings_agree(run, recipe.read(text, "mine"))
    assert not settings_agree(
        run, recipe.read(text.replace('["stairs_up", "stairs_down"]', '["gap"]'), "mine")
    )


@pytest.mark.parametrize("name", [name for name in recipe.shipped() if name.startswith(("x2", "g1"))])
def test_no_stage_begins_with_noise_that_the_one_before_had_lost(name: str) -> None:
    """A stage takes over its predecessor's share of the bootstrap, and with it a range of std of its own."""
    carried: Schedule | None = None
    for stage in recipe.read(recipe.text_of(name), name).stages:
        schedule = Schedule(stage.config.schedule)
        if carried is None:
            assert stage.config.schedule.initial_std <= schedule.std_range[1]
        else:
            schedule.load_state_dict(carried.state_dict())
            low, high = carried.std_range
            assert schedule.std_range[0] <= high and schedule.std_range[1] >= low, stage.name
        schedule.bootstrap = stage.config.schedule.bootstrap[1]  # as the stage ends
        carried = schedule
