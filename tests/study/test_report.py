"""Several seeds as one, and the page and files that are made of them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from handmade import handmade, stepping
from scipy.stats import t
from small_plan import PLAN

from ssr.evaluation.conditions import Conditions
from ssr.evaluation.courses import course_sets
from ssr.evaluation.intervals import over_seeds, student
from ssr.evaluation.measures import row_of
from ssr.evaluation.results import TRIALS, Results
from ssr.evaluation.store import Store
from ssr.evaluation.trials import FELL, LASTED
from ssr.learning.run_directory import METRICS
from ssr.study import report
from ssr.study.folder import StudyFolder
from ssr.study.plan import PlannedRun, read
from ssr.study.seeds import SeedResults, pooled_row

COURSES = (*course_sets()["table2"], *course_sets()["sweep"])


def tried(study: StudyFolder, run: PlannedRun, lasted: int, level: float) -> Results:
    """Results of a run of which `lasted` of two trials lasted, as `ssr eval` leaves them behind."""
    folder = study.evaluation(run)
    digest = run.name.ljust(64, "0")
    result = Results(
        name=run.name, folder=folder, digest=digest, conditions=Conditions(), robot="x2", chunk=2
    )
    store = Store(folder / TRIALS, digest=result.digest, chunk=2)
    ending = np.array([LASTED] * lasted + [FELL] * (2 - lasted), dtype=np.int8)
    for course in COURSES:
        steps = stepping(*((k % 2, k // 2 % 2, 1.7 + 0.3 * k + 0.01 * level) for k in range(20)))
        trials = handmade(2, ending=ending, power=np.full(2, 100.0 * level), **steps)
        store.save(course, 0, trials)
        result.put(row_of(course, trials, Conditions()) | {"sfr_chance": 0.4})
    for iteration in (3, 6):
        result.put_snapshot(result.rows[-1] | {"iteration": iteration})
    result.directions = {
        "commands": [[0.6, 0.0, 0.0]] * 8 + [[0.0, 0.0, 0.8], [0.0, 0.0, -0.8]],
        "seconds": 8.0,
        "paths": np.full((10, 2, 5, 2), level).tolist(),
        "lasted": [[True, False]] * 10,
        "end_error": [level] * 10,
        "turned_share": [None] * 8 + [0.9, 0.8],
        "falls": [0.5] * 10,
        "asymmetry": [0.1 * level] * 10,
    }
    result.save()
    lines = [
        f'{{"iteration": {k}, "wall_seconds": {30 * k * level}, "total_steps": {k}, "steps_per_second": 1.0, '
        f'"return/locomotion": {k * level}, "reached_top/gap": 0.5, "peak_memory_mb": {900 * level}}}\n'
        for k in range(1, 9)
    ]
    (study.path / run.name / METRICS).write_text("".join(lines))
    return result


@pytest.fixture
def done(study: StudyFolder) -> StudyFolder:
    for run, lasted, level in zip(study.plan.runs(), (2, 0, 1, 0), (1.0, 2.0, 3.0, 2.0), strict=True):
        tried(study, run, lasted, level)
        study.finish(run, {"host": "here", "seconds": 2.0, "evaluation_seconds": 1.0})
    return study


def lines(study: StudyFolder, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((study.path / "csv" / name).read_text())))


@pytest.mark.parametrize("freedom", [1, 2, 5, 10, 11, 20, 100])
def test_intervals_over_seeds_are_students(freedom: int) -> None:
    assert student(freedom) == pytest.approx(t.ppf(0.975, freedom), rel=1e-3)


def test_means_of_normal_numbers_lie_in_their_intervals_nineteen_times_out_of_twenty() -> None:
    drawn = np.random.default_rng(0).normal(3.0, 2.0, (4000, 3))
    held = [(e := over_seeds(row.tolist())).low <= 3.0 <= e.high for row in drawn]
    assert np.mean(held) == pytest.approx(0.95, abs=0.012)


def test_one_seed_has_its_own_interval_and_several_that_of_their_means(done: StudyFolder) -> None:
    runs = done.plan.runs()
    single = [report.results.load(done.evaluation(run), done.training(run)) for run in (runs[0], runs[2])]
    assert SeedResults.of("SSR", single[:1]).rows == single[0].rows
    both = SeedResults.of("SSR", single)
    row = both.rows[0]
    assert row["success"] == 0.75 and row["trials"] == 4
    assert (row["success_low"], row["success_high"]) == (0.0, 1.0), "1 and 1/2 say little of a third"
    assert row["ap"] == pytest.approx(200.0) and row["ap_low"] == pytest.approx(200 - 12.7062 * 100, rel=1e-4)
    trials = both.trials(row)
    assert trials is not None and trials.count == 4 and trials.ending.sum() == 3 * LASTED
    assert both.directions is not None and both.directions["asymmetry"][0] == pytest.approx(0.2)
    assert np.shape(both.directions["paths"]) == (10, 4, 5, 2)
    both.place = 4
    assert both.colour(0) == both.colour(3) == single[0].colour(4), "one colour in every figure"
    last = both.metrics()[-1]
    assert last["return/locomotion"] == pytest.approx(16.0) and last["wall_seconds"] == pytest.approx(480.0)


def test_a_measure_that_only_one_seed_got_to_keeps_that_ones_interval() -> None:
    row = {"terrain": "gap", "setting": "0.45", "beyond_training": False, "left_strip": 0, "footholds": 3}
    row |= {"trials": 2, "rated": None, "walk_trials": 1, "walk_seconds": 1.0}
    known = row | {"sfr": 0.5, "sfr_low": 0.4, "sfr_high": 0.6}
    found = pooled_row([known, row | {"sfr": None, "sfr_low": None, "sfr_high": None}])
    assert (found["sfr"], found["sfr_low"], found["sfr_high"]) == (0.5, 0.4, 0.6)


def test_the_report_has_every_figure_and_its_numbers(done: StudyFolder) -> None:
    path = report.write(done, done.plan.runs())
    page = path.read_text()
    for title in ("Fig. 5, above", "Fig. 5, below", "Fig. 6a", "Fig. 6b", "Fig. 6c", "Safe footholds over",
                  "Fig. 7a", "Fig. 7b", "Fig. 7c", "Table 1", "over seeds (Student"):  # fmt: skip
        assert title in page, title
    assert page.count("<img") == 9 and "not done yet" not in page
    gap = [line for line in lines(done, "fig5_success.csv") if line["terrain"] == "gap"]
    assert {(line["method"], line["runs"], line["success"]) for line in gap} == {
        ("SSR", "2", "0.75"),
        ("PIM", "2", "0.0"),
    }
    density = [line for line in lines(done, "fig6a_footholds.csv") if line["terrain"] == "gap"]
    own = [line for line in density if line["method"] == "SSR"]
    assert len(own) == 200 and all(float(line["low"]) <= float(line["density"]) for line in own)
    assert {line["iteration"] for line in lines(done, "fig6c_training.csv")} == {"3", "6"}
    assert lines(done, "fig7a_directions.csv")[0]["end_error"] == "2.0"
    assert float(lines(done, "fig7c_training.csv")[7]["return/locomotion"]) == 16.0
    effort = lines(done, "table1_effort.csv")
    assert [line["ap"] for line in effort if line["method"] == "SSR"] == 4 * ["200.0"]
    assert sum(line["method"] == "the paper's SSR" for line in effort) == 4
    assert len({line["run"] for line in lines(done, "every_measure.csv")}) == 4


def test_what_is_missing_is_said(done: StudyFolder) -> None:
    page = report.write(done, done.plan.runs()[:1]).read_text()
    assert "3 runs of 4 not done yet" in page and "</span>PIM" not in page and "</span>SSR" in page


def test_a_run_from_elsewhere_stands_by_itself_and_is_marked(tmp_path: Path) -> None:
    (tmp_path / "longer").mkdir()
    text = PLAN + '[[entered]]\nmethod = "ssr"\nrun = "longer"\nnote = "a fork of 14 M steps"\n'
    study = StudyFolder.make(tmp_path / "study", read(text, "test", tmp_path), text, tmp_path)
    runs = [study.plan.runs()[0], study.plan.runs()[-1]]
    for run in runs:
        (study.path / run.name).mkdir()
        tried(study, run, 2, 1.0)
    page = report.write(study, runs).read_text()
    assert "SSR †: a fork of 14 M steps" in page
    assert {line["method"] for line in lines(study, "fig5_success.csv")} == {"SSR", "SSR †"}
