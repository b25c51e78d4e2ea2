"""What a plan may say, and what every method is trained by."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from small_plan import PLAN

from ssr.cli.study import run as command
from ssr.errors import UserError
from ssr.learning import recipe
from ssr.learning.recipe import changed_settings
from ssr.study import plan as plans
from ssr.study.folder import StudyFolder
from ssr.study.plan import CONTENDERS, StudyPlan, located, read
from ssr.toml_table import written


def shipped(name: str) -> StudyPlan:
    return read(*located(name)[1:2], *located(name)[::2])


@pytest.mark.parametrize("name", plans.shipped())
def test_every_run_of_a_shipped_plan_has_the_same_budget(name: str) -> None:
    plan = shipped(name)
    for method in plan.methods:
        stages = plan.recipe(method, 1).stages
        assert sum(stage.steps for stage in stages) == plan.steps
        assert not any(stage.until for stage in stages), "a budget is spent whole"


def test_the_shipped_plans_compare_what_the_paper_compares() -> None:
    for name in ("cpu", "paper"):
        assert set(shipped(name).methods) == set(CONTENDERS)
    assert shipped("paper").steps == 20_000 * 4_096 * 24


def test_a_budget_is_divided_as_the_plan_says_and_else_equally() -> None:
    plan = shipped("cpu")
    steps = {m: {s.name: s.steps for s in plan.recipe(m, 1).stages} for m in ("ssr", "hpl", "pim")}
    assert steps["ssr"]["walk"] == steps["pim"]["walk"] == pytest.approx(3 / 8 * plan.steps, abs=1)
    assert all(share == pytest.approx(plan.steps / 3, abs=1) for share in steps["hpl"].values())


def test_an_ablation_is_one_flag_and_nothing_else() -> None:
    plan = shipped("cpu")
    whole = plan.recipe("ssr", 1).stages
    for method, contender in CONTENDERS.items():
        if contender.flag:
            for one, other in zip(plan.recipe(method, 1).stages, whole, strict=True):
                differ = [setting for setting, _ in changed_settings(one.config, other.config)]
                assert differ == [f"ablation.{contender.flag}"]


@pytest.mark.parametrize("method", ["ssr", "hpl", "pim", "no_symmetry"])
def test_there_are_as_many_snapshots_as_are_followed(method: str) -> None:
    plan = shipped("cpu")
    stages = plan.recipe(method, 1).stages
    iterations = sum(s.steps // (s.config.env.num_envs * s.config.ppo.steps) for s in stages)
    assert iterations // stages[0].config.run.snapshot_iterations == plan.snapshots


def test_the_plan_has_the_last_word_in_every_stage() -> None:
    plan = shipped("smoke")
    assert {s.config.env.num_envs for m in plan.methods for s in plan.recipe(m, 1).stages} == {16}


@pytest.mark.parametrize("name", recipe.shipped())
def test_a_recipe_that_is_written_reads_as_it_was(name: str) -> None:
    content = tomllib.loads(recipe.text_of(name))
    assert tomllib.loads(written(content)) == content


def test_runs_go_seed_by_seed_and_those_from_elsewhere_come_last(tmp_path: Path) -> None:
    entered = f'[[entered]]\nmethod = "ssr"\nrun = "{tmp_path.name}"\nnote = "longer"\n'
    plan = read(PLAN + entered, "test", tmp_path.parent)
    names = [run.name for run in plan.runs()]
    assert names == ["ssr-1", "pim-1", "ssr-2", "pim-2", "entered-1-ssr"]
    assert plan.runs()[-1].title == "SSR †" and plan.entered[0].run == tmp_path


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"pim"', '"pym"', "Unknown method of plan bad: 'pym'. Known: ssr, hpl"),
        ('["ssr", "pim"]', "[]", "`methods` is .*expected one or more"),
        ('"pim"', '"ssr"', "`methods` is .*each once"),
        ("seeds = [1, 2]", "seeds = []", "`seeds` is .*expected at least one"),
        ("seeds = [1, 2]", "seeds = 0", "`seeds` is 0, expected at least one"),
        ("seeds = [1, 2]", "seeds = [1, 1]", "each once"),
        ("seeds = [1, 2]", "seeds = [1.5]", "`seeds` is"),
        ("seeds = [1, 2]", "seeds = 99999999999999999999", "expected at most 1,000"),
        ('["ssr", "pim"]', "[[1]]", "Unknown method"),
        ("value = 16", "value = 1979-05-27", "is no value of a setting"),
        ("steps = 1_920", "steps = 0", "`steps` is 0, expected a whole number of at least 1"),
        ("steps = 1_920", "steps = 700", "`steps` is 700, which leaves ssr .* one iteration has 384"),
        ("[[diff", "[shares.ppo]\n[[diff", "Unknown name in `shares` of plan bad: 'ppo'"),
        (
            "[[diff",
            "[shares.pim]\nrun = 2\n[[diff",
            "Unknown stage of .*shares.pim: 'run'. Known: walk, terrain",
        ),
        ("[[diff", "[shares.pim]\nwalk = 0\n[[diff", "`walk` is 0, expected a whole number"),
        ("steps = 1_920", 'steps = "many"', "`steps` is 'many', expected int"),
        ("trials = 2", "trials = 0", "`trials` is 0"),
        ("snapshots = 2", "snapshots = 1", "snapshots 1: expected"),
        ('"standard"', '"stairs"', "Unknown settings: 'stairs'"),
        ('"smoke"', '"tiny"', "Unknown preset of plan bad: 'tiny'"),
        ('"env.num_envs"', '"env.worlds"', "unknown setting 'env.worlds'"),
        ("value = 16", "value = 1", "1 worlds on .* too few"),
        ("trials = 2", "trials = 2\nhours = 3", "`hours` is not known there"),
        ('preset = "smoke"', "preset = ", "not valid TOML"),
        ("[[diff", '[[entered]]\nmethod = "ssr"\nrun = "none"\nnote = ""\n[[diff', "none' does not exist"),
    ],
)
def test_a_bad_plan_is_refused_in_one_line_before_anything_starts(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    file, out = tmp_path / "bad.toml", tmp_path / "study"
    assert old in PLAN
    file.write_text(PLAN.replace(old, new, 1))
    with pytest.raises(UserError, match=message) as caught:
        command([str(file), "--out", str(out)])
    assert "\n" not in str(caught.value) and not out.exists()


@pytest.mark.parametrize("part", ["0/2", "3/2", "2", "1/0", "-1/2"])
def test_a_part_that_is_none_is_refused(tmp_path: Path, part: str) -> None:
    with pytest.raises(UserError, match="expected k/n"):
        command(["smoke", "--out", str(tmp_path / "study"), f"--part={part}"])
    assert not (tmp_path / "study").exists()


def test_a_study_goes_on_with_its_own_plan_alone(study, tmp_path: Path) -> None:
    file = tmp_path / "test.toml"
    file.write_text(PLAN.replace("seeds = [1, 2]", "seeds = [1, 2, 3]"))
    with pytest.raises(UserError, match=r"another plan \(seeds \(1, 2\), not \(1, 2, 3\)\)"):
        command([str(file), "--out", str(study.path)])
    with pytest.raises(UserError, match="not a study"):
        command([str(file), "--out", str(tmp_path)])
    with pytest.raises(UserError, match=r"Unknown plan: 'gpu'\. Known: cpu, paper, smoke"):
        command(["gpu"])
    with pytest.raises(UserError, match="no run that is done"):
        file.write_text(PLAN)
        command([str(file), "--out", str(study.path), "--report"])


def test_a_directory_that_another_machine_is_making_is_made_together(study, tmp_path: Path) -> None:
    (study.path / "study.json").unlink()
    (study.path / "recipes" / "pim.toml").unlink()
    made = StudyFolder.make(study.path, study.plan, PLAN, tmp_path)
    assert made == study == StudyFolder.open(study.path) and (study.path / "recipes" / "pim.toml").is_file()
