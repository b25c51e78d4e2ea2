"""Recipes: what a file may say, when stages end, and that a killed run ends as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from safetensors.torch import load_file
from toy_algorithm import HillClimber

from ssr.cli.train import run as command
from ssr.errors import UserError
from ssr.files import write_bytes
from ssr.learning import metric_names, recipe, registry, saved, stages
from ssr.learning.config import TrainConfig
from ssr.learning.run_directory import read_metrics

STAGE = """
[[stage]]
name = "walk"
steps = 1000
"""


def with_difference(setting: str, value: object, name: str = "walk", metric: str = "kl") -> str:
    return (
        f'preset = "smoke"\n[[stage]]\nname = "{name}"\nsteps = 1000\nuntil = ["{metric} >= 0"]\n'
        f'[[stage.differences]]\nsetting = "{setting}"\nvalue = {value}\nreason = ""\n'
    )


def stage_of(*conditions: str, held: int = 2, smoothing: int = 1) -> recipe.Stage:
    text = f'preset = "smoke"\n{STAGE}until = {list(conditions)}\nheld = {held}\nsmoothing = {smoothing}\n'
    return recipe.read(text, "test").stages[0]


def test_a_stage_ends_when_all_its_conditions_have_held_for_long_enough():
    watch = recipe.Watch(stage_of("tracking >= 0.8", "falls_per_minute <= 2"), begun=10)
    see = lambda iteration, tracking, falls: watch.see(
        {"iteration": iteration, "tracking": tracking, "falls_per_minute": falls}
    )
    assert see(9, 0.9, 1.0) is None and see(10, 0.9, 1.0) is None, "an earlier stage's"
    assert see(11, 0.9, 1.0) is None
    assert see(12, 0.9, 3.0) is None, "one condition fails"
    assert see(13, 0.9, 1.0) is None
    assert "tracking 0.9" in see(14, 0.9, 1.0)


def test_conditions_are_compared_with_means_of_enough_iterations_that_measured_all_of_them():
    watch = recipe.Watch(stage_of("tracking >= 0.8", "cadence/slope <= 2", held=1, smoothing=3))
    see = lambda **metrics: watch.see({"iteration": 1, "cadence/slope": 1.0} | metrics)
    assert see(tracking=1.0) is None and see(tracking=1.0) is None, "fewer than are averaged over"
    assert see() is None, "an iteration that did not measure all of them does not count"
    assert see(tracking=0.0) is None, "one bad iteration pulls the mean down"
    assert see(tracking=1.0) is None and "tracking 0.852" in see(tracking=1.0)


def test_a_stage_that_runs_out_of_steps_says_what_was_not_reached():
    watch = recipe.Watch(stage_of("tracking >= 0.8"))
    assert "tracking >= 0.8 had not held for long enough: never measured" in watch.ran_out()
    watch.see({"iteration": 1, "tracking": 0.25})
    assert watch.ran_out().endswith("tracking 0.25") and "1,000 steps" in watch.ran_out()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("preset = 'smoke'", "no stages|`stage` is missing"),
        ("preset = ", "not valid TOML"),
        ("preset = 'tiny'" + STAGE, "Unknown preset: 'tiny'"),
        ("preset = 'smoke'" + STAGE + "from = 'swim'", "Unknown start of .*: 'swim'"),
        ("preset = 'smoke'" + STAGE + STAGE, "a stage's name is new"),
        ("preset = 'smoke'" + STAGE + "until = ['beauty >= 1']", "Unknown metric: 'beauty'"),
        ("preset = 'smoke'" + STAGE + "until = ['tracking > 1']", "is no condition"),
        ("preset = 'smoke'" + STAGE + "until = ['tracking >= nan']", "is no condition"),
        ("preset = 'smoke'" + STAGE + "frozen = ['legs']", "Unknown network"),
        ("preset = 'smoke'" + STAGE + "held = 0", "at least 1"),
        ("preset = 'smoke'" + STAGE + "untill = []", "`untill` is not known there"),
        ("preset = 'smoke'\nseed = true" + STAGE, "`seed` is True, expected int"),
        (
            "preset = 'smoke'" + STAGE + "[[stage.differences]]\nsetting='seed'\nvalue=1",
            "`reason` is missing",
        ),
        (with_difference("ppo.speed", 1), "unknown setting 'ppo.speed'"),
        (with_difference("ppo.epochs", "'x'"), "ppo.epochs is 'x', expected int"),
        (with_difference("ppo.learning_rates", "[1e-5]"), "ppo.learning_rates is .*, expected tuple"),
        (with_difference("task.terrain.kinds", "['flat', 1]"), "task.terrain.kinds is .*, expected tuple"),
        (with_difference("run.iterations", 5), "run.iterations is no difference. A stage's limit is"),
        (with_difference("preset", "'cpu'"), "preset is no difference"),
        (with_difference("run.snapshot_iterations", 0), "stage walk: run.snapshot_iterations 0: expected"),
        (with_difference("robot", "'x3'"), "stage walk: Unknown robot"),
        (with_difference("device", "'tpu'"), "stage walk: Unknown device"),
        (with_difference("ranks", -1), "stage walk: ranks -1: expected"),
        (with_difference("env.num_envs", 1), "stage walk: 1 worlds on .* too few"),
        (
            with_difference("task.history", 7, 'walk"\nsteps = 9\n[[stage]]\nname = "run'),
            "is not that of walk",
        ),
        (with_difference("ablation.no_style", "true", "walk", "score_policy/slope"), "cannot be measured"),
        (with_difference("ablation.no_style", "true", "walk", "return/style"), "cannot be measured"),
        (with_difference("ablation.no_imagination", "true", "walk", "foothold_rmse"), "cannot be measured"),
        (with_difference("task.terrain.kinds", "['gap']", "walk", "level/stairs"), "cannot be measured"),
        ("preset = 'smoke'" + STAGE + "until = ['score_policy/all >= 0']", "cannot be measured"),
        ("preset = 'smoke'" + STAGE + "until = ['cadence/all >= 0']", "Unknown metric"),
        (
            "preset = 'smoke'" + STAGE + "frozen = ['actor', 'critics']\nuntil = ['kl <= 1']",
            "kl cannot be measured",
        ),
    ],
)
def test_a_bad_recipe_is_refused_in_one_line_before_anything_starts(tmp_path, text, message):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(UserError, match=message) as caught:
        command(["--recipe", str(file), "--run", str(tmp_path / "run")])
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_unknown_recipes_and_settings_beside_one_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"Unknown recipe: 'x3'.*smoke"):
        command(["--recipe", "x3"])
    with pytest.raises(UserError, match="does not exist"):
        command(["--recipe", str(tmp_path / "none.toml")])
    with pytest.raises(UserError, match=r"leave out --ppo.epochs"):
        command(["--recipe", "smoke", "--ppo.epochs", "1"])
    with pytest.raises(UserError, match="goes with --recipe"):
        command(["--from-stage", "walk"])


def test_shipped_recipes_can_be_read():
    for name in recipe.shipped():
        read = recipe.read(recipe.text_of(name), name)
        assert all(d.reason for stage in read.stages for d in stage.differences)


def weights(run, stage):
    return load_file(stages.stage_file(run, stage))


def test_a_recipe_killed_in_each_stage_ends_with_the_same_weights(tmp_path):
    """kill -9 in the first, second and third stage; and a stage run again from its start is the same too."""
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    assert command(["--recipe", "smoke", "--run", str(straight)]) == 0
    names = [entry.name for entry in stages.record(straight)]
    assert names == ["walk", "sight", "terrain"]
    script = "import sys; from ssr.cli.main import main; sys.exit(main(sys.argv[1:]))"
    for number, name in enumerate(names):
        arguments = ["--recipe", "smoke", "--run", str(killed)] if number == 0 else ["--resume", str(killed)]
        process = subprocess.Popen(
            [sys.executable, "-c", script, "train", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(lambda number=number: iterations_of(killed) >= 4 * number + 2, process)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        current = stages.record(killed)[-1]
        assert (current.name, current.ended) == (name, "")
    assert command(["--resume", str(killed)]) == 0
    for name in names:
        first, second = weights(straight, name), weights(killed, name)
        assert first.keys() == second.keys()
        assert all(first[k].equal(second[k]) for k in first), name
    compared = ("iteration", "total_steps", "kl", "encoder/base_map")
    rows = [[{k: row.get(k) for k in compared} for row in read_metrics(run)] for run in (straight, killed)]
    assert rows[0] == rows[1]
    last = weights(killed, "terrain")
    command(["--recipe", "smoke", "--run", str(killed), "--from-stage", "terrain"])
    again = weights(killed, "terrain")
    assert all(last[k].equal(again[k]) for k in last)
    assert "asked for again" in stages.record(killed)[-1].why
    smoke = recipe.read(recipe.text_of("smoke"), "smoke").stages
    for row in read_metrics(killed):
        stage = smoke[int(row["stage"])]
        expected = metric_names.measured(stage.config, stage.frozen)
        assert row.keys() <= expected.keys() <= metric_names.metrics().keys(), "every logged key is explained"


def iterations_of(run) -> int:
    try:
        return len((run / "metrics.jsonl").read_text().splitlines())
    except OSError:
        return 0


def wait_for(condition, process, seconds: float = 240.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, "ended before it was killed"
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_changed_stage_is_run_again_and_so_is_what_follows(tmp_path):
    text = recipe.text_of("smoke").replace("steps = 768", "steps = 192").replace("held = 4", "held = 1")
    file, run = tmp_path / "mine.toml", tmp_path / "run"
    file.write_text(text)
    command(["--recipe", str(file), "--run", str(run)])
    before = {e.name: e.began for e in stages.record(run)}, weights(run, "walk"), weights(run, "sight")
    file.write_text(text.replace("fresh_moments = true", "fresh_moments = false"))
    command(["--recipe", str(file), "--run", str(run)])
    entries = {e.name: e for e in stages.record(run)}
    assert entries["walk"].began == before[0]["walk"], "is still valid"
    assert entries["sight"].why == "its settings have changed"
    assert all(before[1][k].equal(v) for k, v in weights(run, "walk").items())
    assert not all(before[2][k].equal(v) for k, v in weights(run, "sight").items())
    assert [row["iteration"] for row in read_metrics(run)] == [1, 2, 3], "no traces of former tries"
    record = json.loads((run / "stages.json").read_text())
    assert record["recipe"] == "mine" and all(s["commit"] and s["digest"] for s in record["stages"])
    with pytest.raises(UserError, match="Unknown stage"):
        command(["--recipe", str(file), "--run", str(run), "--from-stage", "swim"])
    (run / "stages" / "walk.safetensors").unlink()
    with pytest.raises(UserError, match="no valid end of stage 'walk'"):
        command(["--recipe", str(file), "--run", str(run), "--from-stage", "sight"])


# ---- whatever learns: a recipe of three and four iterations of the hill climber ---------------------------

CLIMB = """
preset = "smoke"
differences = [
    { setting = "algorithm", value = "climber", reason = "seconds" },
    { setting = "env.num_envs", value = 4, reason = "seconds" },
    { setting = "ranks", value = 1, reason = "seconds" },
    { setting = "run.checkpoint_minutes", value = 0.0, reason = "every iteration is saved" },
    { setting = "run.kept_checkpoints", value = 9, reason = "to go back to" },
    { setting = "run.snapshot_iterations", value = 1, reason = "to be evaluated" },
]

[[stage]]
name = "first"
steps = 90 # three iterations of 8 steps in 4 worlds

[[stage]]
name = "second"
steps = 128
until = ["level/stairs >= 30"]
smoothing = 2
differences = [{ setting = "task.terrain.kinds", value = ["stairs_up"], reason = "another terrain" }]
"""


class Climb:
    """The recipe in a file and a run, and how to stop it after an iteration."""

    def __init__(self, folder, monkeypatch) -> None:
        self.folder, self.monkeypatch = folder, monkeypatch
        self.file, self.run = folder / "climb.toml", folder / "run"
        self.file.write_text(CLIMB)

    def start(self, *more: str) -> None:
        command(["--recipe", str(self.file), "--run", str(self.run), *more])

    def resume(self, *more: str) -> None:
        command(["--resume", str(self.run), *more])

    def interrupted_after(self, iteration: int) -> None:
        """Ctrl-C in the middle of this iteration."""
        counted, update = [], HillClimber.update

        def interrupt(climber, progress):
            counted.append(progress)
            if len(counted) == iteration:
                os.kill(os.getpid(), signal.SIGINT)
            return update(climber, progress)

        with self.monkeypatch.context() as patch:
            patch.setattr(HillClimber, "update", interrupt)
            self.start()

    @property
    def iterations(self) -> list[int]:
        return [int(row["iteration"]) for row in read_metrics(self.run)]

    @property
    def ends(self) -> list[str]:
        return [entry.name for entry in stages.record(self.run) if entry.ended]


@pytest.fixture
def climb(tmp_path, monkeypatch) -> Climb:
    monkeypatch.setitem(registry.ALGORITHMS, "climber", "toy_algorithm")
    return Climb(tmp_path, monkeypatch)


def test_another_algorithm_follows_a_recipe_and_says_where_it_is(climb, capsys):
    climb.start()
    assert climb.iterations == [1, 2, 3, 4, 5, 6, 7] and climb.ends == ["first", "second"]
    rows = read_metrics(climb.run)
    assert [row["stage"] for row in rows] == [0, 0, 0, 1, 1, 1, 1]
    assert [row["progress"] for row in rows] == pytest.approx([0, 1 / 3, 2 / 3, 0, 0.25, 0.5, 0.75])
    first, second = stages.record(climb.run)
    assert first.reason == "its 90 steps are done" and first.end.total_steps == 96
    assert "level/stairs >= 30 had not held for long enough: level/stairs 0" in second.reason
    known = recipe.read(CLIMB, "climb")
    assert {first.recipe_digest, second.recipe_digest} == {known.digest}
    printed = capsys.readouterr()
    assert "first 1/3" in printed.err and "Recipe climb is done, 2 stages" in printed.out
    kinds = [saved.load(climb.run, k).config.task.terrain.kinds for k in (3, 4)]
    assert kinds == [first_stage.config.task.terrain.kinds for first_stage in known.stages], "their own"
    before = climb.run.joinpath("stages.json").read_text()
    climb.resume()
    assert "is done, 2 stages" in capsys.readouterr().out
    assert climb.run.joinpath("stages.json").read_text() == before, "a finished recipe stays as it is"


def test_a_condition_on_what_only_another_algorithm_measures_is_refused(climb):
    climb.file.write_text(CLIMB.replace("level/stairs", "kl"))
    with pytest.raises(UserError, match="kl cannot be measured"):
        climb.start()


def test_stopping_in_the_last_iteration_of_a_stage_stops_before_the_next(climb):
    climb.interrupted_after(3)
    assert climb.ends == ["first"] and climb.iterations == [1, 2, 3]
    climb.resume()
    assert climb.ends == ["first", "second"]


def test_going_back_to_an_iteration_keeps_the_stage(climb):
    climb.start()
    before = weights(climb.run, "second")
    climb.resume("--iteration", "5")
    assert climb.iterations == [1, 2, 3, 4, 5, 6, 7] and climb.ends == ["first", "second"]
    assert all(before[k].equal(v) for k, v in weights(climb.run, "second").items())
    with pytest.raises(UserError, match="Iteration 2 is not of the newest stage"):
        climb.resume("--iteration", "2")
    with pytest.raises(UserError, match=r"leave out --run\.iterations"):
        climb.resume("--run.iterations", "9")
    assert climb.iterations[-1] == 7


def test_nothing_is_discarded_unasked(climb):
    climb.start()
    text, record = CLIMB.replace("steps = 128", "steps = 96"), (climb.run / "stages.json").read_text()
    (climb.run / "recipe.toml").write_text(text)
    with pytest.raises(UserError, match=r"Stage second .* no longer matches .*--recipe climb --run"):
        climb.resume()
    other = climb.folder / "other.toml"
    other.write_text(CLIMB)
    with pytest.raises(UserError, match=r"holds recipe climb\. Give another --run for other"):
        command(["--recipe", str(other), "--run", str(climb.run)])
    with pytest.raises(UserError, match="holds seed 1"):
        climb.start("--seed", "2")
    (climb.run / "small.safetensors").write_bytes(b"cut off")
    with pytest.raises(UserError, match="damaged"):
        climb.start("--from-stage", "second")
    assert climb.iterations[-1] == 7 and len(list((climb.run / "checkpoints").iterdir())) == 7
    (climb.run / "small.safetensors").unlink()
    (climb.run / "stages.json").write_text(record)
    climb.file.write_text(text)
    climb.start()
    assert climb.iterations == [1, 2, 3, 4, 5, 6], "asked for by its name, it is run again"


def test_settings_that_come_and_go_with_the_code_do_not_make_a_stage_another():
    stage = stage_of("tracking >= 0.8")
    settings = dict(recipe.changed_settings(stage.config, TrainConfig()))
    assert settings["camera.period"] == "5" and "ppo.clip" not in settings, "defaults are left out"
    changed = replace(stage, config=replace(stage.config, ppo=replace(stage.config.ppo, clip=0.3)))
    assert changed.digest != stage.digest and replace(stage, about="else").digest == stage.digest


@pytest.mark.parametrize("written", [0, 1])
def test_a_kill_between_the_end_of_a_stage_and_its_record_loses_nothing(climb, written):
    """Before or after the stage's file is written."""

    def killed(path, content):
        if written:
            write_bytes(path, content)
        raise KeyboardInterrupt

    with climb.monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(stages, "write_bytes", killed)
        climb.start()
    assert climb.ends == [] and climb.iterations == [1, 2, 3]
    climb.resume()
    assert climb.ends == ["first", "second"] and climb.iterations == [1, 2, 3, 4, 5, 6, 7]
    assert stages.record(climb.run)[0].end.iteration == 3


def test_a_stage_asked_for_again_and_killed_before_it_began_is_still_run_again(climb):
    climb.start()
    began = stages.record(climb.run)[1].began

    def killed(*arguments):
        raise KeyboardInterrupt

    with climb.monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(stages, "launch", killed)
        climb.start("--from-stage", "second")
    assert climb.ends == ["first"]
    time.sleep(1.0)  # records are of whole seconds
    climb.resume()
    assert climb.ends == ["first", "second"] and stages.record(climb.run)[1].began != began


def test_a_stage_goes_on_with_as_many_ranks_as_it_began_with(climb):
    climb.file.write_text(CLIMB.replace('"ranks", value = 1', '"ranks", value = 0'))
    climb.monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    climb.interrupted_after(2)
    climb.monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    asked = []

    def launched(config, *rest):
        asked.append(config.ranks)
        raise KeyboardInterrupt

    climb.monkeypatch.setattr(stages, "launch", launched)
    with pytest.raises(KeyboardInterrupt):
        climb.resume()
    assert asked == [1]


def test_a_stage_goes_on_from_the_small_checkpoint_alone_and_says_so(climb):
    """What is committed of a run is small: record, recipe, ends of stages and the newest small checkpoint."""
    climb.interrupted_after(5)
    kept = climb.folder / "kept"
    (kept / "stages").mkdir(parents=True)
    for name in ("recipe.toml", "stages.json", "stages/first.safetensors", "small.safetensors"):
        (kept / name).write_bytes((climb.run / name).read_bytes())
    climb.run = kept
    climb.resume()
    entry = stages.record(kept)[-1]
    assert entry.ended and entry.small_starts == (5,)
    assert climb.iterations == [6, 7] and entry.end.total_steps == 7 * 32


def test_two_ranks_end_alike_however_they_were_started(tmp_path):
    """Two stages by processes of our own and by torchrun, which makes one group for both."""
    text = recipe.text_of("smoke").replace("steps = 768", "steps = 192").replace("held = 4", "held = 1")
    text = text.replace('setting = "ranks"\nvalue = 1', 'setting = "ranks"\nvalue = 2')
    file, own, torchrun = tmp_path / "two.toml", tmp_path / "own", tmp_path / "torchrun"
    file.write_text(text.partition('[[stage]]\nname = "terrain"')[0])
    command(["--recipe", str(file), "--run", str(own)])
    words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "--"]
    done = subprocess.run(
        [sys.executable, *words, "ssr.cli.main", "train", "--recipe", str(file), "--run", str(torchrun)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("is done, 2 stages") == 1, "the first rank speaks for both"
    for name in ("walk", "sight"):
        first, second = weights(own, name), weights(torchrun, name)
        assert all(first[k].equal(second[k]) for k in first), name
    for run in (own, torchrun):
        assert [(e.name, e.ranks, bool(e.ended)) for e in stages.record(run)] == [
            ("walk", 2, True),
            ("sight", 2, True),
        ]
