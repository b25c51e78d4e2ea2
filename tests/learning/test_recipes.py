"""Recipes: what a file may say, when stages end, and that a killed run ends as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from safetensors.torch import load_file

from ssr.cli.train import run as command
from ssr.errors import UserError
from ssr.learning import metric_names, recipe, stages
from ssr.learning.run_directory import read_metrics

STAGE = """
[[stage]]
name = "walk"
steps = 1000
"""


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


def test_conditions_are_compared_with_smoothed_metrics_and_need_all_of_them():
    watch = recipe.Watch(stage_of("tracking >= 0.8", held=1, smoothing=10))
    assert watch.see({"iteration": 1, "tracking": 0.0}) is None
    assert watch.see({"iteration": 2, "tracking": 1.0}) is None, "one good iteration does not make a mean"
    assert watch.see({"iteration": 3}) is None
    reasons = [watch.see({"iteration": k, "tracking": 1.0}) for k in range(4, 30)]
    assert any(reasons)


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
        (
            "preset = 'smoke'" + STAGE + "[[stage.differences]]\nsetting='ppo.speed'\nvalue=1\nreason=''",
            "unknown setting 'ppo.speed'",
        ),
        (
            "preset = 'smoke'" + STAGE + "[[stage.differences]]\nsetting='ppo.epochs'\nvalue='x'\nreason=''",
            "ppo.epochs is 'x', expected int",
        ),
        (
            "preset = 'smoke'" + STAGE + "[[stage.differences]]\nsetting='seed'\nvalue=1",
            "`reason` is missing",
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
    rows = [[{k: row[k] for k in compared} for row in read_metrics(run)] for run in (straight, killed)]
    assert rows[0] == rows[1]
    last = weights(killed, "terrain")
    command(["--recipe", "smoke", "--run", str(killed), "--from-stage", "terrain"])
    again = weights(killed, "terrain")
    assert all(last[k].equal(again[k]) for k in last)
    assert "asked for again" in stages.record(killed)[-1].why
    logged = {key for row in read_metrics(killed) for key in row}
    assert logged <= metric_names.metrics().keys(), "every logged key is explained"


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


def test_a_stage_goes_on_from_the_small_checkpoint_alone_and_says_so(tmp_path):
    """What is committed of a run is small: record, recipe, ends of stages and the newest small checkpoint."""
    run, kept = tmp_path / "run", tmp_path / "kept"
    text = recipe.text_of("smoke").replace("held = 4", "held = 3")
    file = tmp_path / "mine.toml"
    file.write_text(text)
    command(["--recipe", str(file), "--run", str(run)])
    record = json.loads((run / "stages.json").read_text())
    last = record["stages"][-1]
    last.update(ended="", reason="", end=None, file_digest="")
    (kept / "stages").mkdir(parents=True)
    (kept / "stages.json").write_text(json.dumps(record))
    for name in ("recipe.toml", "stages/walk.safetensors", "stages/sight.safetensors"):
        (kept / name).write_bytes((run / name).read_bytes())
    (kept / "small.safetensors").write_bytes((run / "small.safetensors").read_bytes())
    command(["--resume", str(kept)])
    entry = stages.record(kept)[-1]
    assert entry.ended and entry.small_starts == (entry.end.iteration,)
    assert entry.end.total_steps == stages.record(run)[-1].end.total_steps
